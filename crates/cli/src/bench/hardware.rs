//! What a device computes on, in words.

use farad::{AdapterKind, Device};

use crate::devices::kind;
use crate::processor::HostProcessor;

/// The adapter or the processor behind a device.
pub struct Hardware {
    /// `processor`, or the kind of adapter as `farad devices` has it.
    pub kind: &'static str,
    /// Name, and driver or cores.
    pub text: String,
}

impl Hardware {
    /// What a device computes on.
    pub fn of(device: &Device) -> Hardware {
        match device.index().and_then(|index| farad::adapters().into_iter().nth(index)) {
            Some(adapter) => {
                let text = format!("{}, {}, {}", adapter.name, adapter.backend, adapter.driver);
                Hardware { kind: kind(adapter.kind), text }
            }
            None => Hardware { kind: "processor", text: HostProcessor::here().describe() },
        }
    }

    /// Whether the small sizes suit it.
    pub fn small(&self) -> bool {
        self.kind == "processor" || self.kind == kind(AdapterKind::Software)
    }
}
