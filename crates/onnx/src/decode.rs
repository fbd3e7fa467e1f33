//! A tensor of a file as an array: numbers from its fields, its raw bytes, or another file.
//!
//! Invariant: the number of elements is checked against the available bytes before memory is allocated, and no
//! file outside of the model's folder is opened.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use crate::array::{Array, Data};
use crate::error::OnnxError;
use crate::kind::{Class, Kind};
use crate::proto::{SparseTensorProto, TensorProto};

/// The most elements of a tensor, so that its size in bytes cannot overflow. Whether the bytes are present is
/// checked separately.
const MOST_ELEMENTS: usize = 1 << 40;
/// The most zero elements of a sparse tensor: this many in any case, or this many per nonzero element.
const MOST_ZEROS: (usize, usize) = (1 << 22, 1 << 12);

/// The folder of external files; `None` for a model that was read from bytes.
pub type Folder<'a> = Option<&'a Path>;

/// The tensor's kind and shape, and its elements as an array.
pub fn array(tensor: &TensorProto, folder: Folder) -> Result<Array, OnnxError> {
    let (kind, shape, count) = head(tensor)?;
    let data = match bytes(tensor, folder)? {
        Some(bytes) => from_bytes(tensor, kind, &bytes, count)?,
        None => from_fields(tensor, kind, count)?,
    };
    Ok(Array::new(kind, shape, data))
}

/// The tensor's bytes, as many as its shape needs, if it is stored that way: in the file itself or in another.
pub fn bytes<'a>(tensor: &'a TensorProto, folder: Folder) -> Result<Option<Cow<'a, [u8]>>, OnnxError> {
    let (kind, _, count) = head(tensor)?;
    let wanted = bytes_of(kind, count);
    let bytes: Cow<[u8]> = match &tensor.raw_data {
        _ if tensor.data_location == 1 => external_bytes(tensor, folder, wanted)?.into(),
        Some(bytes) => bytes.into(),
        None => return Ok(None),
    };
    check_length(tensor, bytes.len(), wanted)?;
    Ok(Some(bytes))
}

/// An array as a tensor of a file.
pub fn proto(name: &str, array: &Array) -> TensorProto {
    let dims = array.shape.iter().map(|&size| size as i64).collect();
    let mut tensor =
        TensorProto { dims, data_type: array.kind.number(), name: name.to_string(), ..Default::default() };
    match &array.data {
        Data::Text(texts) => {
            tensor.string_data = texts.iter().map(|text| text.clone().into_bytes()).collect()
        }
        Data::Int(data) => tensor.raw_data = Some(to_bytes(array.kind, data.iter().map(|&x| x as u64))),
        Data::Float(data) => {
            let kind = array.kind;
            tensor.raw_data = Some(to_bytes(kind, data.iter().map(|&x| kind.encode(x))));
        }
    }
    tensor
}

/// Sparse elements as a dense array.
pub fn dense(sparse: &SparseTensorProto, folder: Folder) -> Result<Array, OnnxError> {
    let (Some(values), Some(indices)) = (&sparse.values, &sparse.indices) else {
        return Err(wrong("", "a sparse tensor needs values and indices".to_string()));
    };
    let name = &values.name;
    let (values, indices) = (array(values, folder)?, array(indices, folder)?);
    let shape = sizes(name, &sparse.dims)?;
    let whole: usize = shape.iter().product();
    let places = indices.to_ints().map_err(|error| wrong(name, error.to_string()))?;
    let flat: Vec<usize> = if indices.shape.len() == 2 {
        if indices.shape[1] != shape.len() {
            return Err(wrong(name, format!("indices {:?} for shape {shape:?}", indices.shape)));
        }
        let fold = |row: &[i64]| {
            row.iter().zip(&shape).fold(0usize, |flat, (&at, &size)| {
                if (0..size as i64).contains(&at) {
                    flat.saturating_mul(size).saturating_add(at as usize)
                } else {
                    usize::MAX
                }
            })
        };
        places.chunks_exact(shape.len().max(1)).map(fold).collect()
    } else {
        places.iter().map(|&place| usize::try_from(place).unwrap_or(usize::MAX)).collect()
    };
    if flat.len() != values.len() || flat.iter().any(|&place| place >= whole) {
        return Err(wrong(
            name,
            format!("{} values for {} indices into {whole} elements", values.len(), flat.len()),
        ));
    }
    if whole > MOST_ZEROS.0.max(values.len().saturating_mul(MOST_ZEROS.1)) {
        return Err(wrong(name, format!("{whole} elements of which only {} are nonzero", values.len())));
    }
    let data = match &values.data {
        Data::Float(data) => Data::Float(placed(whole, &flat, data)),
        Data::Int(data) => Data::Int(placed(whole, &flat, data)),
        Data::Text(data) => Data::Text(placed(whole, &flat, data)),
    };
    Ok(Array::new(values.kind, shape, data))
}

