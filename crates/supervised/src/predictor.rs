//! What a run has learned, in use: new samples in, classes or numbers out.
//!
//! Invariant: a sample is scaled as it was in training, so that its prediction is the one that `farad eval` judges.

use std::path::Path;

use farad_data::{Array, Normalize, Random, SampleForm, Transform};
use farad_ir::Shape;
use farad_nn::layers::Module as _;
use farad_tensor::{DType, Device, Precision, Tensor};
use farad_train::run::Run;
use farad_train::{Inputs, Outputs, Prediction, Predictor, Signature, TrainError, run_device};

use crate::error::Result;
use crate::kind::KIND;
use crate::models::{self, BoxedModel};
use crate::settings::SupervisedSettings;
use crate::setup::{JUDGED, Setup};
use crate::unseen::Unseen;

/// The network of a run, on a device.
pub struct Trained {
    model: BoxedModel,
    settings: SupervisedSettings,
    signature: Signature,
    device: Device,
    /// What is taken from inputs, and what the rest is multiplied by, by channel or column.
    scaling: [Tensor; 2],
}

/// Opens what a run of supervised training has learned, on the run's own device.
///
/// ```no_run
/// use farad::train::{Prediction, Predictor};
/// let digits = farad::load_run("runs/mnist-1")?;
/// for prediction in digits.predict_file("picture.png")? {
///     if let Prediction::Class { class, .. } = prediction {
///         println!("{}", digits.signature().outputs.class(class));
///     }
/// }
/// # Ok::<(), farad::Error>(())
/// ```
pub fn load_run(folder: impl AsRef<Path>) -> Result<Trained> {
    let run = Run::open(folder)?;
    if run.kind() != KIND {
        let (path, kind) = (run.path().into(), run.kind().into());
        let help = "only networks on data sets are loaded so; `farad predict` knows others".into();
        return Err(TrainError::NoPredictor { path, kind, help }.into());
    }
    Trained::of(&run, &run_device(&run)?)
}

impl Trained {
    /// The best network of a run, on a device. The run's data are needed only if an earlier version made it.
    pub fn of(run: &Run, device: &Device) -> Result<Trained> {
        let learned = run.learned()?.ok_or_else(|| TrainError::NothingLearned { path: run.path().into() })?;
        let mut settings = SupervisedSettings::of(run)?;
        if settings.shape.is_empty() || settings.means.is_empty() {
            settings = Setup::new(settings, device)?.settings;
        }
        let signature = signature(&settings)?;
        let outputs = match &signature.outputs {
            Outputs::Classes(classes) => classes.len(),
            Outputs::Numbers(names) => names.len(),
        };
        let model = models::build(&settings, Shape::new(&settings.shape), outputs)?.try_to_device(device)?;
        learned.restore_module("model", &*model)?;
        model.eval();
        let scaling = scaling(&settings, device)?;
        Ok(Trained { model, settings, signature, device: device.clone(), scaling })
    }

    /// What it is called: a table's like its file, another like its set.
    pub fn name(&self) -> String {
        let stem = Path::new(&self.settings.data).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let table = matches!(self.signature.inputs, Inputs::Table { .. });
        stem.filter(|_| table).unwrap_or_else(|| self.settings.set.clone())
    }

    /// All tensors of [`Trained::forward`] by name: those of the model, and those that inputs are scaled by.
    pub fn state(&self) -> Vec<(String, Tensor)> {
        let scaling =
            ["scaling.mean", "scaling.factor"].map(String::from).into_iter().zip(self.scaling.clone());
        self.model.state().into_iter().chain(scaling).collect()
    }

    /// Everything in ops: samples `[samples, ..]` as [`Inputs::shape`] has them -> probabilities `[samples, classes]`, or
    /// numbers in the units of the data. What [`Predictor::predict`] says, up to rounding.
    pub fn forward(&self, samples: &Tensor) -> Tensor {
        let [mean, factor] = &self.scaling;
        let y = self.model.forward(&((samples - mean) * factor));
        match &self.signature.outputs {
            Outputs::Classes(_) => y.softmax(1),
            Outputs::Numbers(_) => y * self.settings.target_deviation + self.settings.target_mean,
        }
    }

