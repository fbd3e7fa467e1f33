//! How good a hard circuit is: whether it is exact, on larger grids, after damage, in the long run.
//!
//! Everything here runs the circuit itself, bit-parallel on the CPU, on starts that training never used.

use farad_circuit::{Automaton, Grid, Simulator};
use serde::Serialize;

use crate::error::Result;
use crate::recipe::{Damage, Recipe, RecipeTarget, RolloutStart, Rule, Trial};

/// Fresh starts on which a circuit must be right to count as exact.
pub const STARTS: u64 = 1024;
/// Starts from which damage is tested; the first decides, the others show how much the result varies.
const CURVES: u64 = 8;
/// Distance between the numbers of these starts, so that they differ from those of other trials.
const DISTANCE: u64 = 1000;

/// The result of one trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialSize {
    /// Cells from top to bottom.
    pub height: usize,
    /// Cells from left to right.
    pub width: usize,
    /// Steps made.
    pub steps: usize,
    /// Wrong visible bits: at the last step, or for life at any step.
    pub wrong: usize,
    /// Whether there were none.
    pub right: bool,
}

/// The evaluation of a circuit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Whether no visible bit is wrong at the last step on all fresh starts (life: on all 512 neighborhoods).
    pub exact: bool,
    /// Wrong visible bits over all of these.
    pub wrong: usize,
    /// Bits that were checked.
    pub of: usize,
    /// Whether it is right at the last training step and at every one of as many steps after it (life: equal to
    /// the rule at every step of the largest trial).
    pub stable: bool,
    /// The first later step from which on it stays right, if there is one (within ten times the steps).
    pub settles_at: Option<usize>,
    /// Results on larger grids.
    pub sizes: Vec<TrialSize>,
    /// Whether a block of zeros, held and then released, was repaired.
    pub healed: Option<bool>,
    /// Fraction of wrong bits at each step of that trial, and of the same trial from other starts.
    #[serde(skip)]
    pub healing: Vec<Vec<f64>>,
    /// Mean fraction of wrong bits when a new block is set to zero at every step.
    pub error_under_damage: Option<f64>,
    /// Fraction of wrong bits at each step of that trial, and of the same trial from other starts and with
    /// other blocks.
    #[serde(skip)]
    pub robustness: Vec<Vec<f64>>,
}

/// A circuit and its task.
pub struct Examination<'a> {
    /// What it learned.
    pub recipe: &'a Recipe,
    /// Its circuit.
    pub automaton: &'a Automaton,
    /// The trial that it was trained on.
    pub trained: Trial,
    /// The seed of fresh starts.
    pub seed: u64,
}

