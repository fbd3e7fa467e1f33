//! Pictures of pixels: grids of cells as PNG files, sheets of them, and GIF animations.
//!
//! Invariant: what is written decodes to the same pixels (a GIF: as long as all frames together have
//! at most 256 colors). Start at [`Picture::from_bools`].

mod gif;
mod letters;

use std::path::Path;
use std::time::Duration;

use crate::error::{Result, TrainError};
use farad_tensor::engine::write_whole;

/// Red, green and blue.
pub type Rgb = [u8; 3];

const WHITE: Rgb = [255; 3];
const INK: Rgb = [0x22, 0x26, 0x2b];
/// What is still to come of a film.
const REST: Rgb = [0xd8, 0xdc, 0xe2];
/// The height of the line that shows it.
const STRIP: usize = 4;
/// What stands for a value that is not finite: nothing else has it.
const NOT_FINITE: Rgb = [255, 0, 255];

/// A picture of `width` × `height` pixels, row by row from the top.
///
/// ```
/// use farad::run::Picture;
/// let cells = [true, false, false, true];
/// let picture = Picture::from_bools(2, 2, &cells, [0; 3], [255; 3]).scaled(8);
/// assert_eq!((picture.width(), picture.height()), (16, 16));
/// assert_eq!(picture.pixel(15, 15), [0; 3]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

impl Picture {
    /// A picture of one color.
    pub fn filled(width: usize, height: usize, color: Rgb) -> Picture {
        Picture { width, height, bytes: color.repeat(width * height) }
    }

    /// A grid of cells, row by row: `on` where they are true.
    #[track_caller]
    pub fn from_bools(width: usize, height: usize, cells: &[bool], on: Rgb, off: Rgb) -> Picture {
        check(cells.len(), width, height, 1);
        let bytes = cells.iter().flat_map(|&cell| if cell { on } else { off }).collect();
        Picture { width, height, bytes }
    }

    /// A grid of numbers, row by row: 0 is black, 1 is white, what lies outside is clamped.
    #[track_caller]
    pub fn from_gray(width: usize, height: usize, values: &[f32]) -> Picture {
        check(values.len(), width, height, 1);
        let gray = |&v: &f32| if v.is_finite() { [level(v); 3] } else { NOT_FINITE };
        Picture { width, height, bytes: values.iter().flat_map(gray).collect() }
    }

    /// A grid of red, green and blue numbers `[height, width, 3]`, each from 0 to 1.
    #[track_caller]
    pub fn from_channels(width: usize, height: usize, values: &[f32]) -> Picture {
        check(values.len(), width, height, 3);
        let pixel = |v: &[f32]| match v.iter().all(|v| v.is_finite()) {
            true => [level(v[0]), level(v[1]), level(v[2])],
            false => NOT_FINITE,
        };
        Picture { width, height, bytes: values.chunks_exact(3).flat_map(pixel).collect() }
    }

    /// Pixels across.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pixels down.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Red, green, blue of every pixel, row by row.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The color of a pixel.
    #[track_caller]
    pub fn pixel(&self, x: usize, y: usize) -> Rgb {
        let (width, height) = (self.width, self.height);
        assert!(x < width && y < height, "picture: pixel outside: ({x}, {y}) in {width}×{height}");
        let at = (y * width + x) * 3;
        [self.bytes[at], self.bytes[at + 1], self.bytes[at + 2]]
    }

    /// Every pixel as a square of `times` × `times`.
    pub fn scaled(&self, times: usize) -> Picture {
        let mut bytes = Vec::with_capacity(self.bytes.len() * times * times);
        for row in self.bytes.chunks_exact((self.width * 3).max(1)) {
            let wide: Vec<u8> = row.chunks_exact(3).flat_map(|pixel| pixel.repeat(times)).collect();
            (0..times).for_each(|_| bytes.extend_from_slice(&wide));
        }
        Picture { width: self.width * times, height: self.height * times, bytes }
    }

    /// With a frame of a color around it.
    pub fn bordered(&self, thickness: usize, color: Rgb) -> Picture {
        let (width, height) = (self.width + 2 * thickness, self.height + 2 * thickness);
        let mut framed = Picture::filled(width, height, color);
        framed.paste(self, thickness, thickness);
        framed
    }

    /// With a short text below it, on white. Letters are drawn as capitals, `size` pixels a dot;
    /// what does not fit is left out.
    pub fn captioned(&self, text: &str, size: usize) -> Picture {
        let size = size.max(1);
        let mut picture = Picture::filled(self.width, self.height + (letters::HEIGHT + 3) * size, WHITE);
        picture.paste(self, 0, 0);
        let fits = (self.width / size + 1) / (letters::WIDTH + 1);
        for (index, letter) in whole_words(text, fits).chars().enumerate() {
            let (x, y) = (index * (letters::WIDTH + 1) * size, self.height + 2 * size);
            for (dx, dy) in letters::dots(letter) {
                picture.paste(&Picture::filled(size, size, INK), x + dx * size, y + dy * size);
            }
        }
        picture
    }

