//! The recipes: one file per automaton, with its topology, settings (ours and the published ones), target and
//! trials.
//!
//! A [`Recipe`] is data, which `train` and `evaluate` use. To add one, write a file with a `recipe()` and give
//! it a row in [`Recipe::all`]. [`own`] makes recipes from what users provide: a rule, a picture.
//!
//! A run keeps the best hard circuit of all evaluations. Recipes that set `stop_after_exact` (life, lizard) end
//! early, once all circuits were right in two evaluations in a row. Those with the settings of
//! `checkerboard::swift` train to the end, because longer training removes more gates. The published recipe
//! (`--recipe reference`) keeps the last circuit and never ends early.

mod checkerboard;
mod checkerboard_async;
mod colored_g;
mod drawing;
mod life;
mod lizard;
pub mod own;
mod rule;

use std::borrow::Cow;
use std::sync::Arc;

use farad::run::{Rgb, Table};
use farad::train::LoopSettings;

use crate::automaton::Topology;
use crate::error::{Error, Result};
use crate::settings::AutomatonSettings;

pub use drawing::{IndexedImage, names as color_names, palette};
pub use rule::Rule;

/// The initial state of a roll-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutStart {
    /// Every bit of every cell is random.
    RandomBits,
    /// All channels of the center cell are one, everything else is zero.
    CenterOnes,
    /// Everything is zero.
    Zeros,
    /// A random one of the 512 boards of 3×3 cells.
    Boards,
}

/// What should be visible at the end.
#[derive(Clone)]
pub enum RecipeTarget {
    /// A picture.
    Picture(PictureSource),
    /// The result of a rule applied to the start.
    Rule(Rule),
}

/// The source of a picture's bits.
#[derive(Clone)]
pub enum PictureSource {
    /// The value of a visible channel at (y, x) on a grid of (height, width).
    Pixels(fn(channel: usize, y: usize, x: usize, height: usize, width: usize) -> bool),
    /// A drawing in the center.
    Centered(Arc<IndexedImage>),
    /// A drawing, repeated from the upper left.
    Tiled(Arc<IndexedImage>),
}

impl PictureSource {
    fn bit(&self, channel: usize, y: usize, x: usize, height: usize, width: usize) -> bool {
        match self {
            PictureSource::Pixels(pixel) => pixel(channel, y, x, height, width),
            PictureSource::Centered(drawing) => drawing.centered(channel, y, x, height, width),
            PictureSource::Tiled(drawing) => drawing.tiled(channel, y, x),
        }
    }
}

/// A grid on which the circuit must also work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Cells from top to bottom.
    pub height: usize,
    /// Cells from left to right.
    pub width: usize,
    /// Steps until the result is checked (a picture), or during which every step is compared (a rule).
    pub steps: usize,
}

/// Damage from which the automaton should recover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The grid and the total steps.
    pub trial: Trial,
    /// The side of the block of zeros.
    pub block: usize,
    /// For how many steps it is held at zero before it is released.
    pub held: usize,
}

/// An automaton to be learned.
#[derive(Clone)]
pub struct Recipe {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its names in earlier versions.
    pub former: &'static [&'static str],
    /// A one-line description.
    pub about: Cow<'static, str>,
    /// What the user provided, as stored in a configuration; `None` for published recipes.
    pub task: Option<Table>,
    /// The structure of a cell.
    pub topology: Topology,
    /// The best settings so far.
    pub settings: AutomatonSettings,
    /// The settings of the published notebook.
    pub reference: AutomatonSettings,
    /// The default seed of a run.
    pub seed: u64,
    /// How many of the first channels are visible.
    pub visible: usize,
    /// The initial state of roll-outs.
    pub start: RolloutStart,
    /// What should be visible at the end.
    pub target: RecipeTarget,
    /// Larger grids that the circuit must work on.
    pub trials: Vec<Trial>,
    /// Damage that it should recover from.
    pub damage: Option<Damage>,
    /// A long run with a new block of zeros at every step: grid, steps, and the block's side.
    pub robustness: Option<(Trial, usize)>,
}

/// Starts per evaluation during training, if roll-outs differ.
const STARTS: usize = 16;

impl Recipe {
    /// All recipes.
    pub fn all() -> [Recipe; 5] {
        [
            life::recipe(),
            checkerboard::recipe(),
            checkerboard_async::recipe(),
            lizard::recipe(),
            colored_g::recipe(),
        ]
    }

    /// The recipe with this name.
    pub fn named(name: &str) -> Result<Recipe> {
        let called = |recipe: &Recipe| recipe.name == name || recipe.former.contains(&name);
        Recipe::all().into_iter().find(called).ok_or_else(|| {
            let own = own::TASKS.iter().map(|task| task.name);
            let names = Recipe::all().map(|recipe| recipe.name).into_iter().chain(own);
            let names: Vec<String> = names.map(str::to_string).collect();
            let nearest = farad::nearest(name, names.iter().map(String::as_str)).map(str::to_string);
            Error::UnknownRecipe { name: name.into(), nearest, names }
        })
    }