    /// What it says of a table, a picture, a folder of pictures or an array in a file.
    pub fn predict_file(&self, path: impl AsRef<Path>) -> Result<Vec<Prediction>> {
        let samples = Unseen::open(path, &self.signature)?;
        let mut said = vec![];
        for part in samples.parts(JUDGED) {
            said.extend(self.predict(&samples.batch(part)?)?);
        }
        Ok(said)
    }

    /// Some samples, normalized.
    fn outputs(&self, samples: &Tensor) -> Result<Tensor> {
        let settings = &self.settings;
        let numbers = |all: &[f64]| all.iter().map(|&number| number as f32).collect::<Vec<f32>>();
        let normalize = Normalize::new(numbers(&settings.means), numbers(&settings.deviations));
        let all = Array::of_tensor(samples)?;
        let rows = (0..samples.shape()[0]).map(|row| normalize.apply(all.row(row), &mut Random::at(0, 0, 0)));
        let x = Array::stack(&rows.collect::<Result<Vec<_>>>()?)?.to_tensor(&self.device)?;
        let precision = if settings.mixed { Precision::Mixed } else { Precision::Single };
        Ok(precision.scope(|| self.model.forward(&x)).cast(DType::F32))
    }
}

impl Predictor for Trained {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn predict(&self, samples: &Tensor) -> Result<Vec<Prediction>> {
        let samples = self.signature.inputs.batch(samples)?;
        let count = samples.shape()[0];
        let mut said = Vec::with_capacity(count);
        for from in (0..count).step_by(JUDGED) {
            let outputs = self.outputs(&samples.narrow(0, from, JUDGED.min(count - from)))?;
            let width = outputs.shape()[1].max(1);
            match &self.signature.outputs {
                Outputs::Classes(_) => {
                    let probabilities = outputs.softmax(1).to_vec::<f32>()?;
                    said.extend(probabilities.chunks(width).map(|row| Prediction::likeliest(row.to_vec())));
                }
                Outputs::Numbers(_) => {
                    let (mean, deviation) = (self.settings.target_mean, self.settings.target_deviation);
                    let unit = |&value: &f32| f64::from(value) * deviation + mean;
                    let rows = outputs.to_vec::<f32>()?;
                    said.extend(
                        rows.chunks(width).map(|row| Prediction::Numbers(row.iter().map(unit).collect())),
                    );
                }
            }
        }
        Ok(said)
    }
}

/// Means and the inverse of deviations, as `[1, channels, 1, ..]`.
fn scaling(settings: &SupervisedSettings, device: &Device) -> Result<[Tensor; 2]> {
    let mut shape = vec![1; settings.shape.len() + 1];
    shape[1..].iter_mut().take(1).for_each(|size| *size = settings.means.len());
    let means: Vec<f32> = settings.means.iter().map(|&mean| mean as f32).collect();
    let factors = settings.deviations.iter().map(|&all| if all > 0.0 { 1.0 / all as f32 } else { 1.0 });
    let factors: Vec<f32> = factors.collect();
    Ok([
        Tensor::try_from_vec(&means, shape.as_slice(), device)?,
        Tensor::try_from_vec(&factors, shape.as_slice(), device)?,
    ])
}

/// What a network takes and says, by what its run has written down.
fn signature(settings: &SupervisedSettings) -> Result<Signature> {
    let target = settings.target_name.clone();
    let inputs = match (settings.named_set().form, &settings.shape[..]) {
        (SampleForm::Table, _) | (_, [_] | []) => Inputs::Table {
            columns: settings.columns.clone(),
            targets: if target.is_empty() { vec![] } else { vec![target.clone()] },
            header: settings.header,
            bits: false,
            rules: settings.column_rules()?,
        },
        (_, shape) => {
            let [channels, height, width] = [0, 1, 2].map(|axis| shape.get(axis).copied().unwrap_or(1));
            Inputs::Pictures { channels, height, width }
        }
    };
    let outputs = match settings.classes.is_empty() {
        true => Outputs::Numbers(vec![target]),
        false => Outputs::Classes(settings.classes.clone()),
    };
    Ok(Signature { inputs, outputs })
}
