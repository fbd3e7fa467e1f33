//! Tasks from users: a rule to learn, a picture to grow, a texture to make from noise. One row each.
//!
//! A row says how the flag is read, what the configuration stores, and which recipe it makes. A run stores the
//! content of the file, not its path, so that it needs no other file.

use std::sync::Arc;

use farad::run::Table;
use farad_circuit::Edge;

use super::{
    Damage, IndexedImage, PictureSource, Recipe, RecipeTarget, RolloutStart, Rule, Trial, checkerboard, life,
    lizard,
};
use crate::automaton::Topology;
use crate::error::{Error, Result};
use crate::settings::AutomatonSettings;

/// A row of [`TASKS`].
pub struct Own {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line on what is learned.
    pub about: &'static str,
    /// The flag that provides it.
    pub flag: &'static str,
    /// Parses the flag's value to what a configuration stores.
    read: fn(&str) -> Result<Table>,
    make: fn(&Table) -> Option<Recipe>,
    example: fn() -> Table,
}

/// All of them.
pub static TASKS: [Own; 3] = [
    Own {
        name: "rule",
        about: "a rule of your own (--rule B2/S, --rule 30, or a file with neighborhoods)",
        flag: "rule",
        read: |text| Ok(rule_table(&Rule::read(text)?)),
        make: |task| Rule::parse(task.get("rule")?.as_str()?).ok().map(rule),
        example: || rule_table(&Rule::life()),
    },
    Own {
        name: "grow",
        about: "a picture of your own that grows from one cell (--picture FILE.png)",
        flag: "picture",
        read: |path| Ok(IndexedImage::read(path)?.table()),
        make: |task| IndexedImage::from_table(task).map(grow),
        example: drawing,
    },
    Own {
        name: "pattern",
        about: "a texture of your own from random bits (--picture FILE.png)",
        flag: "picture",
        read: |path| Ok(IndexedImage::read(path)?.table()),
        make: |task| IndexedImage::from_table(task).map(pattern),
        example: drawing,
    },
];

impl Own {
    /// The task of this name.
    pub fn named(name: &str) -> Option<&'static Own> {
        TASKS.iter().find(|task| task.name == name)
    }

    /// A recipe from the flag's value.
    pub fn read(&self, text: &str) -> Result<Recipe> {
        self.recipe(&(self.read)(text)?)
    }

    /// A recipe from a stored configuration.
    pub fn recipe(&self, task: &Table) -> Result<Recipe> {
        (self.make)(task)
            .map(|recipe| Recipe { name: self.name, task: Some(task.clone()), ..recipe })
            .ok_or(Error::Configuration { key: "task" })
    }

    /// A recipe without user data, for listing settings.
    pub fn example(&self) -> Result<Recipe> {
        self.recipe(&(self.example)())
    }
}

impl Recipe {
    /// The recipe with a name, and with what a configuration stores for it.
    pub fn of(name: &str, task: Option<&Table>) -> Result<Recipe> {
        match (Own::named(name), task) {
            (Some(own), Some(task)) => own.recipe(task),
            (Some(_), None) => Err(Error::Configuration { key: "task" }),
            (None, _) => Recipe::named(name),
        }
    }
}

fn rule_table(rule: &Rule) -> Table {
    [("rule".to_string(), rule.text().into())].into_iter().collect()
}

/// Two squares, in the size of a lizard.
fn drawing() -> Table {
    let row =
        |y: usize| (0..20).map(|x| if (y / 10 + x / 10) % 2 == 1 { '1' } else { '0' }).collect::<String>();
    let rows: Vec<String> = (0..20).map(row).collect();
    let colors = vec!["#000000".to_string(), "#ffffff".to_string()];
    [("colors".to_string(), colors.into()), ("rows".to_string(), rows.into())].into_iter().collect()
}

/// As Life is learned: from all boards of 3×3 cells.
fn rule(rule: Rule) -> Recipe {
    Recipe {
        name: "rule",
        former: &[],
        about: format!("the rule {}, from the 512 boards of 3×3 cells and their successors", rule.title())
            .into(),
        task: None,
        topology: life::topology(),
        settings: life::settings(),
        reference: life::reference(),
        seed: 1,
        visible: 1,
        start: RolloutStart::Boards,
        trials: vec![
            Trial { height: 128, width: 128, steps: 300 },
            Trial { height: 1, width: 256, steps: 300 },
        ],
        target: RecipeTarget::Rule(rule),
        damage: None,
        robustness: None,
    }
}