    /// The target picture, `[height, width, visible]`; `None` for rules, where the target depends on the
    /// start.
    pub fn picture(&self, height: usize, width: usize) -> Option<Vec<bool>> {
        let RecipeTarget::Picture(picture) = &self.target else { return None };
        let mut bits = Vec::with_capacity(height * width * self.visible);
        for y in 0..height {
            for x in 0..width {
                bits.extend((0..self.visible).map(|channel| picture.bit(channel, y, x, height, width)));
            }
        }
        Some(bits)
    }

    /// Whether roll-outs differ, in their initial state or in which cells fire.
    pub(crate) fn is_random(&self, settings: &AutomatonSettings) -> bool {
        self.start == RolloutStart::RandomBits || settings.fire_rate < 1.0
    }

    /// Starts per evaluation during training.
    pub(crate) fn starts(&self, settings: &AutomatonSettings) -> usize {
        match self.start {
            RolloutStart::Boards => 512,
            _ if self.is_random(settings) => STARTS,
            _ => 1,
        }
    }

    /// The colors of the numbers that the visible channels of a cell encode; empty if channels are light.
    pub fn colors(&self) -> &[Rgb] {
        match &self.target {
            RecipeTarget::Picture(PictureSource::Centered(drawing) | PictureSource::Tiled(drawing)) => {
                drawing.colors()
            }
            _ => &[],
        }
    }
}

/// The settings that all published recipes share.
pub(crate) fn published() -> AutomatonSettings {
    let course =
        LoopSettings { log_every: 10, evaluate_every: 50, checkpoint_every: 100, ..LoopSettings::default() };
    AutomatonSettings { course, ..AutomatonSettings::default() }
}

impl AutomatonSettings {
    /// The same, with the best circuit of all evaluations kept instead of the last.
    fn keeping_best(mut self) -> AutomatonSettings {
        self.course.keep_best = true;
        self
    }
}

/// A drawing as rows of characters: whether (y, x) of a picture with the drawing in its center shows this
/// character.
fn drawn(drawing: &[&str], mark: u8, y: usize, x: usize, height: usize, width: usize) -> bool {
    let (rows, columns) = (drawing.len(), drawing[0].len());
    let (top, left) = (height.saturating_sub(rows) / 2, width.saturating_sub(columns) / 2);
    let (Some(y), Some(x)) = (y.checked_sub(top), x.checked_sub(left)) else { return false };
    drawing.get(y).and_then(|row| row.as_bytes().get(x)) == Some(&mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Loss;
    use farad::train::settings::SettingsTable as _;

    #[test]
    fn recipes_fit_their_topologies() {
        for recipe in Recipe::all() {
            let topology = &recipe.topology;
            topology.check().unwrap();
            for settings in [recipe.settings.clone(), recipe.reference.clone()] {
                assert_eq!(
                    AutomatonSettings::from_table(&settings.table()).unwrap(),
                    settings,
                    "{}",
                    recipe.name
                );
            }
            assert!(recipe.visible <= topology.channels);
            assert_eq!(topology.wire(1).len(), topology.perception.len() + topology.update.len() - 2);
            if let Some(picture) = recipe.picture(16, 16) {
                assert!(picture.contains(&true) && picture.contains(&false), "{}", recipe.name);
            }
        }
    }

    #[test]
    fn gate_counts_are_the_published_ones() {
        let expected = [(240, 2303), (224, 2816), (224, 3840), (60, 4480), (56, 4544)];
        for (recipe, (perception, update)) in Recipe::all().into_iter().zip(expected) {
            let topology = recipe.topology.clone();
            assert_eq!(topology.kernels * topology.perception_gates(), perception, "{}", recipe.name);
            assert_eq!(topology.update_gates(), update, "{}", recipe.name);
        }
    }

    /// Checkpoints store gates but no wires: so the wiring of a seed must never change.
    #[test]
    fn wirings_keep_their_bits() {
        let hash = |recipe: Recipe| {
            let layers = recipe.topology.wire(23);
            let words = layers.iter().flat_map(|wires| wires.a.iter().chain(&wires.b));
            words.fold(0xcbf2_9ce4_8422_2325u64, |hash, &word| {
                (hash ^ u64::from(word)).wrapping_mul(0x100_0000_01b3)
            })
        };
        let recorded = [
            6472752079751299161,
            9443250121968723571,
            11616252014529472543,
            6583124823491232199,
            17087776887317647916,
        ];
        assert_eq!(Recipe::all().map(hash), recorded);
    }

    #[test]
    fn unknown_names_are_answered_with_the_nearest() {
        let text = Recipe::named("checkerbord").err().unwrap().to_string();
        assert!(
            text.starts_with("recipe: there is no `checkerbord`; did you mean `checkerboard`?"),
            "{text}"
        );
        let mut settings = published();
        let text = settings.set("learningrate=1").unwrap_err().to_string();
        assert!(text.contains("did you mean `learning_rate`?"), "{text}");
        let text = settings.set("batch=many").unwrap_err().to_string();
        assert_eq!(text, "settings: batch takes a whole number, not `many`");
        assert!(settings.set("fire_rate=0").unwrap_err().to_string().contains("fire_rate"));
        settings.set("loss=focal").unwrap();
        assert_eq!(settings.loss, Loss::Focal);
        assert!(settings.set("loss=hinge").unwrap_err().to_string().contains("hinge"));
    }
}
