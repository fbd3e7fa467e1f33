//! Drawings for dark pages.
//!
//! Charts and circuits are drawn on white. Invariant: only colors change. Light and dark are exchanged and hues stay, so
//! what differed still differs, and pixel images inside of a drawing stay as they are. Start at [`dark`].

/// Red, green and blue.
type Levels = [u8; 3];

/// What white paper becomes: the color of cards on the dark page (`--card` in `page/style.css`).
const PAPER: Levels = [0x17, 0x19, 0x1f];
/// The lightness of what was black, and how much less that of what was nearly white is.
const LIGHTEST: f64 = 0.95;
const RANGE: f64 = 0.84;
/// Light colors on a dark page glare where they are as saturated as dark ones on a light page.
const MILDER: f64 = 0.8;

/// A drawing of `farad-chart` for a dark page.
pub fn dark(svg: &str) -> String {
    let mut made = String::with_capacity(svg.len());
    let mut rest = svg;
    // A color is a whole attribute; a quote in a text is written as an entity.
    while let Some(at) = rest.find("\"#") {
        let (before, after) = rest.split_at(at + 1);
        made += before;
        rest = match color(after) {
            Some(color) => {
                let [r, g, b] = darkened(color);
                made += &format!("#{r:02x}{g:02x}{b:02x}");
                &after[7..]
            }
            None => {
                made.push('#');
                &after[1..]
            }
        };
    }
    made + rest
}

/// The color that a text begins with, up to the quote: `#rrggbb"`.
fn color(text: &str) -> Option<Levels> {
    let digits = text.get(1..7).filter(|digits| digits.is_ascii() && text[7..].starts_with('"'))?;
    let level = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some([level(0)?, level(2)?, level(4)?])
}

/// A color with the opposite lightness and the same hue.
fn darkened(color: Levels) -> Levels {
    if color == [255; 3] {
        return PAPER;
    }
    let levels = color.map(|level| f64::from(level) / 255.0);
    let low = levels.iter().copied().fold(1.0, f64::min);
    let high = levels.iter().copied().fold(0.0, f64::max);
    let (middle, spread) = ((low + high) / 2.0, high - low);
    // How far the levels of a color of this lightness can be apart: saturation is measured by it.
    let room = |lightness: f64| 1.0 - (2.0 * lightness - 1.0).abs();
    let lightness = LIGHTEST - RANGE * middle;
    let scale = if spread > 0.0 { MILDER * room(lightness) / room(middle) } else { 0.0 };
    levels.map(|level| (255.0 * (lightness + (level - middle) * scale)).round().clamp(0.0, 255.0) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_and_dark_are_exchanged_and_hues_stay() {
        let svg =
            "<a fill=\"#ffffff\" b=\"#fff\" c=\"#zzzzzz\" d=\"#12345é\">\"#</a><i href=\"data:#ffffff\"/>";
        assert_eq!(dark(svg), svg.replacen("#ffffff", "#17191f", 1));
        assert!(include_str!("page/style.css").contains("--card: #17191f;"));
        let brightness = |color: Levels| color.iter().map(|&level| u32::from(level)).sum::<u32>();
        let (ink, grid, tint) =
            (darkened([0x1c, 0x20, 0x26]), darkened([0xe3, 0xe6, 0xea]), darkened([0xe5, 0xf1, 0xf7]));
        assert!(
            brightness(ink) > 540 && brightness(grid) < 180 && brightness(tint) < 180,
            "{ink:?} {grid:?} {tint:?}"
        );
        let [r, g, b] = darkened([0x00, 0x72, 0xb2]);
        assert!(b > g && g > r && b > 0xb2, "blue stays blue: {r} {g} {b}");
        let [r, g, b] = darkened([0x4d; 3]);
        assert!(r == g && g == b && r > 0x80);
    }
}
