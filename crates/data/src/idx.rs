//! The idx format of MNIST: a magic number, sizes, elements, all big-endian; plain or gzipped.

use std::path::Path;

use farad_ir::{MAX_RANK, Shape};

use super::file::{DataFile, starts_with};
use super::{Array, Elements};
use crate::error::{Error, Result};

const OP: &str = "idx";

/// The largest number of bytes that is read: more is no data set but a damaged header.
const MOST: usize = 1 << 34;

/// Reads an idx file of bytes, integers of 32 bits or floats, gzipped or plain.
///
/// ```
/// let path = std::env::temp_dir().join(format!("farad-doc-{}.idx", std::process::id()));
/// std::fs::write(&path, [0, 0, 8, 1, 0, 0, 0, 2, 7, 9]).unwrap();
/// assert_eq!(farad::data::read_idx(&path)?, farad::data::Array::new(vec![7u8, 9], [2]));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), farad::Error>(())
/// ```
pub fn read_idx(path: impl AsRef<Path>) -> Result<Array> {
    let path = path.as_ref();
    Ok(read(path)?.0)
}

/// The array, and the checksum (CRC-32) of the whole unpacked file.
pub(super) fn read(path: &Path) -> Result<(Array, u32)> {
    let mut source = DataFile::open(OP, path)?;
    let mut magic = [0; 4];
    source.fill(OP, path, &mut magic)?;
    let [0, 0, kind, rank] = magic else {
        let found = starts_with(&magic);
        return Err(Error::Foreign { op: OP, path: path.into(), wanted: "an idx file", found });
    };
    let size = match kind {
        0x08 => 1,
        0x0c | 0x0d => 4,
        _ => return Err(damaged(path, format!("elements of kind 0x{kind:02x} are not supported"))),
    };
    if rank == 0 || rank as usize > MAX_RANK {
        return Err(damaged(path, format!("rank outside ({rank} vs 1 to {MAX_RANK})")));
    }
    let mut head = vec![0; 4 * rank as usize];
    source.fill(OP, path, &mut head)?;
    let sizes: Vec<usize> = head.chunks_exact(4).map(|b| u32::from_be_bytes(word(b)) as usize).collect();
    let numel = sizes.iter().try_fold(1usize, |all, &n| all.checked_mul(n));
    let bytes = numel.and_then(|n| n.checked_mul(size)).filter(|&n| n <= MOST);
    let bytes = bytes.ok_or_else(|| damaged(path, format!("absurd sizes: {sizes:?}")))?;
    let data = source.rest(OP, path, bytes)?;
    let mut sum = flate2::Crc::new();
    [&magic[..], &head, &data].into_iter().for_each(|part| sum.update(part));
    let elements = match kind {
        0x08 => Elements::U8(data),
        0x0c => Elements::I32(data.chunks_exact(4).map(|b| i32::from_be_bytes(word(b))).collect()),
        _ => Elements::F32(data.chunks_exact(4).map(|b| f32::from_be_bytes(word(b))).collect()),
    };
    Ok((Array::new(elements, Shape::new(&sizes)), sum.sum()))
}

fn word(bytes: &[u8]) -> [u8; 4] {
    bytes.try_into().expect("four bytes")
}

fn damaged(path: &Path, what: String) -> Error {
    Error::Damaged { op: OP, path: path.into(), place: String::new(), what }
}
