//! The data sets by name, one row each: what commands list, look for and open.
//!
//! Invariant: every lookup of a set by its name uses this table, so a new set is a file and a row here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{
    Csv, Dataset, ImageFolder, Split, TensorSet, cifar10, colored_digits, digits, fashion_mnist, find_data,
    mnist, usual_places,
};
use crate::error::{DataError, Result};

/// What samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleForm {
    /// Pictures with one channel.
    Gray,
    /// Pictures with three channels.
    Color,
    /// Rows of numbers.
    Table,
}

/// A set in its parts.
pub enum Opened {
    /// With a test part of its own.
    Parts {
        /// What is learned from.
        train: Arc<dyn Dataset>,
        /// What the end is judged on.
        test: Arc<dyn Dataset>,
    },
    /// Without one.
    Whole(Arc<dyn Dataset>),
}

/// A row of [`DATA_SETS`].
pub struct NamedSet {
    /// What it is called, on the command line too.
    pub name: &'static str,
    /// What it is, for lists.
    pub about: &'static str,
    /// What its samples are.
    pub form: SampleForm,
    /// Whether it is published under this name, and so looked for in the usual places.
    pub published: bool,
    /// Draws samples of its form from a seed, where that is offered as `synthetic`.
    pub draw: Option<fn(usize, u64) -> TensorSet>,
    open: fn(&Path, &Csv) -> Result<Opened>,
}

/// All sets.
pub static DATA_SETS: [NamedSet; 5] = [
    NamedSet {
        name: "mnist",
        about: "handwritten digits (idx files, gzipped or not)",
        form: SampleForm::Gray,
        published: true,
        draw: Some(digits),
        open: |path, _| in_parts(|split| mnist(path, split)),
    },
    NamedSet {
        name: "fashion-mnist",
        about: "pictures of clothes in the format of MNIST",
        form: SampleForm::Gray,
        published: true,
        draw: Some(digits),
        open: |path, _| in_parts(|split| fashion_mnist(path, split)),
    },
    NamedSet {
        name: "cifar10",
        about: "small photographs in ten classes (binary files, or a folder of pictures)",
        form: SampleForm::Color,
        published: true,
        draw: Some(colored_digits),
        open: |path, _| match path.join("train").is_dir() {
            true => pictures(path),
            false => in_parts(|split| cifar10(path, split)),
        },
    },
    NamedSet {
        name: "images",
        about: "a folder of .png and .jpg files, one folder per class (--data DIR)",
        form: SampleForm::Color,
        published: false,
        draw: None,
        open: |path, _| pictures(path),
    },
    NamedSet {
        name: "csv",
        about: "a table (numbers, words, dates) with one column to learn (--data FILE)",
        form: SampleForm::Table,
        published: false,
        draw: None,
        open: |path, csv| Ok(Opened::Whole(Arc::new(csv.clone().read(path)?))),
    },
];

impl NamedSet {
    /// The row of a name.
    ///
    /// ```
    /// use farad::data::{SampleForm, NamedSet};
    /// let set = NamedSet::of("cifar10").expect("a row");
    /// assert_eq!(set.form, SampleForm::Color);
    /// assert!(NamedSet::of("minst").is_none());
    /// ```
    pub fn of(name: &str) -> Option<&'static NamedSet> {
        DATA_SETS.iter().find(|set| set.name == name)
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        DATA_SETS.iter().map(|set| set.name)
    }

    /// Opens the set at a path; `csv` says how tables are read.
    pub fn open(&self, path: &Path, csv: &Csv) -> Result<Opened> {
        (self.open)(path, csv)
    }

    /// Where a published set lies: in the first of the usual places that has it.
    pub fn find(&self) -> Result<PathBuf> {
        find_data(self.name).ok_or_else(|| {
            let places = usual_places(self.name);
            let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
            DataError::NoData { set: self.name, places: places.join(", ") }.into()
        })
    }
}

/// Both parts of a published set.
fn in_parts(read: impl Fn(Split) -> Result<TensorSet>) -> Result<Opened> {
    Ok(Opened::Parts { train: Arc::new(read(Split::Train)?), test: Arc::new(read(Split::Test)?) })
}

/// `train` and `test` of a folder of pictures, or all of it.
fn pictures(path: &Path) -> Result<Opened> {
    let (train, test) = (path.join("train"), path.join("test"));
    if !(train.is_dir() && test.is_dir()) {
        return Ok(Opened::Whole(Arc::new(ImageFolder::open(path)?)));
    }
    let train = ImageFolder::open(&train)?;
    let test = ImageFolder::open_as(&test, train.classes())?;
    Ok(Opened::Parts { train: Arc::new(train), test: Arc::new(test) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_names_of_their_own_and_draw_their_form() {
        for (n, set) in DATA_SETS.iter().enumerate() {
            assert!(DATA_SETS[..n].iter().all(|other| other.name != set.name), "{}", set.name);
            assert!(!set.about.is_empty() && set.name == set.name.to_lowercase());
            let Some(draw) = set.draw else { continue };
            let channels = draw(3, 1).get(0).expect("drawn").input.shape()[0];
            assert_eq!(channels, if set.form == SampleForm::Color { 3 } else { 1 }, "{}", set.name);
        }
    }
}
