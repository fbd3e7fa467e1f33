//! The header of a `.npy` file: a magic number, a version, and a Python dictionary as text.

use std::path::Path;

use farad_ir::{DType, MAX_RANK, Shape};

use crate::error::{Error, Result};

const MAGIC: &[u8] = b"\x93NUMPY";
/// The text before the data ends at a multiple of this.
const ALIGNMENT: usize = 64;
/// A longer header is none.
const LONGEST: usize = 1 << 16;

/// NumPy's letter and size of each dtype that is written.
const TYPES: [(DType, &str); 12] = [
    (DType::F32, "<f4"),
    (DType::F16, "<f2"),
    (DType::F64, "<f8"),
    (DType::I32, "<i4"),
    (DType::U32, "<u4"),
    (DType::I64, "<i8"),
    (DType::U64, "<u8"),
    (DType::I8, "|i1"),
    (DType::I16, "<i2"),
    (DType::U8, "|u1"),
    (DType::U16, "<u2"),
    (DType::Bool, "|b1"),
];

/// What a header says.
pub(super) struct Header {
    /// What elements are.
    pub dtype: DType,
    /// Bytes of an element.
    pub size: usize,
    pub big_endian: bool,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
}

impl Header {
    /// The header and the data after it, of which there are as many as the header says.
    pub fn read<'a>(
        op: &'static str,
        path: &Path,
        place: &str,
        bytes: &'a [u8],
    ) -> Result<(Header, &'a [u8])> {
        let damaged = |what: String| Error::Damaged { op, path: path.into(), place: place.into(), what };
        let short = |wanted: usize| Error::Truncated {
            op,
            path: path.into(),
            found: bytes.len() as u64,
            wanted: wanted as u64,
        };
        if !bytes.starts_with(MAGIC) {
            let found = format!("{:02x?}", &bytes[..bytes.len().min(6)]);
            return Err(Error::Foreign { op, path: path.into(), wanted: "an array of NumPy", found });
        }
        let (start, length) = match bytes[MAGIC.len()..] {
            [1, _, a, b, ..] => (10, u16::from_le_bytes([a, b]) as usize),
            [2 | 3, _, a, b, c, d, ..] => (12, u32::from_le_bytes([a, b, c, d]) as usize),
            [1..=3, ..] | [] => return Err(short(12)),
            [version, ..] => return Err(damaged(format!("version {version} is not known (vs 1 to 3)"))),
        };
        if length > LONGEST {
            return Err(damaged(format!("absurd header ({length} bytes vs at most {LONGEST})")));
        }
        let text = bytes.get(start..start + length).ok_or_else(|| short(start + length))?;
        let text = std::str::from_utf8(text).map_err(|_| damaged("its header is no text".into()))?;
        let header = Header::parse(text).map_err(damaged)?;
        let numel = Shape::new(&header.shape).count();
        let wanted = numel.and_then(|n| n.checked_mul(header.size)).filter(|&n| n < usize::MAX / 2);
        let wanted = wanted.ok_or_else(|| damaged(format!("absurd sizes: {:?}", header.shape)))?;
        let data = &bytes[start + length..];
        match data.len() {
            found if found < wanted => Err(short(start + length + wanted)),
            found if found > wanted => Err(damaged(format!("bytes after its end ({found} vs {wanted})"))),
            _ => Ok((header, data)),
        }
    }

    fn parse(text: &str) -> std::result::Result<Header, String> {
        let value = |key: &str| {
            let at =
                text.find(&format!("'{key}'")).ok_or_else(|| format!("its header has no {key}: {text}"))?;
            let rest = &text[at + key.len() + 2..];
            Ok::<&str, String>(rest.trim_start().strip_prefix(':').unwrap_or(rest).trim_start())
        };
        let kind = value("descr")?.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
        let kind = kind.ok_or("its elements are structures, which are not supported")?;
        let (big_endian, kind) = match kind.as_bytes() {
            [b'>', rest @ ..] => (true, rest),
            [b'<' | b'|' | b'=', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let named = |(_, name): &&(DType, &str)| &name.as_bytes()[1..] == kind;
        let Some((dtype, _)) = TYPES.iter().find(named) else {
            return Err(format!("elements of kind {} are not supported", String::from_utf8_lossy(kind)));
        };
        // Truth values are bytes in files.
        let size = if *dtype == DType::Bool { 1 } else { dtype.size() };
        let fortran_order = value("fortran_order")?.starts_with("True");
        let sizes = value("shape")?.strip_prefix('(').and_then(|rest| rest.split(')').next());
        let sizes = sizes.ok_or_else(|| format!("its header has no shape: {text}"))?;
        let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
        let shape: Option<Vec<usize>> = sizes.map(|size| size.parse().ok()).collect();
        let shape = shape.ok_or_else(|| format!("its sizes are not numbers: {text}"))?;
        if shape.len() > MAX_RANK {
            return Err(format!("its rank is too large ({} vs at most {MAX_RANK})", shape.len()));
        }
        Ok(Header { dtype: *dtype, size, big_endian, fortran_order, shape })
    }

    /// The data in device form.
    pub fn widened(&self, data: Vec<u8>) -> Vec<u8> {
        match self.dtype {
            DType::Bool => data.iter().flat_map(|&b| u32::from(b != 0).to_le_bytes()).collect(),
            _ => data,
        }
    }
}

/// The bytes before the data.
pub(super) fn text(dtype: DType, shape: &Shape) -> Vec<u8> {
    let kind = TYPES.iter().find(|(own, _)| *own == dtype).expect("every other dtype is cast").1;
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let sizes = if shape.rank() == 1 { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // A line end, after as many spaces as alignment takes.
    let length = (10 + text.len() + 1).next_multiple_of(ALIGNMENT) - 10;
    text += &" ".repeat(length - 1 - text.len());
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}
