//! The weights of a run's newest checkpoint: a histogram and a few numbers per tensor.
//!
//! A safetensors file has a JSON header that says where each tensor is, so only what is asked for is read. Invariant:
//! at most [`MOST_READ`] bytes are read and a piece of one tensor is held, however large the file is; of a large tensor
//! that is a sample, and the answer says so. Start at [`RecentWeights::get`].

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use farad::run::{Value, json};
use half::{bf16, f16};

use crate::summary::stamp;

/// Answers that are kept.
const KEPT: usize = 4;
/// The longest header that is read.
const LONGEST_HEADER: u64 = 16 << 20;
/// Most bytes of tensors that one answer is made of.
const MOST_READ: u64 = 512 << 20;
/// Most numbers of a tensor that are looked at; of a larger one, pieces at even distances.
const MOST_NUMBERS: u64 = 4 << 20;
/// How many pieces that is.
const PIECES: u64 = 64;
/// Most tensors that are told.
const MOST_TENSORS: usize = 600;
/// Bars of a histogram.
const BARS: usize = 48;
/// Parts of a checkpoint that are not what was learned, and come last.
const STATE: [&str; 2] = ["optimizer", "optimiser"];

/// The answers that were given recently.
#[derive(Default)]
pub struct RecentWeights {
    kept: Mutex<VecDeque<((PathBuf, u64), Arc<String>)>>,
}

impl RecentWeights {
    /// The weights in a run's folder as JSON; none if it has no checkpoint.
    pub fn get(&self, folder: &Path) -> Option<Arc<String>> {
        let path = folder.join("checkpoint.safetensors");
        // A link might lead to any file of this machine.
        std::fs::symlink_metadata(&path).ok().filter(|metadata| metadata.is_file())?;
        let key = (folder.to_path_buf(), stamp(&path));
        // Made under the lock: one file at a time is read, and one result serves all pages.
        let mut kept = self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, told)) = kept.iter().find(|(other, _)| *other == key) {
            return Some(told.clone());
        }
        let told = weights(&path)
            .unwrap_or_else(|why| json!({ "problem": format!("the checkpoint cannot be read: {why}") }));
        let told = Arc::new(told.to_string());
        kept.retain(|((other, _), _)| other != folder);
        kept.push_back((key, told.clone()));
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
        Some(told)
    }
}

/// A tensor as the header describes it.
struct Entry {
    name: String,
    dtype: String,
    shape: Vec<u64>,
    /// Where its bytes begin and end in the file.
    bytes: (u64, u64),
}

impl Entry {
    /// The part of the checkpoint that it belongs to.
    fn section(&self) -> &str {
        self.name.split_once('.').map_or("", |(section, _)| section)
    }
}

/// All tensors of a checkpoint.
fn weights(path: &Path) -> Result<Value, String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let (mut entries, step) = header(&mut file, length)?;
    entries.sort_by_key(|entry| (STATE.contains(&entry.section()), entry.bytes.0));
    let (all, mut left) = (entries.len(), MOST_READ);
    let mut tensors = vec![];
    for entry in entries.iter().take(MOST_TENSORS) {
        let numbers = Numbers::of(&mut file, entry, &mut left).map_err(|error| error.to_string())?;
        tensors.push(described(entry, numbers.as_ref()));
    }
    Ok(json!({ "step": step, "tensors": tensors, "more": all - tensors.len() }))
}

/// The tensors that a file has, and the step that it was written after.
fn header(file: &mut File, length: u64) -> Result<(Vec<Entry>, Option<u64>), String> {
    let mut size = [0; 8];
    file.read_exact(&mut size).map_err(|_| "it is cut off")?;
    let size = u64::from_le_bytes(size);
    if size > LONGEST_HEADER || size + 8 > length {
        return Err("its header is longer than it may be".into());
    }
    let mut text = vec![0; size as usize];
    file.read_exact(&mut text).map_err(|_| "it is cut off")?;
    let text = String::from_utf8(text).map_err(|_| "its header is not text")?;
    let header: Value = text.parse().map_err(|_| "its header is damaged")?;
    let header = header.as_object().ok_or("its header is damaged")?;
    let step = header.get("__metadata__").and_then(|metadata| {
        let state: Value = metadata["farad-checkpoint"].as_str()?.parse().ok()?;
        state["step"].as_u64()
    });
    let entries = header.iter().filter(|(name, _)| *name != "__metadata__");
    let entries = entries.map(|(name, tensor)| {
        let place = |n: usize| tensor["data_offsets"][n].as_u64()?.checked_add(8 + size);
        let (begin, end) = (place(0)?, place(1)?);
        let shape: Option<Vec<u64>> = tensor["shape"].as_array()?.iter().map(Value::as_u64).collect();
        let entry = Entry {
            name: name.clone(),
            dtype: tensor["dtype"].as_str()?.into(),
            shape: shape?,
            bytes: (begin, end),
        };
        (begin <= end && end <= length).then_some(entry)
    });
    let entries: Option<Vec<Entry>> = entries.collect();
    Ok((entries.ok_or("a tensor lies outside of it")?, step))
}