/// Values at their indices, zeros elsewhere.
fn placed<T: Clone + Default>(whole: usize, places: &[usize], values: &[T]) -> Vec<T> {
    let mut all = vec![T::default(); whole];
    places.iter().zip(values).for_each(|(&place, value)| all[place] = value.clone());
    all
}

fn wrong(name: &str, what: String) -> OnnxError {
    OnnxError::Tensor { name: name.to_string(), what }
}

fn sizes(name: &str, dims: &[i64]) -> Result<Vec<usize>, OnnxError> {
    let mut product = 1usize;
    for &size in dims {
        let size =
            usize::try_from(size).map_err(|_| wrong(name, format!("a negative axis size: {dims:?}")))?;
        product = match product.checked_mul(size.max(1)) {
            Some(product) if product <= MOST_ELEMENTS => product,
            _ => return Err(wrong(name, format!("too many elements: {dims:?} (at most {MOST_ELEMENTS})"))),
        };
    }
    Ok(dims.iter().map(|&size| size as usize).collect())
}

/// Kind, shape and number of elements.
pub fn head(tensor: &TensorProto) -> Result<(Kind, Vec<usize>, usize), OnnxError> {
    let name = &tensor.name;
    let kind = Kind::of(tensor.data_type)
        .ok_or_else(|| wrong(name, format!("unknown element type {}", tensor.data_type)))?;
    let shape = sizes(name, &tensor.dims)?;
    let count = shape.iter().product();
    Ok((kind, shape, count))
}

fn bytes_of(kind: Kind, count: usize) -> usize {
    (count * kind.bits()).div_ceil(8)
}

fn check_length(tensor: &TensorProto, found: usize, wanted: usize) -> Result<(), OnnxError> {
    if found == wanted {
        return Ok(());
    }
    Err(wrong(
        &tensor.name,
        format!("shape {:?} does not match its bytes ({found} vs {wanted})", tensor.dims),
    ))
}

fn from_bytes(tensor: &TensorProto, kind: Kind, bytes: &[u8], count: usize) -> Result<Data, OnnxError> {
    let bits = kind.bits();
    let word = |place: usize| -> u64 {
        if bits < 8 {
            let per = 8 / bits;
            return u64::from(bytes[place / per]) >> (place % per * bits) & ((1 << bits) - 1);
        }
        let width = bits / 8;
        bytes[place * width..][..width].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
    };
    Ok(match kind.class() {
        Class::Float => Data::Float((0..count).map(|place| kind.decode(word(place))).collect()),
        Class::Int | Class::Bool => {
            Data::Int((0..count).map(|place| kind.wrap(word(place) as i64)).collect())
        }
        Class::Text => return Err(wrong(&tensor.name, "strings have no raw bytes".to_string())),
    })
}

fn to_bytes(kind: Kind, words: impl ExactSizeIterator<Item = u64>) -> Vec<u8> {
    let bits = kind.bits();
    let mut bytes = Vec::with_capacity(bytes_of(kind, words.len()));
    for (place, word) in words.enumerate() {
        if bits >= 8 {
            bytes.extend_from_slice(&word.to_le_bytes()[..bits / 8]);
        } else {
            let (per, low) = (8 / bits, word & ((1 << bits) - 1));
            if place % per == 0 {
                bytes.push(0);
            }
            if let Some(last) = bytes.last_mut() {
                *last |= (low << (place % per * bits)) as u8;
            }
        }
    }
    bytes
}

