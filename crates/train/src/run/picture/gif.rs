//! GIF animations with one palette for all frames.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Picture, Rgb};

const MOST_COLORS: usize = 256;

/// The bytes of an animation that repeats for ever, or why there is none.
pub fn encode(
    width: usize,
    height: usize,
    frames: &[Picture],
    delay: Duration,
    last: Duration,
) -> Result<Vec<u8>, String> {
    let side = |pixels: usize| {
        u16::try_from(pixels).map_err(|_| format!("side too long: ({pixels} vs at most {})", u16::MAX))
    };
    let (width, height) = (side(width)?, side(height)?);
    let (drop, palette) = palette(frames);
    let colors: Vec<u8> = palette.keys().flatten().copied().collect();
    let fail = |e: gif::EncodingError| e.to_string();
    let mut bytes = Vec::new();
    let mut encoder = gif::Encoder::new(&mut bytes, width, height, &colors).map_err(fail)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(fail)?;
    // Hundredths of a second; most viewers take one below two as ten.
    let hundredths = |time: Duration| (time.as_millis() / 10).clamp(2, u16::MAX as u128) as u16;
    for (n, frame) in frames.iter().enumerate() {
        let delay = hundredths(if n + 1 == frames.len() { last } else { delay });
        let buffer = numbers(frame, drop, &palette).into();
        let frame = gif::Frame { delay, width, height, buffer, ..gif::Frame::default() };
        encoder.write_frame(&frame).map_err(fail)?;
    }
    // Writes the end, with an error where dropping would have none.
    encoder.into_inner().map_err(fail)?;
    Ok(bytes)
}

/// The number of every pixel's color.
fn numbers(frame: &Picture, drop: u32, palette: &BTreeMap<Rgb, u8>) -> Vec<u8> {
    let mut last: (Option<&[u8]>, u8) = (None, 0);
    let number = |pixel| {
        // Neighbors are often equal.
        if last.0 != Some(pixel) {
            last = (Some(pixel), palette[&coarse(pixel, drop)]);
        }
        last.1
    };
    frame.bytes.chunks_exact(3).map(number).collect()
}

/// How many low bits to drop so that all colors fit, and the colors with their numbers.
fn palette(frames: &[Picture]) -> (u32, BTreeMap<Rgb, u8>) {
    for drop in 0..8 {
        if let Some(palette) = palette_without(frames, drop) {
            return (drop, palette);
        }
    }
    unreachable!("one bit a channel is eight colors")
}

fn palette_without(frames: &[Picture], drop: u32) -> Option<BTreeMap<Rgb, u8>> {
    let mut palette = BTreeMap::new();
    let mut last = None;
    for pixel in frames.iter().flat_map(|frame| frame.bytes.chunks_exact(3)) {
        // Neighbors are often equal.
        if last == Some(pixel) {
            continue;
        }
        last = Some(pixel);
        palette.insert(coarse(pixel, drop), 0);
        if palette.len() > MOST_COLORS {
            return None;
        }
    }
    palette.values_mut().enumerate().for_each(|(number, value)| *value = number as u8);
    Some(palette)
}

/// The color with its lowest bits dropped, such that black stays black and white stays white.
fn coarse(pixel: &[u8], drop: u32) -> Rgb {
    let highest = (255u32 >> drop).max(1);
    let round = |v: u8| ((v as u32 >> drop) * 255 / highest) as u8;
    [round(pixel[0]), round(pixel[1]), round(pixel[2])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_colors_become_few_enough() {
        let noise = |i: usize| ((i * 2_654_435_761) >> 7) as u8;
        let picture = Picture { width: 64, height: 64, bytes: (0..64 * 64 * 3).map(noise).collect() };
        let (drop, palette) = palette(&[picture]);
        assert!(drop > 0 && palette.len() <= MOST_COLORS && palette.len() > 30, "{drop} {}", palette.len());
        assert_eq!(coarse(&[255, 0, 255], drop), [255, 0, 255]);
    }
}