    /// With a strip below it that says how far a film is: words such as `step 3 of 20`, and a line as long as the share
    /// that has passed.
    pub fn with_progress(&self, words: &str, share: f64) -> Picture {
        let captioned = self.captioned(words, 2);
        let mut picture = Picture::filled(self.width, captioned.height + 2 * STRIP, WHITE);
        picture.paste(&captioned, 0, 0);
        let passed = (share.clamp(0.0, 1.0) * self.width as f64).round() as usize;
        picture.paste(&Picture::filled(self.width, STRIP, REST), 0, captioned.height);
        picture.paste(&Picture::filled(passed, STRIP, INK), 0, captioned.height);
        picture
    }

    /// Pictures side by side on white, with gaps between them.
    pub fn beside(pictures: &[Picture], gap: usize) -> Picture {
        Picture::sheet(pictures, pictures.len(), gap)
    }

    /// A contact sheet: pictures in rows of `columns` on white, with gaps between and around them.
    /// Every place is as large as the largest picture.
    pub fn sheet(pictures: &[Picture], columns: usize, gap: usize) -> Picture {
        let columns = columns.clamp(1, pictures.len().max(1));
        let rows = pictures.len().div_ceil(columns);
        let width = pictures.iter().map(|p| p.width).max().unwrap_or(0);
        let height = pictures.iter().map(|p| p.height).max().unwrap_or(0);
        let mut sheet = Picture::filled(gap + columns * (width + gap), gap + rows * (height + gap), WHITE);
        for (index, picture) in pictures.iter().enumerate() {
            let (x, y) = (gap + index % columns * (width + gap), gap + index / columns * (height + gap));
            sheet.paste(picture, x, y);
        }
        sheet
    }

    /// Lays another picture over this one; it must lie inside.
    fn paste(&mut self, other: &Picture, x: usize, y: usize) {
        for (row, line) in other.bytes.chunks_exact((other.width * 3).max(1)).enumerate() {
            let at = ((y + row) * self.width + x) * 3;
            self.bytes[at..at + line.len()].copy_from_slice(line);
        }
    }

    /// Writes a PNG file, whole or not at all.
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let fail = |e: png::EncodingError| TrainError::Picture { path: path.into(), message: e.to_string() };
        write_whole("picture", path, &self.encoded().map_err(fail)?)
    }

    /// The bytes of a PNG file, for pictures inside drawings.
    #[track_caller]
    pub fn png(&self) -> Vec<u8> {
        let (width, height) = (self.width, self.height);
        self.encoded().unwrap_or_else(|e| panic!("picture: no file for {width}×{height}: {e}"))
    }

    fn encoded(&self) -> std::result::Result<Vec<u8>, png::EncodingError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.bytes)?;
        writer.finish()?;
        Ok(bytes)
    }

    /// Writes a GIF file that shows the frames over and over, each for `delay`. All frames have one
    /// size, and together 256 colors: if there are more, the lowest bits of colors are dropped.
    #[track_caller]
    pub fn write_gif(path: impl AsRef<Path>, frames: &[Picture], delay: Duration) -> Result<()> {
        Picture::write_film(path, frames, delay, delay)
    }

    /// The same, with the last frame shown for longer.
    #[track_caller]
    pub fn write_film(
        path: impl AsRef<Path>,
        frames: &[Picture],
        delay: Duration,
        last: Duration,
    ) -> Result<()> {
        let path = path.as_ref();
        let Some(first) = frames.first() else {
            panic!("picture: an animation has frames (0 vs at least 1)")
        };
        for frame in frames {
            let sizes = (frame.width, frame.height, first.width, first.height);
            let (a, b, c, d) = sizes;
            assert!((a, b) == (c, d), "picture: frames differ in size: {a}×{b} and {c}×{d}");
        }
        let bytes = gif::encode(first.width, first.height, frames, delay, last);
        let fail = |message| TrainError::Picture { path: path.into(), message };
        write_whole("picture", path, &bytes.map_err(fail)?)
    }
}

/// As many words as there is room for; of a first word that is too long, its beginning.
fn whole_words(text: &str, letters: usize) -> String {
    let mut kept = String::new();
    for word in text.split(' ') {
        let length = kept.chars().count() + usize::from(!kept.is_empty()) + word.chars().count();
        if length > letters {
            break;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept += word;
    }
    if kept.is_empty() { text.chars().take(letters).collect() } else { kept }
}

#[track_caller]
fn check(got: usize, width: usize, height: usize, channels: usize) {
    let wanted = width * height * channels;
    assert!(got == wanted, "picture: values do not fill {width}×{height}: ({got} vs {wanted})");
}

/// A brightness from 0 to 1 as a byte.
fn level(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}
