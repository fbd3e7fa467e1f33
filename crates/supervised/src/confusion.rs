//! Which classes are taken for which.

use farad_train::run::{Matrix, count, visible};

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

    /// All counts, by class and by class seen.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Replaces all counts.
    pub(crate) fn set_counts(&mut self, counts: impl Iterator<Item = u64>) {
        self.counts = counts.collect();
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

    /// The harmonic mean of recall and precision of a class.
    pub fn f1(&self, class: usize) -> f64 {
        let sum = self.recall(class) + self.precision(class);
        if sum > 0.0 { 2.0 * self.recall(class) * self.precision(class) / sum } else { 0.0 }
    }

    /// The mean of [`Confusion::f1`] over the classes that have samples: all classes count alike.
    pub fn macro_f1(&self) -> f64 {
        let there: Vec<usize> = (0..self.classes).filter(|&class| self.samples(class) > 0).collect();
        there.iter().map(|&class| self.f1(class)).sum::<f64>() / there.len().max(1) as f64
    }

    /// Samples of a class.
    pub fn samples(&self, class: usize) -> u64 {
        (0..self.classes).map(|seen| self.count(class, seen)).sum()
    }

    /// A table in Markdown: a row per class, a column per class seen.
    pub fn table(&self, names: &[String]) -> String {
        let plain = |name: &String| visible(name).replace('|', "/").replace(['\n', '\t'], " ");
        let name = |class: usize| names.get(class).map_or(class.to_string(), plain);
        let mut text = String::from("| is \\ seen as |");
        (0..self.classes).for_each(|class| text += &format!(" {} |", name(class)));
        text += " recall | precision | F1 |\n|---|";
        text += &"---:|".repeat(self.classes + 3);
        for actual in 0..self.classes {
            text += &format!("\n| {} |", name(actual));
            (0..self.classes).for_each(|seen| text += &format!(" {} |", count(self.count(actual, seen))));
            let percent = |share: f64| format!(" {:.1} % |", 100.0 * share);
            text += &percent(self.recall(actual));
            text += &percent(self.precision(actual));
            text += &percent(self.f1(actual));
        }
        text.push('\n');
        text
    }

    /// A drawing: a row per class, a column per class seen, shaded by their share of the row.
    pub fn matrix(&self, names: &[String], judged_on: &str, about: &str) -> Matrix {
        let name = |class: usize| names.get(class).cloned().unwrap_or(class.to_string());
        let names: Vec<String> = (0..self.classes).map(name).collect();
        let all: u64 = self.counts.iter().sum();
        let counts: Vec<f64> = self.counts.iter().map(|&count| count as f64).collect();
        let (percent, samples) = (100.0 * self.accuracy(), count(all));
        let title = format!("Confusion on the {judged_on} set: {percent:.2} % of {samples} right");
        Matrix::new(&title, ("is", &names), ("seen as", &names), &counts).diagonal().about(about)
    }
}
