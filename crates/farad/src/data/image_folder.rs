//! A folder of pictures with one subfolder a class.

use std::path::{Path, PathBuf};

use super::{Array, Dataset, Sample, read_image};
use crate::error::{Error, Result};

const OP: &str = "images";

/// Pictures by class: `folder/CLASS/NAME.png` (or `.jpg`, `.jpeg`). Classes and files are in the order of their
/// names; a file is decoded when its sample is asked for.
#[derive(Clone, Debug)]
pub struct ImageFolder {
    files: Vec<(PathBuf, usize)>,
    classes: Vec<String>,
    grey: bool,
}

impl ImageFolder {
    /// Lists a folder. Files that are no pictures by their names are passed over.
    pub fn open(folder: impl AsRef<Path>) -> Result<ImageFolder> {
        let folder = folder.as_ref();
        let (mut files, mut classes) = (Vec::new(), Vec::new());
        for path in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
            let class = classes.len();
            classes.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            files
                .extend(sorted(&path)?.into_iter().filter(|path| is_picture(path)).map(|path| (path, class)));
        }
        if files.is_empty() {
            return Err(Error::NoPictures { path: folder.into() });
        }
        Ok(ImageFolder { files, classes, grey: false })
    }

    /// One channel instead of three.
    pub fn grey(mut self) -> ImageFolder {
        self.grey = true;
        self
    }

    /// The file of a sample.
    pub fn path(&self, index: usize) -> Option<&Path> {
        self.files.get(index).map(|(path, _)| path.as_path())
    }
}

impl Dataset for ImageFolder {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn get(&self, index: usize) -> Result<Sample> {
        let (path, class) = self.files.get(index).ok_or(Error::NoSample { index, len: self.files.len() })?;
        Ok(Sample { input: read_image(path, self.grey)?, target: Array::class(*class) })
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }
}

/// What lies in a folder, in the order of names.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let fail = |source| Error::File { op: OP, path: folder.into(), source };
    let entries = std::fs::read_dir(folder).map_err(fail)?;
    let mut paths =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(fail)?;
    paths.sort();
    Ok(paths)
}

fn is_picture(path: &Path) -> bool {
    let end = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    ["png", "jpg", "jpeg"].contains(&end.as_str())
}
