//! Data sets on the host, transforms of their samples, and the loader that brings batches to a device.
//!
//! A [`Dataset`] gives samples by number, as [`Array`]s on the host (bytes, integers, floats). Files are read
//! within bounds that their own length sets. Whatever is wrong with one is a typed error that names file and
//! record. So a loader's items are results: `for batch in &mut loader { let (x, y) = batch?; … }`.
//!
//! Shuffling and random transforms are Philox counters of seed, epoch and sample. So a batch depends on its
//! number only, and a `Position` (epoch, batch, seed) gives the same rest of an epoch.
//!
//! Invariant: nothing here but the loader's consuming side knows a device; and the same seed gives the same
//! samples in the same order everywhere. Start at [`Dataset`] and [`TensorSet`]; one file per set.
//!
//! ```
//! use farad::data::{Dataset, digits};
//! let set = digits(100, 1);
//! let sample = set.get(3)?;
//! assert_eq!(sample.input.shape()[..], [1, 28, 28]);
//! assert_eq!(set.classes().len(), 10);
//! # Ok::<(), farad::Error>(())
//! ```

mod array;
mod dataset;
mod error;
mod random;

mod subset;
mod tensor_set;

mod cifar10;
mod column_rule;
mod csv;
mod csv_table;
mod date;
mod file;
mod idx;
mod image;
mod image_folder;
mod mnist;
mod npy;
mod synthetic;
mod text;

mod places;
mod table;
mod transform;
mod warp;

mod loader;

pub use array::{Array, Elements};
pub use cifar10::cifar10;
pub use column_rule::{ColumnForm, ColumnRule, FieldFault, FieldUse};
pub use csv::{Column, Csv, SelectedRows, TargetKind};
pub use dataset::{Dataset, Sample, Split};
pub use date::DateOrder;
pub use error::{DataError, Error, Result};
pub use farad_cpu::MappedFile;
pub use idx::read_idx;
pub use image::{Channels, decode_image, read_image};
pub use image_folder::{ImageFolder, pictures_in};
pub use loader::{Batches, DataLoader, Position};
pub use mnist::{fashion_mnist, idx_set, mnist};
pub use npy::{npy_set, npz_set};
pub use places::{find_data, origin, usual_places};
pub use random::Random;
pub use subset::{Subset, shares_by_class, split, split_by_class};
pub use synthetic::{blobs, colored_digits, digits, moons, sine, spirals};
pub use table::{DATA_SETS, NamedSet, Opened, SampleForm};
pub use tensor_set::TensorSet;
pub use text::Text;
pub use transform::{EdgeCrop, Flatten, HorizontalFlip, Normalize, RandomCrop, Resize, ToFloat, Transform};
pub use warp::{Motion, Warp};
