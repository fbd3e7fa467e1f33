//! CIFAR-10 in its binary format: records of a class and 3 × 32 × 32 bytes.

use std::path::Path;

use super::file::{expect_folder, read_bounded};
use super::{Array, Split, TensorSet, origin};
use crate::error::{DataError, Error, Result};

const OP: &str = "cifar10";
const PIXELS: usize = 3 * 32 * 32;
const RECORD: usize = 1 + PIXELS;
/// The original files have 10,000 records; a file far beyond is none of them.
const MOST_RECORDS: usize = 100_000;
const CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// Small color photographs: images `[3, 32, 32]` of bytes, ten classes. The folder holds `data_batch_1.bin` to
/// `data_batch_5.bin` and `test_batch.bin`, or has `cifar-10-batches-bin` with them in it.
pub fn cifar10(folder: impl AsRef<Path>, split: Split) -> Result<TensorSet> {
    let folder = folder.as_ref();
    let inner = folder.join("cifar-10-batches-bin");
    let inside = if inner.is_dir() { inner.as_path() } else { folder };
    let names: &[&str] = match split {
        Split::Train => &[
            "data_batch_1.bin",
            "data_batch_2.bin",
            "data_batch_3.bin",
            "data_batch_4.bin",
            "data_batch_5.bin",
        ],
        Split::Test => &["test_batch.bin"],
    };
    expect_folder(OP, folder, "data_batch_1.bin and its companions")?;
    let missing: Vec<&str> = names.iter().copied().filter(|name| !inside.join(name).is_file()).collect();
    if !missing.is_empty() {
        let files = missing.join(", ");
        return Err(DataError::MissingData { op: OP, files, from: origin(OP), folder: folder.into() }.into());
    }
    let (mut pixels, mut classes) = (Vec::new(), Vec::new());
    for name in names {
        read(&inside.join(name), &mut pixels, &mut classes)?;
    }
    let count = classes.len();
    TensorSet::from_arrays(Array::new(pixels, [count, 3, 32, 32]), Array::new(classes, [count]))?
        .with_classes(CLASSES)
}

/// Adds the records of one file.
fn read(path: &Path, pixels: &mut Vec<u8>, classes: &mut Vec<i32>) -> Result<()> {
    let bytes = read_bounded(OP, path, (MOST_RECORDS * RECORD) as u64)?;
    if bytes.is_empty() || bytes.len() % RECORD != 0 {
        let wanted = (bytes.len().div_ceil(RECORD).max(1) * RECORD) as u64;
        return Err(Error::Truncated { op: OP, path: path.into(), found: bytes.len() as u64, wanted });
    }
    for (record, bytes) in bytes.chunks_exact(RECORD).enumerate() {
        if bytes[0] as usize >= CLASSES.len() {
            let what = format!("class outside ({} vs below {})", bytes[0], CLASSES.len());
            return Err(Error::Damaged {
                op: OP,
                path: path.into(),
                place: format!(": record {record}"),
                what,
            });
        }
        classes.push(i32::from(bytes[0]));
        pixels.extend_from_slice(&bytes[1..]);
    }
    Ok(())
}