fn from_fields(tensor: &TensorProto, kind: Kind, count: usize) -> Result<Data, OnnxError> {
    let check = |found: usize| {
        if found == count {
            return Ok(());
        }
        Err(wrong(
            &tensor.name,
            format!("shape {:?} does not match its numbers ({found} vs {count})", tensor.dims),
        ))
    };
    if kind.bits() < 8 && kind != Kind::Text {
        // Several elements per number.
        let bytes: Vec<u8> = tensor.int32_data.iter().map(|&x| x as u8).collect();
        check_length(tensor, bytes.len(), bytes_of(kind, count))?;
        return from_bytes(tensor, kind, &bytes, count);
    }
    Ok(match kind {
        Kind::F32 => {
            check(tensor.float_data.len())?;
            Data::Float(tensor.float_data.iter().map(|&x| x as f64).collect())
        }
        Kind::F64 => {
            check(tensor.double_data.len())?;
            Data::Float(tensor.double_data.clone())
        }
        Kind::I64 => {
            check(tensor.int64_data.len())?;
            Data::Int(tensor.int64_data.clone())
        }
        Kind::U32 | Kind::U64 => {
            check(tensor.uint64_data.len())?;
            Data::Int(tensor.uint64_data.iter().map(|&x| kind.wrap(x as i64)).collect())
        }
        Kind::Text => {
            check(tensor.string_data.len())?;
            let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
            Data::Text(tensor.string_data.iter().map(text).collect())
        }
        kind => {
            check(tensor.int32_data.len())?;
            let mask = (1u64 << kind.bits()) - 1;
            if kind.is_float() {
                Data::Float(tensor.int32_data.iter().map(|&x| kind.decode(x as u64 & mask)).collect())
            } else {
                Data::Int(tensor.int32_data.iter().map(|&x| kind.wrap(x)).collect())
            }
        }
    })
}

/// The bytes of a tensor that are stored in another file of the model's folder.
fn external_bytes(tensor: &TensorProto, folder: Folder, wanted: usize) -> Result<Vec<u8>, OnnxError> {
    let entry =
        |key: &str| tensor.external_data.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
    let number = |key: &str| match entry(key) {
        None => Ok(None),
        Some(text) => text
            .trim()
            .parse::<u64>()
            .map(Some)
            .map_err(|_| wrong(&tensor.name, format!("{key} of external data is not a number: {text}"))),
    };
    let location =
        entry("location").ok_or_else(|| wrong(&tensor.name, "external data has no location".to_string()))?;
    let folder = folder.ok_or_else(|| {
        wrong(&tensor.name, "external data, but the model was read without a folder".to_string())
    })?;
    let inside =
        Path::new(location).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let path: PathBuf = folder.join(location);
    let fail = |what: String| OnnxError::External { name: tensor.name.clone(), path: path.clone(), what };
    if !inside || location.is_empty() {
        return Err(fail("external data must stay inside the model's folder".to_string()));
    }
    // A link could lead out of the folder, too.
    let (real, home) = (path.canonicalize(), folder.canonicalize());
    match (&real, &home) {
        (Ok(real), Ok(home)) if real.starts_with(home) => {}
        (Ok(_), Ok(_)) => return Err(fail("external data must stay inside the model's folder".to_string())),
        (Err(error), _) | (_, Err(error)) => return Err(fail(error.to_string())),
    }
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    let mut file = File::open(&path).map_err(|error| fail(error.to_string()))?;
    let size = file.metadata().map_err(|error| fail(error.to_string()))?.len();
    let length = length.unwrap_or(size.saturating_sub(offset));
    if length != wanted as u64 || offset.checked_add(length).is_none_or(|end| end > size) {
        return Err(fail(format!(
            "{length} bytes at {offset} of {size} do not match the shape ({length} vs {wanted})"
        )));
    }
    let mut bytes = vec![0; wanted];
    file.seek(SeekFrom::Start(offset)).map_err(|error| fail(error.to_string()))?;
    file.read_exact(&mut bytes).map_err(|error| fail(error.to_string()))?;
    Ok(bytes)
}

/// The elements of a file's tensor as numbers, whatever their type.
pub fn numbers(tensor: &TensorProto) -> crate::error::Result<Vec<f64>> {
    array(tensor, None)?.to_floats()
}
