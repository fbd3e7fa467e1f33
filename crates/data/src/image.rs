//! Pictures from files: PNG and JPEG, as bytes `[channels, height, width]`.
//!
//! Invariant: sizes are looked at before anything is allocated for them.

use std::io::Cursor;
use std::path::Path;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::Array;
use super::file::{read_bounded, starts_with};
use crate::error::{Error, Result};

const OP: &str = "image";
/// A file of more bytes is not read.
const MOST_BYTES: u64 = 1 << 28;
/// Pixels of a picture at most.
const MOST_PIXELS: usize = 1 << 26;
/// Pixels that a byte of a PNG file can stand for at most: deflate makes 1032 bytes of one, with eight pixels each.
const PNG_RATIO: usize = 8 * 1032;
/// The same of a JPEG: every block of 64 pixels takes a bit at least.
const JPEG_RATIO: usize = 8 * 64;

/// What a picture is read as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Channels {
    /// Red, green and blue.
    #[default]
    Color,
    /// Brightness.
    Gray,
    /// Red, green and blue, and the opacity: 0 is invisible.
    Transparent,
}

/// Reads a PNG or JPEG file as bytes: `[3, height, width]`, `[1, height, width]` in gray, or `[4, height, width]` with
/// transparency, which the others leave out. Which kind of file it is, its first bytes say.
pub fn read_image(path: impl AsRef<Path>, wanted: Channels) -> Result<Array> {
    let path = path.as_ref();
    decode_image(path, &read_bounded(OP, path, MOST_BYTES)?, wanted)
}

/// The same of bytes that are in memory. Messages call them by the name.
pub fn decode_image(name: impl AsRef<Path>, bytes: &[u8], wanted: Channels) -> Result<Array> {
    let path = name.as_ref();
    let (width, height, interleaved) = match bytes {
        [0x89, b'P', b'N', b'G', ..] => decode_png(path, bytes)?,
        [0xff, 0xd8, ..] => decode_jpeg(path, bytes)?,
        _ => {
            let found = starts_with(&bytes[..bytes.len().min(4)]);
            return Err(Error::Foreign { op: OP, path: path.into(), wanted: "a PNG or JPEG file", found });
        }
    };
    let pixels = width * height;
    let channels = interleaved.len() / pixels.max(1);
    // One or three bytes of color, and perhaps one more.
    let colors = if channels < 3 { 1 } else { 3 };
    let at = |pixel: usize, channel: usize| match channel {
        3 if channels == colors => u8::MAX,
        3 => interleaved[pixel * channels + colors],
        color => interleaved[pixel * channels + color.min(colors - 1)],
    };
    if wanted == Channels::Gray {
        let light = |pixel: usize| match colors {
            1 => at(pixel, 0),
            // The weights of ITU-R 601, in thousandths.
            _ => {
                let [r, g, b] = [0, 1, 2].map(|channel| u32::from(at(pixel, channel)));
                ((299 * r + 587 * g + 114 * b + 500) / 1000) as u8
            }
        };
        return Ok(Array::new((0..pixels).map(light).collect::<Vec<u8>>(), [1, height, width]));
    }
    let count = if wanted == Channels::Transparent { 4 } else { 3 };
    let planes = (0..count).flat_map(|channel| (0..pixels).map(move |pixel| (pixel, channel)));
    let bytes: Vec<u8> = planes.map(|(pixel, channel)| at(pixel, channel)).collect();
    Ok(Array::new(bytes, [count, height, width]))
}

/// Width, height, and one to four bytes per pixel.
fn decode_png(path: &Path, bytes: &[u8]) -> Result<(usize, usize, Vec<u8>)> {
    let fail = |error: png::DecodingError| damaged(path, error.to_string());
    let mut decoder =
        png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: 4 * MOST_PIXELS });
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(fail)?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    check_size(path, width, height, bytes.len() * PNG_RATIO)?;
    let size = reader.output_buffer_size().ok_or_else(|| damaged(path, "its size overflows".into()))?;
    let mut pixels = vec![0; size];
    let frame = reader.next_frame(&mut pixels).map_err(fail)?;
    pixels.truncate(frame.buffer_size());
    match frame.color_type {
        png::ColorType::Indexed => Err(damaged(path, "its palette was not resolved".into())),
        _ => Ok((width, height, pixels)),
    }
}

fn decode_jpeg(path: &Path, bytes: &[u8]) -> Result<(usize, usize, Vec<u8>)> {
    let fail = |error: zune_jpeg::errors::DecodeErrors| damaged(path, error.to_string());
    // Without its end marker the file was cut; the decoder would fill up with gray.
    if !bytes.windows(2).rev().take(64).any(|pair| pair == [0xff, 0xd9]) {
        return Err(damaged(path, format!("it has no end: truncated after {} bytes", bytes.len())));
    }
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(fail)?;
    let info = decoder.info().ok_or_else(|| damaged(path, "it has no header".into()))?;
    let (width, height) = (usize::from(info.width), usize::from(info.height));
    check_size(path, width, height, bytes.len() * JPEG_RATIO)?;
    Ok((width, height, decoder.decode().map_err(fail)?))
}

/// Refuses sizes that no picture has, or none in a file of so many bytes.
fn check_size(path: &Path, width: usize, height: usize, most: usize) -> Result<()> {
    match width.checked_mul(height) {
        Some(pixels) if (1..=most.min(MOST_PIXELS)).contains(&pixels) => Ok(()),
        _ => Err(damaged(path, format!("absurd size: {width} × {height}"))),
    }
}

fn damaged(path: &Path, what: String) -> Error {
    Error::Damaged { op: OP, path: path.into(), place: String::new(), what }
}
