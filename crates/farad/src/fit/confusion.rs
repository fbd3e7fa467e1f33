//! Which classes are taken for which.

use crate::run::{Colour, Picture};

/// Counts of samples by their class and by the class that a model saw.
///
/// ```
/// use farad::fit::Confusion;
/// let mut confusion = Confusion::new(2);
/// confusion.add(0, 0);
/// confusion.add(1, 0);
/// assert_eq!((confusion.accuracy(), confusion.count(1, 0)), (0.5, 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    classes: usize,
    counts: Vec<u64>,
}

impl Confusion {
    /// No samples yet.
    pub fn new(classes: usize) -> Confusion {
        Confusion { classes, counts: vec![0; classes * classes] }
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Counts a sample.
    pub fn add(&mut self, actual: usize, seen: usize) {
        self.counts[actual * self.classes + seen] += 1;
    }

    /// Samples of one class that were taken for another, or for itself.
    pub fn count(&self, actual: usize, seen: usize) -> u64 {
        self.counts[actual * self.classes + seen]
    }

    /// The share of all samples that were seen right.
    pub fn accuracy(&self) -> f64 {
        let right: u64 = (0..self.classes).map(|class| self.count(class, class)).sum();
        right as f64 / self.counts.iter().sum::<u64>().max(1) as f64
    }

    /// Of a class's samples, the share that was seen right.
    pub fn recall(&self, class: usize) -> f64 {
        let all: u64 = (0..self.classes).map(|seen| self.count(class, seen)).sum();
        self.count(class, class) as f64 / all.max(1) as f64
    }

    /// Of the samples seen as a class, the share that was of it.
    pub fn precision(&self, class: usize) -> f64 {
        let all: u64 = (0..self.classes).map(|actual| self.count(actual, class)).sum();
        self.count(class, class) as f64 / all.max(1) as f64
    }

    /// A table in Markdown: a row a class, a column a class seen.
    pub fn table(&self, names: &[String]) -> String {
        let name = |class: usize| names.get(class).map_or(class.to_string(), |name| name.replace('|', "/"));
        let mut text = String::from("| is \\ seen as |");
        (0..self.classes).for_each(|class| text += &format!(" {} |", name(class)));
        text += " recall | precision |\n|---|";
        text += &"---:|".repeat(self.classes + 2);
        for actual in 0..self.classes {
            text += &format!("\n| {} |", name(actual));
            (0..self.classes).for_each(|seen| text += &format!(" {} |", self.count(actual, seen)));
            let percent = |share: f64| format!(" {:.1} % |", 100.0 * share);
            text += &percent(self.recall(actual));
            text += &percent(self.precision(actual));
        }
        text.push('\n');
        text
    }

    /// A picture: a row a class, a column a class seen, blue what is right and red what is wrong, by their share of the
    /// row.
    pub fn picture(&self, names: &[String]) -> Picture {
        let blank = Picture::filled(CELL, CELL, [255; 3]);
        let name = |class: usize| names.get(class).cloned().unwrap_or(class.to_string());
        let mut cells = vec![blank.captioned("is seen", 1)];
        cells.extend((0..self.classes).map(|class| blank.captioned(&name(class), 1)));
        for actual in 0..self.classes {
            cells.push(blank.captioned(&name(actual), 1));
            let all: u64 = (0..self.classes).map(|seen| self.count(actual, seen)).sum();
            for seen in 0..self.classes {
                let share = self.count(actual, seen) as f32 / all.max(1) as f32;
                // Few mistakes among many samples should be seen, so shares are drawn as their roots.
                let full = if actual == seen { RIGHT } else { WRONG };
                let colour = full.map(|level| (255.0 - (255.0 - f32::from(level)) * share.sqrt()) as u8);
                cells.push(
                    Picture::filled(CELL, CELL, colour).captioned(&self.count(actual, seen).to_string(), 1),
                );
            }
        }
        Picture::sheet(&cells, self.classes + 1, 2)
    }
}

/// Pixels along a side of a cell.
const CELL: usize = 32;
const RIGHT: Colour = [38, 84, 160];
const WRONG: Colour = [190, 40, 40];
