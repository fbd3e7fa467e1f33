//! Pictures in few colors, as automata grow them: a cell shows the number of its color, in as many visible
//! channels as that number has bits.
//!
//! Invariant: an empty cell shows 0. That is the transparent color, or otherwise the most frequent one.

use farad::data::{Channels, Elements, read_image};
use farad::run::{Rgb, Table};
use farad_circuit::Meta;

use crate::error::{Error, Result};

/// Most cells along a side.
const MOST_CELLS: usize = 64;
/// Most colors, not counting transparency.
const MOST_COLORS: usize = 16;
/// The color of an empty cell if the picture has transparency.
const NOTHING: Rgb = [240, 240, 236];
/// Pixels less opaque than this are empty.
const OPAQUE: u8 = 128;

/// A picture in few colors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedImage {
    width: usize,
    height: usize,
    /// The colors by number.
    colors: Vec<Rgb>,
    /// A number for every cell, row by row.
    codes: Vec<u8>,
}

impl IndexedImage {
    /// From a PNG or JPEG file, one pixel per cell.
    pub fn read(path: &str) -> Result<IndexedImage> {
        let image = read_image(path, Channels::Transparent)?;
        let (height, width) = (image.shape()[1], image.shape()[2]);
        if width.max(height) > MOST_CELLS {
            return Err(Error::LargePicture { path: path.into(), width, height, most: MOST_CELLS });
        }
        let Elements::U8(bytes) = image.elements() else { unreachable!("pictures are bytes") };
        let plane = |channel: usize, cell: usize| bytes[channel * width * height + cell];
        let pixel =
            |cell: usize| (plane(3, cell) >= OPAQUE).then(|| [0, 1, 2].map(|channel| plane(channel, cell)));
        let pixels: Vec<Option<Rgb>> = (0..width * height).map(pixel).collect();
        IndexedImage::of(width, height, &pixels).map_err(|colors| {
            let most = MOST_COLORS;
            match colors {
                0 => Error::EmptyPicture { path: path.into() },
                colors => Error::ColorfulPicture { path: path.into(), colors, most },
            }
        })
    }

    /// From the color of each cell; `None` for an empty one. Fails with the number of colors if there are too
    /// many, or too few.
    fn of(width: usize, height: usize, pixels: &[Option<Rgb>]) -> std::result::Result<IndexedImage, usize> {
        let mut counts: Vec<(Rgb, usize)> = Vec::new();
        for color in pixels.iter().flatten() {
            match counts.iter_mut().find(|(known, _)| known == color) {
                Some((_, count)) => *count += 1,
                None => counts.push((*color, 1)),
            }
        }
        let empty = pixels.contains(&None);
        // With a single color there is nothing to learn.
        if counts.len() > MOST_COLORS || counts.len() + usize::from(empty) < 2 {
            return Err(if counts.len() > MOST_COLORS { counts.len() } else { 0 });
        }
        counts.sort_by_key(|&(color, count)| (std::cmp::Reverse(count), color));
        let colors: Vec<Rgb> =
            empty.then_some(NOTHING).into_iter().chain(counts.iter().map(|&(color, _)| color)).collect();
        let first = usize::from(empty);
        let code = |pixel: &Option<Rgb>| match pixel {
            Some(color) => counts.iter().position(|(known, _)| known == color).map_or(0, |n| n + first),
            None => 0,
        };
        let codes = pixels.iter().map(|pixel| code(pixel) as u8).collect();
        Ok(IndexedImage { width, height, colors, codes })
    }

    /// Cells from left to right.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Cells from top to bottom.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The colors of the numbers that cells show.
    pub fn colors(&self) -> &[Rgb] {
        &self.colors
    }

    /// Visible channels that it needs.
    pub fn bits(&self) -> usize {
        (usize::BITS - (self.colors.len() - 1).leading_zeros()) as usize
    }

    /// The visible channel of a cell on a grid of (height, width) with the drawing in its center.
    pub fn centered(&self, channel: usize, y: usize, x: usize, height: usize, width: usize) -> bool {
        let (top, left) = (height.saturating_sub(self.height) / 2, width.saturating_sub(self.width) / 2);
        let inside = y.checked_sub(top).zip(x.checked_sub(left));
        inside.is_some_and(|(y, x)| y < self.height && x < self.width && self.bit(channel, y, x))
    }

    /// The same with the drawing as a tile, repeated from the upper left.
    pub fn tiled(&self, channel: usize, y: usize, x: usize) -> bool {
        self.bit(channel, y % self.height, x % self.width)
    }

    fn bit(&self, channel: usize, y: usize, x: usize) -> bool {
        self.codes[y * self.width + x] >> channel & 1 == 1
    }

