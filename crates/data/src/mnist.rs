//! MNIST and Fashion-MNIST: four idx files, gzipped or plain.
//!
//! Files that have the size of the original MNIST must have its checksums too.

use std::path::{Path, PathBuf};

use farad_ir::Shape;

use super::file::expect_folder;
use super::{Array, Elements, Split, TensorSet, idx, origin};
use crate::error::{DataError, Error, Result};

/// The files of a split, images then labels, and their checksums (CRC-32, unpacked) and samples in MNIST.
const FILES: [([&str; 2], [u32; 2], usize); 2] = [
    (["train-images-idx3-ubyte", "train-labels-idx1-ubyte"], [0xe9f4_d8b3, 0xe0cb_4ad2], 60_000),
    (["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"], [0x9137_3bdf, 0x4ab9_eff9], 10_000),
];

const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

const CLOTHES: [&str; 10] =
    ["t-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"];

/// Handwritten digits: images `[1, 28, 28]` of bytes, classes 0 to 9. The folder holds
/// `train-images-idx3-ubyte` and its three companions, gzipped or not.
pub fn mnist(folder: impl AsRef<Path>, split: Split) -> Result<TensorSet> {
    let ([images, labels], sums, samples) = find("mnist", folder.as_ref(), split)?;
    let set = read(&images, &labels, &DIGITS, |found, path, n| {
        match found.shape().first() == Some(&samples) && found.1 != sums[n] {
            true => {
                Err(DataError::Checksum { op: "mnist", path: path.into(), found: found.1, wanted: sums[n] }
                    .into())
            }
            false => Ok(()),
        }
    })?;
    Ok(set)
}

/// Pictures of clothes in the format of MNIST: images `[1, 28, 28]` of bytes, ten classes.
pub fn fashion_mnist(folder: impl AsRef<Path>, split: Split) -> Result<TensorSet> {
    let ([images, labels], sums, _) = find("fashion-mnist", folder.as_ref(), split)?;
    read(&images, &labels, &CLOTHES, |found, path, n| match found.1 == sums[n] {
        true => {
            let what = "these are MNIST's digits, not clothes".to_string();
            Err(Error::Damaged { op: "fashion-mnist", path: path.into(), place: String::new(), what })
        }
        false => Ok(()),
    })
}

/// Any set in this format: images `[n, height, width]` of bytes and labels `[n]`, with names for the classes.
pub fn idx_set(images: impl AsRef<Path>, labels: impl AsRef<Path>, classes: &[&str]) -> Result<TensorSet> {
    read(images.as_ref(), labels.as_ref(), classes, |_, _, _| Ok(()))
}

/// An array and the checksum of the file that it came from.
struct FoundArray(Array, u32);

impl FoundArray {
    fn shape(&self) -> Shape {
        self.0.shape()
    }
}

fn read(
    images: &Path,
    labels: &Path,
    classes: &[&str],
    check: impl Fn(&FoundArray, &Path, usize) -> Result<()>,
) -> Result<TensorSet> {
    let open = |path: &Path, n: usize| {
        let (array, sum) = idx::read(path)?;
        let found = FoundArray(array, sum);
        check(&found, path, n)?;
        Ok::<_, Error>(found.0)
    };
    let damaged = |path: &Path, place: String, what: String| Error::Damaged {
        op: "idx",
        path: path.into(),
        place,
        what,
    };
    let pixels = open(images, 0)?;
    let &[count, height, width] = &pixels.shape()[..] else {
        return Err(damaged(
            images,
            String::new(),
            format!("images are [n, height, width], not {}", pixels.shape()),
        ));
    };
    let targets = open(labels, 1)?;
    let Elements::U8(numbers) = targets.elements() else {
        return Err(damaged(labels, String::new(), "labels are bytes".into()));
    };
    if targets.shape()[..] != [count] {
        return Err(damaged(
            labels,
            String::new(),
            format!("one label per image: ({} vs {count})", targets.shape()),
        ));
    }
    if let Some(record) = numbers.iter().position(|&n| n as usize >= classes.len()) {
        let what = format!("label outside ({} vs below {})", numbers[record], classes.len());
        return Err(damaged(labels, format!(": record {record}"), what));
    }
    let targets = Array::new(numbers.iter().map(|&n| i32::from(n)).collect::<Vec<i32>>(), [count]);
    TensorSet::from_arrays(pixels.reshaped([count, 1, height, width]), targets)?
        .with_classes(classes.iter().copied())
}

/// Where the files of a split are, under any of the names that are in use.
fn find(op: &'static str, folder: &Path, split: Split) -> Result<([PathBuf; 2], [u32; 2], usize)> {
    let (names, sums, samples) = FILES[match split {
        Split::Train => 0,
        Split::Test => 1,
    }];
    expect_folder(op, folder, &format!("{}.gz and its companions", FILES[0].0[0]))?;
    let place = |name: &str| {
        let dotted = name.replace("-idx", ".idx");
        let folders = [
            folder.to_path_buf(),
            folder.join("MNIST/raw"),
            folder.join("FashionMNIST/raw"),
            folder.join(op),
        ];
        let files = [name.to_string(), format!("{name}.gz"), dotted.clone(), format!("{dotted}.gz")];
        folders
            .iter()
            .flat_map(|folder| files.iter().map(|file| folder.join(file)))
            .find(|path| path.is_file())
    };
    match names.map(place) {
        [Some(images), Some(labels)] => Ok(([images, labels], sums, samples)),
        found => {
            let missing = names
                .iter()
                .zip(&found)
                .filter(|(_, path)| path.is_none())
                .map(|(name, _)| format!("{name}.gz"));
            let files = missing.collect::<Vec<_>>().join(", ");
            Err(DataError::MissingData { op, files, from: origin(op), folder: folder.into() }.into())
        }
    }
}
