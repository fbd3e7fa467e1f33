//! A film of an automaton that heals: from noise to order, damage, and order again, with its circuit beside it. One SVG file
//! that moves by itself in browsers and on web pages.

use std::fmt::Write;

use farad::run::{Rgb, base64};
use farad_circuit::{Automaton, Drawing, Grid};
use farad_logic::report::frame;

/// The side of the grid in the film.
const SIDE: f64 = 300.0;
/// The space around things.
const GAP: f64 = 20.0;
/// The space for words below the grid.
const WORDS: f64 = 34.0;
/// Seconds for which a frame is shown.
const FRAME: f64 = 0.16;
/// Frames for which the start, the order, the damage and the end stay.
const STAYS: usize = 8;

/// A frame: what it shows, and for how many frames it stays.
struct FilmFrame {
    png: Vec<u8>,
    words: String,
    stays: usize,
}

/// Makes steps, sets a block in the middle to zero, and makes as many steps again; the film of it.
pub fn healing(automaton: &Automaton, grid: &mut Grid, steps: usize, colors: &[Rgb]) -> String {
    let shot = |grid: &Grid, words: String, stays: usize| {
        let png = frame(grid, automaton.visible.len(), colors).png();
        FilmFrame { png, words, stays }
    };
    let mut frames = vec![shot(grid, "noise".into(), STAYS)];
    let (width, height) = (grid.width(), grid.height());
    for part in ["step", "healing, step"] {
        if part != "step" {
            let (across, down) = ((width / 3).max(1), (height / 3).max(1));
            grid.damage((width - across) / 2, (height - down) / 2, across, down);
            frames.push(shot(grid, "damage".into(), STAYS));
        }
        for step in 1..=steps {
            grid.step();
            let stays = if step == steps { 2 * STAYS } else { 1 };
            frames.push(shot(grid, format!("{part} {step}"), stays));
        }
    }
    let circuit = Drawing::new("The circuit of a cell").automaton("simplified", automaton).svg();
    svg(&frames, height as f64 / width as f64, &circuit)
}

fn svg(frames: &[FilmFrame], ratio: f64, circuit: &str) -> String {
    let down = SIDE * ratio;
    let (wide, high) = size(circuit);
    let (width, height) = (SIDE + 2.0 * GAP + wide, (down + 2.0 * GAP + WORDS).max(high));
    let all = frames.iter().map(|frame| frame.stays).sum::<usize>();
    let mut film = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"Helvetica, Arial, sans-serif\">\n<title>An automaton that heals, and its circuit</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    let mut at = 0;
    for (n, frame) in frames.iter().enumerate() {
        let (from, to) = (at as f64 / all as f64, (at + frame.stays) as f64 / all as f64);
        let seconds = all as f64 * FRAME;
        // Where nothing moves, the last frame is seen.
        let still = if n + 1 == frames.len() { 1 } else { 0 };
        let (values, times) = match n {
            0 => ("1;0".to_string(), format!("0;{to:.5}")),
            _ if n + 1 == frames.len() => ("0;1".to_string(), format!("0;{from:.5}")),
            _ => ("0;1;0".to_string(), format!("0;{from:.5};{to:.5}")),
        };
        let _ = writeln!(
            film,
            "<g opacity=\"{still}\"><animate attributeName=\"opacity\" calcMode=\"discrete\" values=\"{values}\" \
             keyTimes=\"{times}\" dur=\"{seconds:.2}s\" repeatCount=\"indefinite\"/>\
             <image x=\"{GAP}\" y=\"{GAP}\" width=\"{SIDE}\" height=\"{down}\" style=\"image-rendering:pixelated\" \
             href=\"data:image/png;base64,{}\"/><text x=\"{GAP}\" y=\"{}\" font-size=\"16\" fill=\"#1c2026\">{}</text></g>",
            base64(&frame.png),
            down + GAP + 24.0,
            frame.words
        );
        at += frame.stays;
    }
    let beside = format!("<svg x=\"{}\" y=\"0\" ", SIDE + 2.0 * GAP);
    film + &circuit.replacen("<svg ", &beside, 1) + "</svg>\n"
}

/// Width and height of a drawing, as it says them.
fn size(svg: &str) -> (f64, f64) {
    let number = |name: &str| {
        let after = svg.split_once(&format!(" {name}=\"")).map_or("", |parts| parts.1);
        after.split('"').next().and_then(|text| text.parse().ok()).unwrap_or(0.0)
    };
    (number("width"), number("height"))
}