    /// As stored in a configuration: colors, and one character per cell.
    pub fn table(&self) -> Table {
        let digit = |&code: &u8| char::from_digit(code.into(), 36).unwrap_or('?');
        let rows = self.codes.chunks(self.width).map(|row| row.iter().map(digit).collect::<String>());
        let rows: Vec<String> = rows.collect();
        [("colors".to_string(), names(&self.colors).into()), ("rows".to_string(), rows.into())]
            .into_iter()
            .collect()
    }

    /// From the result of [`IndexedImage::table`].
    pub fn from_table(table: &Table) -> Option<IndexedImage> {
        let texts = |key: &str| {
            table.get(key)?.as_array()?.iter().map(|text| text.as_str()).collect::<Option<Vec<&str>>>()
        };
        let (colors, rows) = (texts("colors")?, texts("rows")?);
        let colors: Vec<Rgb> = colors.into_iter().map(color).collect::<Option<_>>()?;
        let code = |digit: char| digit.to_digit(36).filter(|&code| (code as usize) < colors.len());
        let codes: Vec<u8> =
            rows.iter().flat_map(|row| row.chars()).map(|c| Some(code(c)? as u8)).collect::<Option<_>>()?;
        let (width, height) = (rows.first()?.len(), rows.len());
        let whole = rows.iter().all(|row| row.len() == width) && width > 0 && colors.len() > 1;
        (whole && width.max(height) <= MOST_CELLS).then_some(IndexedImage { width, height, colors, codes })
    }
}

/// Colors as `#rrggbb`.
pub fn names(colors: &[Rgb]) -> Vec<String> {
    colors.iter().map(|[r, g, b]| format!("#{r:02x}{g:02x}{b:02x}")).collect()
}

/// The colors in the metadata of an exported automaton; empty if its channels are light.
pub fn palette(meta: &Meta) -> Vec<Rgb> {
    let names = meta.get("palette").and_then(|names| names.as_array());
    names.into_iter().flatten().filter_map(|name| color(name.as_str()?)).collect()
}

fn color(name: &str) -> Option<Rgb> {
    let number = u32::from_str_radix(name.strip_prefix('#').filter(|digits| digits.len() == 6)?, 16).ok()?;
    Some([16, 8, 0].map(|shift| (number >> shift) as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Rgb = [200, 10, 20];
    const BLUE: Rgb = [0, 0, 255];

    #[test]
    fn what_is_transparent_is_empty() {
        let drawing = IndexedImage::of(2, 2, &[None, Some(RED), Some(BLUE), Some(BLUE)]).unwrap();
        assert_eq!((drawing.codes.as_slice(), drawing.bits()), (&[0, 2, 1, 1][..], 2));
        assert_eq!(drawing.colors, [NOTHING, BLUE, RED]);
        assert_eq!(IndexedImage::from_table(&drawing.table()), Some(drawing.clone()));
        assert!(drawing.centered(1, 1, 2, 4, 4) && !drawing.centered(1, 0, 1, 4, 4));
        assert!(drawing.tiled(0, 3, 5) && !drawing.tiled(0, 2, 4));
    }

    #[test]
    fn the_most_frequent_color_is_empty_where_nothing_is_transparent() {
        let drawing = IndexedImage::of(3, 1, &[Some(BLUE), Some(RED), Some(RED)]).unwrap();
        assert_eq!((drawing.codes.as_slice(), drawing.bits()), (&[1, 0, 0][..], 1));
    }

    #[test]
    fn too_many_colors_and_none_at_all_are_refused() {
        let many: Vec<Option<Rgb>> = (0..17).map(|n| Some([n, 0, 0])).collect();
        assert_eq!(IndexedImage::of(17, 1, &many), Err(17));
        assert!(IndexedImage::of(16, 1, &many[1..]).is_ok_and(|drawing| drawing.bits() == 4));
        assert_eq!(IndexedImage::of(2, 1, &[Some(RED); 2]), Err(0));
        assert_eq!(IndexedImage::of(2, 1, &[None; 2]), Err(0));
    }

    #[test]
    fn tables_that_make_no_sense_are_not_read() {
        let table = |colors: &[&str], rows: &[&str]| {
            let texts =
                |all: &[&str]| all.iter().map(|text| toml::Value::from(*text)).collect::<Vec<_>>().into();
            [("colors".to_string(), texts(colors)), ("rows".to_string(), texts(rows))].into_iter().collect()
        };
        assert!(IndexedImage::from_table(&table(&["#000000", "#ffffff"], &["01", "10"])).is_some());
        assert!(IndexedImage::from_table(&table(&["#000000", "#ffffff"], &["01", "1"])).is_none());
        assert!(IndexedImage::from_table(&table(&["#000000", "#ffffff"], &["02", "10"])).is_none());
        assert!(IndexedImage::from_table(&table(&["#000000", "white"], &["01", "10"])).is_none());
    }
}