/// Bytes per number, and how one is read; none for a dtype without a row here.
fn decoder(dtype: &str) -> Option<(usize, fn(&[u8]) -> f64)> {
    fn bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().expect("as many as the dtype has")
    }
    Some(match dtype {
        "F64" => (8, |b| f64::from_le_bytes(bytes(b))),
        "F32" => (4, |b| f32::from_le_bytes(bytes(b)).into()),
        "F16" => (2, |b| f16::from_le_bytes(bytes(b)).into()),
        "BF16" => (2, |b| bf16::from_le_bytes(bytes(b)).into()),
        "I64" => (8, |b| i64::from_le_bytes(bytes(b)) as f64),
        "U64" => (8, |b| u64::from_le_bytes(bytes(b)) as f64),
        "I32" => (4, |b| i32::from_le_bytes(bytes(b)).into()),
        "U32" => (4, |b| u32::from_le_bytes(bytes(b)).into()),
        "I16" => (2, |b| i16::from_le_bytes(bytes(b)).into()),
        "U16" => (2, |b| u16::from_le_bytes(bytes(b)).into()),
        "I8" => (1, |b| i8::from_le_bytes(bytes(b)).into()),
        "U8" | "BOOL" => (1, |b| b[0].into()),
        _ => return None,
    })
}

/// Numbers of a tensor: all, or a sample.
struct Numbers {
    finite: Vec<f64>,
    nan: u64,
    infinite: u64,
}

impl Numbers {
    /// Reads those of a tensor; none if its dtype is unknown, or if too much was read already.
    fn of(file: &mut File, entry: &Entry, left: &mut u64) -> std::io::Result<Option<Numbers>> {
        let Some((size, decode)) = decoder(&entry.dtype) else { return Ok(None) };
        let count = (entry.bytes.1 - entry.bytes.0) / size as u64;
        let taken = count.min(MOST_NUMBERS);
        let pieces = if taken < count { PIECES } else { 1 };
        let each = taken / pieces;
        if each * pieces * size as u64 > *left {
            return Ok(None);
        }
        *left -= each * pieces * size as u64;
        let mut numbers =
            Numbers { finite: Vec::with_capacity((each * pieces) as usize), nan: 0, infinite: 0 };
        let mut bytes = vec![0; each as usize * size];
        for piece in 0..pieces {
            let at = (count - each) / (pieces - 1).max(1) * piece;
            file.seek(SeekFrom::Start(entry.bytes.0 + at * size as u64))?;
            file.read_exact(&mut bytes)?;
            bytes.chunks_exact(size).for_each(|number| numbers.add(decode(number)));
        }
        Ok(Some(numbers))
    }

    fn add(&mut self, number: f64) {
        match number {
            _ if number.is_nan() => self.nan += 1,
            _ if number.is_infinite() => self.infinite += 1,
            _ => self.finite.push(number),
        }
    }

    fn seen(&self) -> u64 {
        self.finite.len() as u64 + self.nan + self.infinite
    }

    /// The least and the largest finite number.
    fn ends(&self) -> Option<(f64, f64)> {
        let first = *self.finite.first()?;
        Some(
            self.finite
                .iter()
                .fold((first, first), |(low, high), &number| (low.min(number), high.max(number))),
        )
    }

    /// Mean and standard deviation.
    fn moments(&self) -> (f64, f64) {
        let count = self.finite.len().max(1) as f64;
        let mean = self.finite.iter().sum::<f64>() / count;
        let squares: f64 = self.finite.iter().map(|number| (number - mean).powi(2)).sum();
        (mean, (squares / count).sqrt())
    }

    /// How many numbers each of the bars between two ends has.
    fn bars(&self, (low, high): (f64, f64)) -> Vec<u64> {
        let width = high - low;
        let mut bars = vec![0; if width > 0.0 && width.is_finite() { BARS } else { 1 }];
        let last = bars.len() - 1;
        for number in &self.finite {
            let at = if last == 0 { 0 } else { ((number - low) / width * BARS as f64) as usize };
            bars[at.min(last)] += 1;
        }
        bars
    }
}