impl Examination<'_> {
    /// Runs all tests of the recipe.
    pub fn evaluate(&self) -> Result<Evaluation> {
        match &self.recipe.target {
            RecipeTarget::Rule(rule) => self.evaluate_rule(rule),
            RecipeTarget::Picture(_) => self.evaluate_picture(),
        }
    }

    /// Wrong visible bits at the last step on all fresh starts, and bits checked; for life, wrong
    /// neighborhoods. An exact circuit has no wrong ones.
    pub fn count_wrong(&self) -> Result<(usize, usize)> {
        if let RecipeTarget::Rule(rule) = &self.recipe.target {
            return Ok((self.wrong_neighborhoods(rule)?, 512));
        }
        let picture = self.picture(self.trained);
        let mut wrong = 0;
        for start in 0..self.starts() {
            let mut grid = self.start(self.trained, start)?;
            grid.steps(self.trained.steps);
            wrong += errors(&grid, &picture);
        }
        Ok((wrong, self.starts() as usize * picture.len()))
    }

    fn evaluate_rule(&self, rule: &Rule) -> Result<Evaluation> {
        let wrong = self.wrong_neighborhoods(rule)?;
        let trials = self.recipe.trials.iter();
        let sizes = trials.map(|&trial| self.play(rule, trial)).collect::<Result<Vec<_>>>()?;
        Ok(Evaluation {
            exact: wrong == 0,
            wrong,
            of: 512,
            stable: sizes.iter().all(|size| size.right),
            settles_at: None,
            sizes,
            healed: None,
            healing: vec![],
            error_under_damage: None,
            robustness: vec![],
        })
    }

    /// Of all 512, for a cell with one channel.
    fn wrong_neighborhoods(&self, rule: &Rule) -> Result<usize> {
        let table = Simulator::new(&self.automaton.cell)?.truth_table();
        let visible = &table[self.automaton.visible[0]];
        let right = |number: usize| rule.next(number) == (visible[number / 64] >> (number % 64) & 1 == 1);
        Ok((0..512).filter(|&number| !right(number)).count())
    }

    /// Runs against the rule itself from a random start; counts every wrong bit of every step.
    fn play(&self, rule: &Rule, trial: Trial) -> Result<TrialSize> {
        let Trial { height, width, steps } = trial;
        let mut grid = self.start(trial, 0)?;
        let mut board = grid.picture();
        let mut wrong = 0;
        for _ in 0..steps {
            let at = |y: usize, x: usize| board[y % height * width + x % width];
            let next = |cell: usize| {
                let (y, x) = (cell / width, cell % width);
                rule.lives(std::array::from_fn(|n| at(y + height + n / 3 - 1, x + width + n % 3 - 1)))
            };
            board = (0..height * width).map(next).collect();
            grid.step();
            wrong += grid.picture().iter().zip(&board).filter(|(a, b)| a != b).count();
        }
        Ok(TrialSize { height, width, steps, wrong, right: wrong == 0 })
    }

    fn evaluate_picture(&self) -> Result<Evaluation> {
        let starts = self.starts();
        let Trial { height, width, steps } = self.trained;
        let picture = self.picture(self.trained);
        let (mut wrong, mut stable, mut settles_at) = (0, true, Some(0));
        for start in 0..starts {
            let mut grid = self.start(self.trained, start)?;
            grid.steps(steps);
            wrong += errors(&grid, &picture);
            if start < 8 {
                let (is_stable, settled) = self.later(&mut grid, &picture);
                stable &= is_stable;
                settles_at = settles_at.zip(settled).map(|(a, b)| a.max(b));
            }
        }
        let sizes = self.recipe.trials.iter().map(|&trial| self.size(trial)).collect::<Result<Vec<_>>>()?;
        let healing = match self.recipe.damage {
            Some(damage) => (0..CURVES).map(|start| self.heal(damage, start)).collect::<Result<_>>()?,
            None => vec![],
        };
        let robustness: Vec<Vec<f64>> = match self.recipe.robustness {
            Some((trial, block)) => {
                (0..CURVES).map(|start| self.endure(trial, block, start)).collect::<Result<_>>()?
            }
            None => vec![],
        };
        let mean = |curve: &Vec<f64>| curve.iter().sum::<f64>() / curve.len().max(1) as f64;
        Ok(Evaluation {
            exact: wrong == 0,
            wrong,
            of: starts as usize * height * width * self.recipe.visible,
            stable,
            settles_at,
            sizes,
            healed: healing.first().and_then(|curve| curve.last()).map(|&error| error == 0.0),
            healing,
            error_under_damage: robustness.first().map(mean),
            robustness,
        })
    }

    /// Continues from the last training step: whether it stays right for as many steps again, and from which
    /// step on it stays right.
    fn later(&self, grid: &mut Grid, picture: &[bool]) -> (bool, Option<usize>) {
        let steps = self.trained.steps;
        let mut stable = errors(grid, picture) == 0;
        let mut settled = stable.then_some(steps);
        for step in steps + 1..=10 * steps {
            grid.step();
            match errors(grid, picture) {
                0 => settled = settled.or(Some(step)),
                _ => settled = None,
            }
            stable &= step > 2 * steps || settled == Some(steps);
        }
        (stable, settled)
    }

    fn size(&self, trial: Trial) -> Result<TrialSize> {
        let mut grid = self.start(trial, 0)?;
        grid.steps(trial.steps);
        let wrong = errors(&grid, &self.picture(trial));
        Ok(TrialSize {
            height: trial.height,
            width: trial.width,
            steps: trial.steps,
            wrong,
            right: wrong == 0,
        })
    }

    /// Errors while a block in the middle is held at zero, and after it is released. The damage starts when the
    /// picture is complete.
    fn heal(&self, damage: Damage, start: u64) -> Result<Vec<f64>> {
        let Damage { trial, block, held } = damage;
        let picture = self.picture(trial);
        let mut grid = self.start(trial, 1 + DISTANCE * start)?;
        grid.steps(trial.steps);
        let (x, y) = ((trial.width - block) / 2, (trial.height - block) / 2);
        let mut curve = Vec::with_capacity(trial.steps);
        for step in 0..trial.steps {
            if step < held {
                grid.damage(x, y, block, block);
            }
            grid.step();
            if step + 1 < held {
                grid.damage(x, y, block, block);
            }
            curve.push(errors(&grid, &picture) as f64 / picture.len() as f64);
        }
        Ok(curve)
    }

    /// Errors while a new block is set to zero at every step.
    fn endure(&self, trial: Trial, block: usize, start: u64) -> Result<Vec<f64>> {
        let picture = self.picture(trial);
        let mut grid = self.start(trial, 2 + DISTANCE * start)?;
        let mut shuffler = crate::wires::Shuffler::new(self.seed, u64::MAX - start);
        let mut curve = Vec::with_capacity(trial.steps);
        for _ in 0..trial.steps {
            let x = shuffler.below((trial.width - block + 1) as u32) as usize;
            let y = shuffler.below((trial.height - block + 1) as u32) as usize;
            grid.damage(x, y, block, block);
            grid.step();
            curve.push(errors(&grid, &picture) as f64 / picture.len() as f64);
        }
        Ok(curve)
    }

    /// The number of distinct starts, at most [`STARTS`].
    fn starts(&self) -> u64 {
        let random = self.recipe.start == RolloutStart::RandomBits || self.automaton.fire_rate < 1.0;
        if random { STARTS } else { 1 }
    }

    /// A grid in its initial state.
    pub fn start(&self, trial: Trial, number: u64) -> Result<Grid> {
        let mut grid = Grid::new(self.automaton, trial.width, trial.height)?;
        // Far from the numbers that training uses, whatever the seed.
        let seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number + 1);
        grid.set_seed(seed);
        match self.recipe.start {
            RolloutStart::RandomBits | RolloutStart::Boards => grid.randomize(seed),
            RolloutStart::Zeros => {}
            RolloutStart::CenterOnes => {
                for channel in 0..self.automaton.channels {
                    grid.set(channel, trial.width / 2, trial.height / 2, true);
                }
            }
        }
        Ok(grid)
    }

    /// The target as the grid shows it, `[visible, height, width]`.
    fn picture(&self, trial: Trial) -> Vec<bool> {
        let cells = self.recipe.picture(trial.height, trial.width).expect("a picture recipe");
        let visible = self.recipe.visible;
        (0..visible).flat_map(|channel| cells[channel..].iter().step_by(visible).copied()).collect()
    }
}

/// Wrong visible bits.
fn errors(grid: &Grid, picture: &[bool]) -> usize {
    grid.pictures().iter().zip(picture).filter(|(a, b)| a != b).count()
}
