//! Samples that a model has not seen: a table, a picture, a folder of pictures, or an array in a file.
//!
//! They are read by the model's signature, for networks and circuits alike.
//!
//! Invariant: samples come in the order of the file, or of the names of files, each in the form that the
//! signature asks for.

use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};

use farad_data::{
    Array, Channels, Csv, Elements, Random, Resize, Transform, decode_image, pictures_in, read_image,
};
use farad_tensor::{Device, Tensor, read_npy};
use farad_train::run::{count, counted, number as digits};
use farad_train::{Inputs, Outputs, Prediction, Signature};

use crate::error::{FitError, Result};
use crate::published::middle;

/// Endings of the files that are pictures.
const PICTURES: [&str; 3] = ["png", "jpg", "jpeg"];
/// What pictures may lie in, and what tables may.
const FILES: (&str, &str, &str) = (
    "a .png or .jpg file, a folder of them, or an .npy array of bytes or of numbers from 0 to 1",
    "a .csv file, or an .npy array",
    "an .npy array",
);
/// The largest level of a pixel that is a whole number.
const BRIGHTEST: f32 = 255.0;

/// Where a sample comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleOrigin {
    /// A picture's file.
    File(PathBuf),
    /// A row of a table or of an array, from 1 on.
    Row(usize),
}

/// Samples to be predicted.
pub struct Unseen {
    inputs: Inputs,
    source: UnseenSource,
    /// What they are said to be, where the file says it.
    targets: Vec<Option<Vec<String>>>,
    /// The pictures that had another size: how many, and the first with its width and height.
    resized: RefCell<(usize, Option<(PathBuf, usize, usize)>)>,
    notes: Vec<String>,
    /// What the shorter side of a picture becomes before its middle is taken.
    shorter_side: Option<usize>,
}

enum UnseenSource {
    /// `[samples, ..]`
    Rows(Array),
    /// Pictures, which are read when they are due.
    Files(Vec<PathBuf>),
}

impl Unseen {
    /// Opens a file or a folder for a model.
    pub fn open(path: impl AsRef<Path>, signature: &Signature) -> Result<Unseen> {
        let path = path.as_ref();
        let (inputs, shown) = (signature.inputs.clone(), path.display().to_string());
        let files = match inputs {
            Inputs::Pictures { .. } => FILES.0,
            Inputs::Table { .. } => FILES.1,
            Inputs::Array { .. } => FILES.2,
        };
        let takes = inputs.words();
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let mut notes = vec![];
        let (source, targets) = match &inputs {
            _ if !path.exists() => return Err(FitError::NoSamples { path: shown, takes, files }.into()),
            _ if ending == "npy" && path.is_file() => {
                let rows = array(path, &inputs, &mut notes)?;
                let targets = vec![None; rows.shape()[0]];
                (UnseenSource::Rows(rows), targets)
            }
            Inputs::Pictures { .. } if path.is_dir() => {
                let found = pictures_in(path)?.into_iter();
                let (files, classes): (Vec<_>, Vec<_>) = found.unzip();
                (UnseenSource::Files(files), known(classes, &signature.outputs))
            }
            Inputs::Pictures { .. } if PICTURES.contains(&ending.as_str()) => {
                (UnseenSource::Files(vec![path.into()]), vec![None])
            }
            Inputs::Table { columns, targets, header, bits, rules }
                if path.is_file() && !PICTURES.contains(&ending.as_str()) =>
            {
                let csv = if *header { Csv::new() } else { Csv::new().without_header() };
                let rows = if *bits { csv.of_bits() } else { csv.rules(rules.clone()) };
                let rows = rows.select(path, columns, targets)?;
                notes.extend(rows.notes);
                (UnseenSource::Rows(rows.inputs), rows.targets)
            }
            _ => {
                let found = match path.is_dir() {
                    true => "a folder".into(),
                    false if ending.is_empty() => "a file without an ending".into(),
                    false => format!("a .{ending} file"),
                };
                return Err(FitError::OtherSamples { path: shown, found, takes, files }.into());
            }
        };
        Ok(Unseen { inputs, source, targets, resized: RefCell::default(), notes, shorter_side: None })
    }

    /// Of pictures, the middle is taken after the shorter side became so many pixels, if there is such a number.
    pub fn shorter_side(self, pixels: Option<usize>) -> Unseen {
        Unseen { shorter_side: pixels, ..self }
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Where a sample comes from.
    pub fn origin(&self, sample: usize) -> SampleOrigin {
        match &self.source {
            UnseenSource::Files(files) => SampleOrigin::File(files[sample].clone()),
            UnseenSource::Rows(_) => SampleOrigin::Row(sample + 1),
        }
    }

    /// What a sample is said to be, if that is known.
    pub fn target(&self, sample: usize) -> Option<&[String]> {
        self.targets[sample].as_deref()
    }

    /// The numbers of all samples in parts of so many.
    pub fn parts(&self, size: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let len = self.len();
        (0..len).step_by(size.max(1)).map(move |from| from..(from + size.max(1)).min(len))
    }

    /// Some samples: `[samples, ..]` on the CPU.
    pub fn batch(&self, part: Range<usize>) -> Result<Tensor> {
        let samples: Vec<Array> = match &self.source {
            UnseenSource::Rows(rows) => part.map(|row| rows.row(row)).collect(),
            UnseenSource::Files(files) => {
                files[part].iter().map(|file| self.picture(file)).collect::<Result<_>>()?
            }
        };
        let all = Array::stack(&samples)?;
        Tensor::try_from_vec(&all.to_f32(), all.shape(), &Device::cpu())
    }

    /// What should be said of what was read so far, beside predictions.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if let ((resized, Some((first, width, height))), Inputs::Pictures { height: h, width: w, .. }) =
            (&*self.resized.borrow(), &self.inputs)
        {
            let (all, first) = (counted(self.len(), "picture"), first.display());
            notes.push(format!(
                "{} of {all} resized to {w} × {h} pixels, which the model takes; {first} has {width} × {height}",
                count(*resized)
            ));
        }
        notes
    }