/// Steps in addition to those that a signal needs from the center to the edge.
const SPARE_STEPS: usize = 4;

/// As the lizard is learned, but the edge is visible: a larger grid has another picture.
fn grow(drawing: IndexedImage) -> Recipe {
    let (width, height) = (drawing.width(), drawing.height());
    let steps = width.max(height) / 2 + SPARE_STEPS;
    let sized = |settings: AutomatonSettings| AutomatonSettings { height, width, steps, ..settings };
    Recipe {
        name: "grow",
        former: &[],
        about: format!(
            "a picture of {width}×{height} cells in {} colors that grows from one cell",
            drawing.colors().len()
        )
        .into(),
        task: None,
        topology: Topology { edge: Edge::Zero, ..lizard::topology() },
        settings: sized(lizard::settings()),
        reference: sized(lizard::reference()),
        seed: 1,
        visible: drawing.bits(),
        start: RolloutStart::CenterOnes,
        target: RecipeTarget::Picture(PictureSource::Centered(Arc::new(drawing))),
        trials: vec![],
        damage: None,
        robustness: None,
    }
}

/// Fewest cells along a side that a texture is trained on, if the tile is smaller.
const LEAST_CELLS: usize = 16;

/// As the checkerboard is learned, starting from the upper left corner.
fn pattern(drawing: IndexedImage) -> Recipe {
    let (width, height) = (drawing.width(), drawing.height());
    let whole = |side: usize| side * LEAST_CELLS.div_ceil(side).max(1);
    let trained = Trial { height: whole(height), width: whole(width), steps: 0 };
    let steps = trained.height.max(trained.width) + SPARE_STEPS;
    let sized = |settings: AutomatonSettings| AutomatonSettings {
        height: trained.height,
        width: trained.width,
        steps,
        ..settings
    };
    let twice = Trial { height: 2 * trained.height, width: 2 * trained.width, steps: 2 * steps };
    let visible = drawing.bits();
    let block = trained.height.min(trained.width) / 2;
    Recipe {
        name: "pattern",
        former: &[],
        about: format!(
            "a texture of {width}×{height} cells in {} colors from random bits",
            drawing.colors().len()
        )
        .into(),
        task: None,
        topology: noise_cell(visible),
        settings: sized(checkerboard::settings()),
        reference: sized(checkerboard::reference()),
        seed: 1,
        visible,
        start: RolloutStart::RandomBits,
        target: RecipeTarget::Picture(PictureSource::Tiled(Arc::new(drawing))),
        trials: vec![twice],
        damage: Some(Damage { trial: Trial { steps: 4 * steps, ..twice }, block, held: 2 * steps }),
        robustness: Some((Trial { steps: 500, ..twice }, block / 2)),
    }
}

/// The checkerboard's cell, with more channels if more are visible.
fn noise_cell(visible: usize) -> Topology {
    match visible {
        0..=2 => checkerboard::cell(10),
        _ => Topology {
            channels: 16,
            kernels: 16,
            perception: vec![9, 8, 4, 2],
            update: [vec![528], vec![512; 2], vec![256; 8], vec![128, 64, 32, 16, 16]].concat(),
            edge: Edge::Zero,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad::train::settings::SettingsTable as _;

    #[test]
    fn examples_fit_their_topologies_and_come_back_from_tables() {
        for own in &TASKS {
            let recipe = own.example().unwrap();
            recipe.topology.check().unwrap();
            recipe.topology.wire(1);
            recipe.settings.check().unwrap();
            assert!(recipe.visible <= recipe.topology.channels);
            let again = Recipe::of(own.name, recipe.task.as_ref()).unwrap();
            assert_eq!(again.settings.table(), recipe.settings.table());
            assert_eq!(again.picture(8, 8), recipe.picture(8, 8));
            assert!(
                Recipe::of(own.name, None).is_err() && Recipe::of(own.name, Some(&Table::new())).is_err()
            );
        }
    }

    #[test]
    fn many_colors_fit_the_cell() {
        for visible in 1..=5 {
            let topology = noise_cell(visible);
            topology.check().unwrap();
            topology.wire(7);
            assert!(topology.channels > visible);
        }
    }
}
