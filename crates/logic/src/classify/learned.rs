//! What a run's folder holds: the kept network, and the circuit that it is.

use farad::run::{Run, json};
use farad_circuit::Netlist;

use super::model::{self, BRIGHTEST};
use super::settings::Settings;
use super::training::Stored;
use crate::error::{Error, Result};
use crate::network::LogicNetwork;

/// What a run has learned.
pub struct Learned {
    /// What it was trained with.
    pub settings: Settings,
    /// Steps made.
    pub steps: u64,
    /// The network that was best on the validation part.
    pub network: LogicNetwork,
    /// Its accuracy there.
    pub validation: Option<f64>,
    /// After which step it was kept.
    pub kept_after: u64,
    /// Channels, height and width of a sample.
    pub shape: [usize; 3],
    /// The names of the classes.
    pub classes: Vec<String>,
}

impl Learned {
    /// Reads a run's checkpoint. Needs neither its data nor its device.
    pub fn of(run: &Run) -> Result<Learned> {
        let settings = Settings::of(run)?;
        let what = "there is none yet, so nothing was learned".to_string();
        let checkpoint = run.checkpoint()?.ok_or(Error::Mismatch { what })?;
        let stored: Stored = checkpoint.value()?;
        let network = model::open(&settings, stored.shape, stored.classes.len(), &checkpoint)?;
        Ok(Learned {
            settings,
            steps: checkpoint.step(),
            network,
            validation: stored.best,
            kept_after: stored.best_step,
            shape: stored.shape,
            classes: stored.classes,
        })
    }

    /// The circuit as it was learned, with the class head, and what its inputs and classes are.
    pub fn netlist(&self) -> Result<Netlist> {
        let mut netlist = self.network.to_netlist(&self.settings.task.replace('-', "_"))?;
        let [channels, height, width] = self.shape;
        let levels = self.network.encoding().levels()?;
        let rows: Vec<&[f32]> = levels.chunks(levels.len() / (channels * height * width)).collect();
        let alike = rows.iter().all(|row| row == &rows[0]);
        let thresholds = if alike { json!(rows[0]) } else { json!(rows) };
        let picture = self.settings.task_kind().is_picture() && channels == 1;
        let kind = if picture { "image-classifier" } else { "classifier" };
        let meta = json!({ "kind": kind, "classes": self.classes, "thresholds": thresholds });
        netlist.meta.extend(meta.as_object().cloned().into_iter().flatten());
        if picture {
            let picture = json!({ "height": height, "width": width, "brightest": BRIGHTEST });
            netlist.meta.extend(picture.as_object().cloned().into_iter().flatten());
        }
        Ok(netlist)
    }
}
