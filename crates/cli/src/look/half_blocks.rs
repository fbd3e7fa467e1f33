//! Pictures in a terminal: two pixels per letter, one above the other.

use anstyle::{RgbColor, Style};
use farad::run::{Picture, Rgb};

use super::paint;

/// Pixels of a picture at most, across and down; of larger ones every second is shown, or fewer.
const MOST: (usize, usize) = (48, 32);

/// A picture as lines of letters: in its colors or, without them, in black and white.
pub fn half_blocks(picture: &Picture, colored: bool) -> String {
    let every = picture.width().div_ceil(MOST.0).max(picture.height().div_ceil(MOST.1)).max(1);
    let (width, height) = (picture.width().div_ceil(every), picture.height().div_ceil(every));
    let pixel = |x: usize, y: usize| (y < height).then(|| picture.pixel(x * every, y * every));
    let letter = |x: usize, y: usize| match colored {
        true => in_colors(pixel(x, y), pixel(x, y + 1)),
        false => in_ink(pixel(x, y), pixel(x, y + 1)).to_string(),
    };
    let line = |y: usize| (0..width).map(|x| letter(x, y)).collect::<String>();
    (0..height).step_by(2).map(line).collect::<Vec<_>>().join("\n")
}

fn in_colors(above: Option<Rgb>, below: Option<Rgb>) -> String {
    let color = |rgb: Rgb| RgbColor(rgb[0], rgb[1], rgb[2]).into();
    paint(Style::new().fg_color(above.map(color)).bg_color(below.map(color)), '▀')
}

/// What is dark is drawn, as on paper.
fn in_ink(above: Option<Rgb>, below: Option<Rgb>) -> char {
    let dark =
        |rgb: Option<Rgb>| rgb.is_some_and(|[r, g, b]| u32::from(r) + u32::from(g) + u32::from(b) < 384);
    match (dark(above), dark(below)) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> Picture {
        let cells = [true, false, true, true, true, false];
        Picture::from_bools(2, 3, &cells, [0; 3], [255; 3])
    }

    #[test]
    fn two_rows_are_a_line() {
        assert_eq!(half_blocks(&board(), false), "█▄\n▀ ");
        let colored = half_blocks(&board(), true);
        assert!(colored.contains("\x1b[38;2;0;0;0m\x1b[48;2;0;0;0m▀"), "{colored:?}");
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), "▀▀\n▀▀");
    }

    #[test]
    fn large_pictures_become_small() {
        let text = half_blocks(&Picture::filled(200, 100, [0; 3]), false);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= 16 && lines.iter().all(|line| line.chars().count() == 40), "{text}");
    }
}
