//! Tables of measured tiles: made by [`Device::tune`], kept in files, named in checkpoints.
//!
//! Invariant: nothing is timed unless asked for. Without a table a fixed rule chooses, and runs repeat
//! bit for bit; with one they repeat bit for bit under the same table.

use std::path::Path;

use farad_runtime::{ProductShape, Tuned, Tuning};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::whole::write_whole;

impl Device {
    /// Times tiles for the products of all programs that this device has run so far, and gives what it found;
    /// [`Device::tuning_of`] makes a table of it. Tiles with more than 1.5 times the error are refused. `progress` gets
    /// the number of shapes done, and of all shapes.
    pub fn tune(&self, mut progress: impl FnMut(usize, usize)) -> Result<Vec<Tuned>> {
        let nothing = |why| Error::NothingToTune { device: self.name().into(), why };
        let Some(tuner) = self.0.backend.tuner() else {
            return Err(nothing("it has one form of every kernel"));
        };
        let plans = self.0.plans.lock().expect("no panic while planning").programs();
        let mut shapes: Vec<ProductShape> = plans.iter().flat_map(|program| tuner.shapes(program)).collect();
        shapes.sort();
        shapes.dedup();
        if shapes.is_empty() {
            return Err(nothing("no program with a product of matrices has run yet"));
        }
        Ok(tuner.tune(&shapes, &mut |done| progress(done, shapes.len()))?)
    }

    /// As [`Device::tune`] for products of these shapes.
    pub fn tune_products(
        &self,
        shapes: &[ProductShape],
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Vec<Tuned>> {
        let Some(tuner) = self.0.backend.tuner() else {
            let why = "it has one form of every kernel";
            return Err(Error::NothingToTune { device: self.name().into(), why });
        };
        Ok(tuner.tune(shapes, &mut |done| progress(done, shapes.len()))?)
    }

    /// The table of what [`Device::tune`] found.
    pub fn tuning_of(&self, tuned: &[Tuned]) -> Tuning {
        self.0.backend.tuner().map_or_else(Tuning::default, |tuner| tuner.tuning_of(tuned))
    }

    /// The name of the table in use; none if the fixed rule chooses.
    pub fn tuning_name(&self) -> Option<String> {
        let tuning = self.0.backend.tuner()?.tuning();
        (!tuning.products.is_empty()).then(|| tuning.name())
    }

    /// Uses a table from now on; programs are compiled again. It must have been made on this adapter.
    pub fn set_tuning(&self, tuning: Tuning) -> Result<()> {
        let Some(tuner) = self.0.backend.tuner() else { return Ok(()) };
        if tuning != Tuning::default() && tuning.adapter != tuner.adapter_name() {
            return Err(Error::TuningAdapter { table: tuning.adapter, device: tuner.adapter_name() });
        }
        tuner.set_tuning(tuning);
        *self.0.peaks.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        self.0.plans.lock().expect("no panic while planning").clear();
        Ok(())
    }
}

/// Writes a table, whole or not at all.
pub fn save_tuning(path: impl AsRef<Path>, tuning: &Tuning) -> Result<()> {
    let path = path.as_ref();
    let fail = |e: serde_json::Error| Error::Tuning { path: path.into(), message: e.to_string() };
    let mut text = serde_json::to_string_pretty(tuning).map_err(fail)?;
    text.push('\n');
    write_whole("tuning", path, text.as_bytes())
}

/// Reads a table.
pub fn load_tuning(path: impl AsRef<Path>) -> Result<Tuning> {
    let path = path.as_ref();
    let file = |source| Error::File { op: "tuning", path: path.into(), source };
    let text = std::fs::read_to_string(path).map_err(file)?;
    serde_json::from_str(&text).map_err(|e| Error::Tuning { path: path.into(), message: e.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_travel_and_foreign_or_broken_ones_are_refused() {
        let folder = std::env::temp_dir().join(format!("farad-tuning-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("tuning.json");
        let shape = ProductShape { batch: 1, m: 8, k: 8, n: 8, is_f16: false, turned: [false; 2] };
        let products = [(shape, "16x16x64 in 16 parts".to_string())].into();
        let tuning = Tuning { adapter: "another".into(), products };
        save_tuning(&path, &tuning).unwrap();
        assert_eq!(load_tuning(&path).unwrap(), tuning);
        std::fs::write(&path, "{").unwrap();
        let error = load_tuning(&path).unwrap_err().to_string();
        assert!(error.starts_with("tuning: not a table: "), "{error}");
        let missing = load_tuning(folder.join("none.json")).unwrap_err().to_string();
        assert!(missing.starts_with("tuning: file "), "{missing}");
        std::fs::remove_dir_all(&folder).unwrap();
        let cpu = Device::cpu_with(Default::default());
        assert_eq!(cpu.tuning_name(), None);
        let error = cpu.tune(|_, _| ()).unwrap_err().to_string();
        assert!(error.starts_with("tune: nothing to tune: cpu"), "{error}");
        if let Ok(gpu) = Device::gpu(0) {
            let error = gpu.set_tuning(tuning).unwrap_err().to_string();
            assert!(error.starts_with("tuning: made on another adapter: "), "{error}");
        }
    }
}
