//! The picture of an archive: its cells, shaded by how far their creatures get ahead.
//!
//! Of more than two axes, the first two are shown, and the best creature of all cells behind a square.

use farad_chart::palette::{AXIS, COLORS, FAINT_INK, GRID, INK, MARGIN, SMALL, TEXT, TITLE};
use farad_chart::{Anchor, Canvas, count, number};

use super::archive::{Archive, ArchiveAxis, Elite};
use super::descriptors::DescriptorRow;

/// The side of the whole map.
const SIDE: f64 = 480.0;
const LEFT: f64 = 72.0;

/// The best creature of every square of the first two axes.
fn squares(archive: &Archive) -> Vec<((usize, usize), &Elite)> {
    let place = |elite: &Elite| (elite.cell[0], elite.cell.get(1).copied().unwrap_or(0));
    let mut best: Vec<((usize, usize), &Elite)> = vec![];
    for elite in archive.ranked() {
        if !best.iter().any(|(known, _)| *known == place(elite)) {
            best.push((place(elite), elite));
        }
    }
    best
}

fn name(axis: &ArchiveAxis) -> &str {
    DescriptorRow::named(&axis.name).map_or(&axis.name, |row| row.about)
}

/// The map of an archive as the text of an SVG file.
pub(super) fn map(archive: &Archive, about: &str) -> String {
    let title = "Archive: how far the best of every cell gets ahead";
    let squares = squares(archive);
    let words = format!("{} of {} cells are filled", count(archive.cells.len()), count(archive.size()));
    let mut canvas = Canvas::new(title, &format!("{words}. {about}"));
    let top = MARGIN + 14.0;
    canvas.bold((MARGIN, top), title, TITLE, INK, Anchor::Start);
    canvas.text((MARGIN, top + 20.0), about, TEXT, FAINT_INK, Anchor::Start);
    let top = top + 40.0;
    let across = &archive.axes[0];
    let rows = archive.axes.get(1).map_or(1, |axis| axis.bins);
    let (wide, high) = (SIDE / across.bins as f64, if rows == 1 { 40.0 } else { SIDE / rows as f64 });
    let bottom = top + high * rows as f64;
    canvas.rectangle((LEFT, top), (SIDE, bottom - top), GRID.tint(0.4));
    let best = archive.best().max(1e-9);
    for ((x, y), elite) in &squares {
        let corner = (LEFT + *x as f64 * wide, bottom - (*y + 1) as f64 * high);
        canvas.open_named(&format!("{} m, generation {}", number(elite.fitness), elite.generation));
        canvas.rectangle(corner, (wide, high), shade(elite.fitness / best));
        canvas.close();
    }
    canvas.outline((LEFT, top), (SIDE, bottom - top), AXIS, 1.0);
    ticks(&mut canvas, archive, (top, bottom));
    // The legend of the shades.
    let x = LEFT + SIDE + 24.0;
    for n in 0..=4 {
        let share = 1.0 - f64::from(n) / 4.0;
        let y = top + f64::from(n) * 22.0;
        canvas.rectangle((x, y), (16.0, 16.0), shade(share));
        let words = format!("{} m", number((best * share * 100.0).round() / 100.0));
        canvas.text((x + 24.0, y + 12.5), &words, SMALL, FAINT_INK, Anchor::Start);
    }
    canvas.text((x, top + 130.0), &words, SMALL, FAINT_INK, Anchor::Start);
    canvas.svg(LEFT + SIDE + 190.0, bottom + 56.0)
}

/// The shade of a share of the best.
fn shade(share: f64) -> farad_chart::Color {
    COLORS[0].tint(0.12 + 0.88 * share.clamp(0.0, 1.0))
}

fn ticks(canvas: &mut Canvas, archive: &Archive, (top, bottom): (f64, f64)) {
    let across = &archive.axes[0];
    for n in 0..=4 {
        let share = f64::from(n) / 4.0;
        let value = across.low + share * (across.high - across.low);
        let label = number((value * 100.0).round() / 100.0);
        canvas.text((LEFT + share * SIDE, bottom + 18.0), &label, SMALL, FAINT_INK, Anchor::Middle);
    }
    canvas.text((LEFT + SIDE / 2.0, bottom + 40.0), name(across), TEXT, INK, Anchor::Middle);
    let Some(upward) = archive.axes.get(1) else { return };
    for n in 0..=4 {
        let share = f64::from(n) / 4.0;
        let value = upward.low + share * (upward.high - upward.low);
        let label = number((value * 100.0).round() / 100.0);
        let y = bottom - share * (bottom - top) + 4.0;
        canvas.text((LEFT - 8.0, y), &label, SMALL, FAINT_INK, Anchor::End);
    }
    canvas.upright((MARGIN, (top + bottom) / 2.0), name(upward), TEXT, INK);
}
