//! A folder of pictures with one subfolder per class.

use std::path::{Path, PathBuf};

use super::file::expect_folder;
use super::{Array, Channels, Dataset, Sample, read_image};
use crate::error::{DataError, Error, Result};

const OP: &str = "images";

/// Pictures by class: `folder/CLASS/NAME.png` (or `.jpg`, `.jpeg`). Classes and files are in the order of their
/// names; a file is decoded when its sample is asked for.
#[derive(Clone, Debug)]
pub struct ImageFolder {
    files: Vec<(PathBuf, usize)>,
    classes: Vec<String>,
    channels: Channels,
}

impl ImageFolder {
    /// Lists a folder. Files that are no pictures by their names are passed over, and so are folders without pictures
    /// and those whose names begin with a dot.
    pub fn open(folder: impl AsRef<Path>) -> Result<ImageFolder> {
        let folder = folder.as_ref();
        let found = by_class(folder)?;
        let classes: Vec<String> = found.iter().map(|(_, class, _)| class.clone()).collect();
        ImageFolder::of(folder, found, classes)
    }

    /// Lists a folder that belongs to another, such as `test` to `train`: its classes have that one's numbers, some may
    /// be missing, and others are an error.
    pub fn open_as(folder: impl AsRef<Path>, classes: &[String]) -> Result<ImageFolder> {
        let folder = folder.as_ref();
        ImageFolder::of(folder, by_class(folder)?, classes.to_vec())
    }

    fn of(
        folder: &Path,
        found: Vec<(PathBuf, String, Vec<PathBuf>)>,
        classes: Vec<String>,
    ) -> Result<ImageFolder> {
        let mut files = Vec::new();
        for (path, class, pictures) in found {
            let number = classes.iter().position(|known| *known == class);
            let number = number.ok_or_else(|| DataError::OtherClass { path, classes: classes.join(", ") })?;
            files.extend(pictures.into_iter().map(|picture| (picture, number)));
        }
        if files.is_empty() {
            return Err(DataError::NoPictures { path: folder.into() }.into());
        }
        Ok(ImageFolder { files, classes, channels: Channels::Color })
    }

    /// One channel instead of three.
    pub fn gray(mut self) -> ImageFolder {
        self.channels = Channels::Gray;
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
        let (path, class) =
            self.files.get(index).ok_or(DataError::NoSample { index, len: self.files.len() })?;
        Ok(Sample { input: read_image(path, self.channels)?, target: Array::class(*class) })
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn class_of(&self, index: usize) -> Option<usize> {
        self.files.get(index).map(|(_, class)| *class)
    }
}

/// The pictures of a folder, in the order of their names; if there are none, those of its folders, with the folders' names.
pub fn pictures_in(folder: impl AsRef<Path>) -> Result<Vec<(PathBuf, Option<String>)>> {
    let folder = folder.as_ref();
    let own: Vec<PathBuf> =
        sorted(folder)?.into_iter().filter(|path| path.is_file() && is_picture(path)).collect();
    let found: Vec<(PathBuf, Option<String>)> = match own.is_empty() {
        false => own.into_iter().map(|path| (path, None)).collect(),
        true => by_class(folder)?
            .into_iter()
            .flat_map(|(_, class, pictures)| {
                pictures.into_iter().map(move |path| (path, Some(class.clone())))
            })
            .collect(),
    };
    match found.is_empty() {
        true => Err(DataError::NoPicture { path: folder.into() }.into()),
        false => Ok(found),
    }
}

/// The folders of classes: path, name and pictures of each.
fn by_class(folder: &Path) -> Result<Vec<(PathBuf, String, Vec<PathBuf>)>> {
    expect_folder(OP, folder, "one folder per class, with .png or .jpg files in it")?;
    let mut found = Vec::new();
    for path in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pictures: Vec<PathBuf> = match name.starts_with('.') {
            true => continue,
            false => sorted(&path)?.into_iter().filter(|path| is_picture(path)).collect(),
        };
        if !pictures.is_empty() {
            found.push((path, name, pictures));
        }
    }
    Ok(found)
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
