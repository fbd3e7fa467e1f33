//! Which tensors hold a device's memory: who made each live piece, and what held most when memory use was
//! highest.
//!
//! Pieces are listed by weak handles. The largest are remembered whenever the bytes held rise by a sixteenth
//! above the peak so far. The backends keep the high-water mark by purpose.
//!
//! Invariant: the list keeps no memory alive, and is swept before it grows to twice the number of live
//! pieces.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard};

use farad_chart::counted;
use farad_ir::{DType, Shape};
use serde::{Serialize, Serializer};

use crate::Holdings;
use crate::device::Device;
use farad_runtime::{Memory, WeakMemory};

/// Tensors that a report names.
const NAMED: usize = 12;

/// Who made a piece of memory.
#[derive(Clone, Debug)]
pub struct Maker {
    pub op: Cow<'static, str>,
    pub shape: Shape,
    pub dtype: DType,
    pub location: Option<&'static Location<'static>>,
}

/// Makers of several pieces, and which of them.
#[derive(Clone)]
pub struct PieceOrigin(pub Arc<[Maker]>, pub usize);

/// The live memory of a device.
#[derive(Default)]
pub struct LiveList(Mutex<LiveTensors>);

#[derive(Default)]
struct LiveTensors {
    pieces: Vec<(WeakMemory, PieceOrigin)>,
    /// How many there were after the last sweep.
    swept: usize,
    /// What was live when most was, and its largest pieces.
    most: (usize, Vec<LiveTensor>),
}

/// Memory that tensors hold: parts and views of it count as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveTensor {
    /// Its bytes on the device.
    pub bytes: usize,
    /// The op that made it.
    pub op: String,
    /// The shape of what it was made for.
    #[serde(serialize_with = "sizes")]
    pub shape: Shape,
    /// Its element type.
    #[serde(serialize_with = "name")]
    pub dtype: DType,
    /// The line that made it, such as `src/main.rs:12`; empty where no line of the user's did.
    pub location: String,
}

/// What holds a device's memory.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryReport {
    /// Bytes that the device holds now, by purpose.
    #[serde(with = "HoldingsFields")]
    pub holdings: Holdings,
    /// Bytes, by purpose, when it held most.
    #[serde(with = "HoldingsFields")]
    pub high_water: Holdings,
    /// The most bytes that tensors and plans held at once.
    pub bytes_peak: usize,
    /// The largest live tensors, largest first.
    pub tensors: Vec<LiveTensor>,
    /// How many live tensors there are in all, and their bytes.
    pub count: usize,
    /// Bytes of all live tensors.
    pub bytes: usize,
    /// The largest tensors when most was live, to within a sixteenth of `bytes_peak`.
    pub tensors_at_peak: Vec<LiveTensor>,
}

#[derive(Serialize)]
#[serde(remote = "Holdings")]
struct HoldingsFields {
    tensors: u64,
    blocks: u64,
    pool: u64,
    staging: u64,
    parameters: u64,
}

impl Maker {
    /// A maker that is no op of a graph.
    pub fn named(
        op: &'static str,
        shape: Shape,
        dtype: DType,
        location: Option<&'static Location<'static>>,
    ) -> PieceOrigin {
        PieceOrigin(Arc::new([Maker { op: op.into(), shape, dtype, location }]), 0)
    }
}

impl Device {
    /// Notes who made a piece of memory, so that reports can say it.
    pub(crate) fn hold(&self, memory: &Memory, origin: PieceOrigin) {
        let live = self.0.backend.bytes_live();
        let mut inner = self.live();
        inner.pieces.push((memory.downgrade(), origin));
        if inner.pieces.len() > 2 * inner.swept.max(128) {
            inner.sweep();
        }
        // Each look costs as much as there is live; growth by a sixteenth keeps them few.
        if live > inner.most.0 + inner.most.0 / 16 {
            inner.sweep();
            inner.most = (live, inner.largest());
        }
    }

    /// What holds the device's memory, and what did when it was most.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu_with(Default::default());
    /// let x = Tensor::zeros([256, 256], &device).detach()?;
    /// let report = device.memory_report();
    /// assert_eq!((report.tensors[0].shape, report.tensors[0].bytes), (x.shape(), 262_144));
    /// println!("{report}");
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn memory_report(&self) -> MemoryReport {
        let (holdings, high_water) = (self.holdings(), self.0.backend.high_water());
        let bytes_peak = self.counters().bytes_peak;
        let mut inner = self.live();
        inner.sweep();
        MemoryReport {
            holdings,
            high_water,
            bytes_peak,
            tensors: inner.largest(),
            count: inner.pieces.len(),
            bytes: inner.pieces.iter().filter_map(|(memory, _)| memory.bytes()).sum(),
            tensors_at_peak: inner.most.1.clone(),
        }
    }

    fn live(&self) -> MutexGuard<'_, LiveTensors> {
        self.0.live.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl LiveTensors {
    fn sweep(&mut self) {
        self.pieces.retain(|(memory, _)| memory.bytes().is_some());
        self.swept = self.pieces.len();
    }

    fn largest(&self) -> Vec<LiveTensor> {
        let alive = self.pieces.iter().filter_map(|(memory, origin)| Some((memory.bytes()?, origin)));
        let mut sizes: Vec<(usize, &PieceOrigin)> = alive.collect();
        sizes.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        sizes.truncate(NAMED);
        let tensor = |(bytes, PieceOrigin(makers, n)): (usize, &PieceOrigin)| {
            let Maker { op, shape, dtype, location } = &makers[*n];
            let location = location.map_or(String::new(), |at| format!("{}:{}", at.file(), at.line()));
            LiveTensor { bytes, op: op.to_string(), shape: *shape, dtype: *dtype, location }
        };
        sizes.into_iter().map(tensor).collect()
    }
}

impl fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20} {:>10} {:>10}", "memory", "MB now", "at peak")?;
        let (now, most) = (&self.holdings, &self.high_water);
        let rows = [
            ("tensors", now.tensors, most.tensors),
            ("plan blocks", now.blocks, most.blocks),
            ("pool", now.pool, most.pool),
            ("staging", now.staging, most.staging),
            ("parameters", now.parameters, most.parameters),
            ("all", now.total(), most.total()),
        ];
        for (name, now, most) in rows.into_iter().filter(|row| row.1 + row.2 > 0) {
            writeln!(f, "{name:<20} {:>10.3} {:>10.3}", now as f64 / 1e6, most as f64 / 1e6)?;
        }
        let (count, bytes) = (counted(self.count, "live tensor"), self.bytes as f64 / 1e6);
        let hold = if self.count == 1 { "holds" } else { "hold" };
        writeln!(f, "{count} {hold} {bytes:.3} MB; the largest are")?;
        write_tensors(f, &self.tensors)?;
        let peak = self.bytes_peak as f64 / 1e6;
        writeln!(f, "at their peak tensors and plans held {peak:.3} MB; the largest tensors then were")?;
        write_tensors(f, &self.tensors_at_peak)
    }
}

fn write_tensors(f: &mut fmt::Formatter<'_>, tensors: &[LiveTensor]) -> fmt::Result {
    for LiveTensor { bytes, op, shape, dtype, location } in tensors {
        let built = if location.is_empty() { String::new() } else { format!(" at {location}") };
        let shape = format!("{dtype} {shape}");
        writeln!(f, "{:>12.3} MB  {shape:<24} {op}{built}", *bytes as f64 / 1e6)?;
    }
    Ok(())
}

fn sizes<S: Serializer>(shape: &Shape, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(shape.iter())
}

fn name<S: Serializer>(dtype: &DType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(dtype.name())
}