    /// A picture in the model's size.
    fn picture(&self, path: &Path) -> Result<Array> {
        let picture = read_image(path, channels(&self.inputs))?;
        let (found, shape) = (picture.shape(), self.inputs.shape());
        if let Some(pixels) = self.shorter_side {
            return middle(&picture, pixels, [shape[1], shape[2]]);
        }
        if found[1..] != shape[1..] {
            let mut resized = self.resized.borrow_mut();
            resized.0 += 1;
            resized.1.get_or_insert_with(|| (path.into(), found[2], found[1]));
        }
        fitted(picture, &self.inputs)
    }
}

/// A PNG or JPEG picture in memory, in the size that a model takes: `[channels, height, width]`. Messages call it by the name.
pub fn picture_sample(name: &str, bytes: &[u8], inputs: &Inputs) -> Result<Array> {
    fitted(decode_image(name, bytes, channels(inputs))?, inputs)
}

/// What pictures are read as.
fn channels(inputs: &Inputs) -> Channels {
    match inputs.shape()[0] {
        1 => Channels::Gray,
        4 => Channels::Transparent,
        _ => Channels::Color,
    }
}

/// A picture in the model's size, as numbers.
fn fitted(picture: Array, inputs: &Inputs) -> Result<Array> {
    let (found, shape) = (picture.shape(), inputs.shape());
    if found[1..] == shape[1..] {
        return Ok(Array::new(picture.to_f32(), found));
    }
    Resize { height: shape[1], width: shape[2] }.apply(picture, &mut Random::at(0, 0, 0))
}

/// Names of folders as classes, if they are classes of the model; other folders may be called anything.
fn known(folders: Vec<Option<String>>, outputs: &Outputs) -> Vec<Option<Vec<String>>> {
    let Outputs::Classes(classes) = outputs else { return vec![None; folders.len()] };
    folders
        .into_iter()
        .map(|name| name.filter(|name| classes.contains(name)).map(|name| vec![name]))
        .collect()
}

/// An array of one or more samples.
fn array(path: &Path, inputs: &Inputs, notes: &mut Vec<String>) -> Result<Array> {
    let named = |source| FitError::OfFile { path: path.display().to_string(), source: Box::new(source) };
    let read = Array::of_tensor(&read_npy(path, &Device::cpu())?)?;
    let levels = matches!(inputs, Inputs::Pictures { .. });
    // Pixels that are whole numbers are levels up to 255, whatever NumPy stores them in.
    let values = match (levels, read.elements()) {
        (true, Elements::I32(all)) => all.iter().map(|&level| level as f32 / BRIGHTEST).collect(),
        (false, Elements::U8(all)) => all.iter().map(|&number| f32::from(number)).collect(),
        _ => read.to_f32(),
    };
    if levels && values.iter().any(|value| !(-1e-3..=1.001).contains(value)) {
        notes.push(format!(
            "{} has numbers below 0 or above 1: levels of pictures are bytes, or numbers from 0 to 1",
            path.display()
        ));
    }
    let shape = inputs.batch(&Tensor::zeros(read.shape(), &Device::cpu())).map_err(named)?.shape();
    Ok(Array::new(values, shape))
}

/// How often predictions were right, or how far off, where the data say it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HitCount {
    /// Samples whose class or number was known.
    pub known: usize,
    /// Those that were right.
    pub right: usize,
    /// Distances of numbers, added up.
    pub distance: f64,
}

impl HitCount {
    /// Takes a prediction and what the data say.
    pub fn add(&mut self, outputs: &Outputs, said: &Prediction, target: Option<&[String]>) {
        let Some(target) = target else { return };
        match said {
            Prediction::Class { class, .. } => {
                self.known += 1;
                self.right += usize::from(target.first() == Some(&outputs.class(*class)));
            }
            Prediction::Numbers(numbers) => {
                let wanted: Vec<Option<f64>> = target.iter().map(|text| number(text)).collect();
                if wanted.len() != numbers.len() || wanted.contains(&None) {
                    return;
                }
                self.known += 1;
                let off: f64 = numbers.iter().zip(wanted.iter().flatten()).map(|(a, b)| (a - b).abs()).sum();
                self.distance += off / numbers.len().max(1) as f64;
                self.right += usize::from(off == 0.0);
            }
        }
    }

    /// The accuracy or the mean absolute error in words, if anything was known.
    pub fn sentence(&self, signature: &Signature) -> Option<String> {
        if self.known == 0 {
            return None;
        }
        let share = 100.0 * self.right as f64 / self.known as f64;
        let of = format!("({} of {})", count(self.right), count(self.known));
        Some(match (&signature.outputs, &signature.inputs) {
            (Outputs::Classes(_), _) => format!("accuracy {share:.2} % {of}"),
            (_, Inputs::Table { bits: true, .. }) => format!("{share:.2} % of rows right {of}"),
            (Outputs::Numbers(names), _) => {
                let (error, samples) = (self.distance / self.known as f64, counted(self.known, "sample"));
                format!("mean absolute error of {} {} ({samples})", names.join(", "), digits(error))
            }
        })
    }
}

/// A number, or a truth as one.
fn number(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" => Some(1.0),
        "false" | "no" => Some(0.0),
        text => text.parse().ok(),
    }
}