/// A tensor as the page shows it. Without numbers, only what the header says.
fn described(entry: &Entry, numbers: Option<&Numbers>) -> Value {
    let mut told = json!({
        "name": entry.name,
        "section": entry.section(),
        "dtype": entry.dtype.to_lowercase(),
        "shape": entry.shape,
        "count": entry.shape.iter().fold(1, |all: u64, &size| all.saturating_mul(size)),
    });
    let Some(numbers) = numbers else { return told };
    told["seen"] = numbers.seen().into();
    told["nan"] = numbers.nan.into();
    told["infinite"] = numbers.infinite.into();
    if let Some(ends) = numbers.ends() {
        let (mean, deviation) = numbers.moments();
        told["min"] = ends.0.into();
        told["max"] = ends.1.into();
        told["mean"] = mean.into();
        told["deviation"] = deviation.into();
        told["bars"] = json!(numbers.bars(ends));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;

    /// A file with one tensor of f32 under each name.
    fn write(path: &Path, tensors: &[(&str, &[f32])]) {
        let (mut header, mut data) = (json!({}), vec![]);
        for (name, values) in tensors {
            let begin = data.len();
            values.iter().for_each(|value| data.extend(value.to_le_bytes()));
            header[*name] =
                json!({ "dtype": "F32", "shape": [values.len()], "data_offsets": [begin, data.len()] });
        }
        header["__metadata__"] = json!({ "farad-checkpoint": "{\"step\":7}" });
        let header = header.to_string();
        let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat();
        std::fs::write(path, bytes).unwrap();
    }

    fn told(recent: &RecentWeights, folder: &Path) -> Value {
        recent.get(folder).unwrap().parse().unwrap()
    }

    #[test]
    fn weights_are_counted() {
        let scratch = ScratchFolder::new();
        scratch.run("run", "fit");
        let (folder, recent) = (scratch.path("run"), RecentWeights::default());
        assert!(recent.get(&folder).is_none(), "there is no checkpoint yet");
        let ramp: Vec<f32> = (0..480).map(|n| n as f32 / 479.0).collect();
        let odd = [f32::NAN, f32::INFINITY, 2.0, 2.0];
        write(
            &folder.join("checkpoint.safetensors"),
            &[("optimizer.a", &ramp), ("model.w", &ramp), ("model.odd", &odd)],
        );
        let weights = told(&recent, &folder);
        assert_eq!((&weights["step"], &weights["more"]), (&json!(7), &json!(0)));
        let names: Vec<&str> =
            weights["tensors"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
        assert_eq!(names, ["model.w", "model.odd", "optimizer.a"], "what was learned comes first");
        let ramp = &weights["tensors"][0];
        assert_eq!(
            (&ramp["min"], &ramp["max"], &ramp["count"], &ramp["seen"]),
            (&json!(0.0), &json!(1.0), &json!(480), &json!(480))
        );
        assert_eq!(ramp["bars"], json!(vec![10; BARS]));
        assert!((ramp["mean"].as_f64().unwrap() - 0.5).abs() < 1e-6);
        let odd = &weights["tensors"][1];
        assert_eq!((&odd["nan"], &odd["infinite"], &odd["bars"]), (&json!(1), &json!(1), &json!([2])));
        assert_eq!(odd["deviation"], 0.0);
    }

    #[test]
    fn large_tensors_are_sampled_and_damage_is_told() {
        let scratch = ScratchFolder::new();
        scratch.run("run", "fit");
        let path = scratch.path("run/checkpoint.safetensors");
        let values: Vec<f32> = (0..MOST_NUMBERS + 1000).map(|n| (n % 100) as f32).collect();
        write(&path, &[("model.w", &values)]);
        let tensor = &weights(&path).unwrap()["tensors"][0];
        assert_eq!((&tensor["count"], &tensor["seen"]), (&json!(MOST_NUMBERS + 1000), &json!(MOST_NUMBERS)));
        assert!((tensor["mean"].as_f64().unwrap() - 49.5).abs() < 0.1);
        let whole = std::fs::read(&path).unwrap();
        for (bytes, why) in [
            (&whole[..4], "cut off"),
            (&whole[..40], "longer than it may be"),
            (&whole[..whole.len() - 1], "lies outside"),
            (&[255; 16], "longer than it may be"),
            (b"\x02\0\0\0\0\0\0\0[]", "header is damaged"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert!(weights(&path).unwrap_err().contains(why), "{why}");
        }
        #[cfg(unix)]
        {
            std::fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
            assert!(RecentWeights::default().get(&scratch.path("run")).is_none());
        }
    }
}
