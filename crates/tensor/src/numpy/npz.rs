//! Named arrays in a zip: NumPy's `savez` and `savez_compressed`.

use std::collections::HashMap;
use std::io::{Cursor, Read, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{decode, encode};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::whole::write_whole;

const OP: &str = "npz";
/// What deflate can make of a byte at most.
const LARGEST_RATIO: u64 = 1032;

/// Reads all arrays of a `.npz` file, compressed or not, onto a device.
///
/// ```
/// use farad::prelude::*;
/// let path = std::env::temp_dir().join(format!("farad-doc-{}.npz", std::process::id()));
/// let x = Tensor::arange(3, &Device::cpu());
/// farad::write_npz(&path, &[("x", &x)])?;
/// assert_eq!(farad::read_npz(&path, &Device::cpu())?["x"].to_vec::<i32>()?, [0, 1, 2]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), farad::Error>(())
/// ```
pub fn read_npz(path: impl AsRef<Path>, device: &Device) -> Result<HashMap<String, Tensor>> {
    let path = path.as_ref();
    let file = std::fs::read(path).map_err(|source| Error::File { op: OP, path: path.into(), source })?;
    let mut archive = ZipArchive::new(Cursor::new(&file[..])).map_err(|error| foreign(path, &file, error))?;
    let mut arrays = HashMap::new();
    for index in 0..archive.len() {
        let (name, bytes) = entry(path, &mut archive, index)?;
        // A zip may hold anything; what PyTorch saves is one without arrays.
        let Some(name) = name.strip_suffix(".npy") else { continue };
        let array = decode(OP, path, &format!(": {name}"), &bytes, device)?;
        arrays.insert(name.to_string(), array);
    }
    if arrays.is_empty() {
        let what = "it holds no arrays (files of PyTorch: export them as safetensors)".to_string();
        return Err(Error::Damaged { op: OP, path: path.into(), place: String::new(), what });
    }
    Ok(arrays)
}

/// Writes named arrays to a `.npz` file, atomically, not compressed.
pub fn write_npz(path: impl AsRef<Path>, arrays: &[(&str, &Tensor)]) -> Result<()> {
    let path = path.as_ref();
    let fail = |error: ZipError| Error::File { op: OP, path: path.into(), source: error.into() };
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, tensor) in arrays {
        let bytes = encode(tensor)?;
        let options = options.large_file(bytes.len() >= u32::MAX as usize);
        writer.start_file(format!("{name}.npy"), options).map_err(fail)?;
        writer.write_all(&bytes).map_err(|source| Error::File { op: OP, path: path.into(), source })?;
    }
    write_whole(OP, path, &writer.finish().map_err(fail)?.into_inner())
}

/// The name and bytes of a file in the zip, as many as it says.
fn entry(path: &Path, archive: &mut ZipArchive<Cursor<&[u8]>>, index: usize) -> Result<(String, Vec<u8>)> {
    let damaged = |place: String, what: String| Error::Damaged { op: OP, path: path.into(), place, what };
    let file =
        archive.by_index(index).map_err(|error| damaged(format!(": entry {index}"), error.to_string()))?;
    let name = String::from_utf8_lossy(file.name_raw()).into_owned();
    let (size, packed) = (file.size(), file.compressed_size());
    if size > packed.saturating_mul(LARGEST_RATIO).saturating_add(64) {
        return Err(damaged(format!(": {name}"), format!("absurd size ({size} bytes from {packed})")));
    }
    let mut bytes = Vec::new();
    let read = file.take(size.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| damaged(format!(": {name}"), error.to_string()))?;
    Ok((name, bytes))
}

/// A file that is no zip, or not all of one.
fn foreign(path: &Path, file: &[u8], error: ZipError) -> Error {
    match file.starts_with(b"PK") {
        true => Error::Damaged { op: OP, path: path.into(), place: String::new(), what: error.to_string() },
        false => {
            let found = format!("{:02x?}", &file[..file.len().min(4)]);
            Error::Foreign { op: OP, path: path.into(), wanted: "a zip of arrays", found }
        }
    }
}
