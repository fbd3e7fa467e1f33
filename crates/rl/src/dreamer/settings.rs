//! The settings of DreamerV3, one row each, and its sizes by name. Worlds, horizon, learning rate, discount, lambda and
//! entropy are PPO's; replay, batch and random samples at the start are SAC's.

use farad::train::settings::{NumberRange, Takes};

farad::train::settings! {
    /// The settings of Dreamer beside those that it shares with PPO and SAC.
    pub struct DreamerSettings {
        size: String = "1m".into(), Takes::one_of(DREAMER_SIZES.iter().map(|row| row.name)), "The size of dreamer's networks.";
        sequence: usize = 64, Takes::Whole(2, 1 << 12), "Steps of a sequence that dreamer learns from; `batch` sequences make a gradient step.";
        imagination: usize = 15, Takes::Whole(1, 1 << 10), "Steps that dreamer imagines ahead.";
        #[later] imagine_last: usize = 0, Takes::Whole(0, 1 << 12), "Steps at the end of a sequence from which dreamer imagines; 0 for all of them. Few cost less.";
        train_ratio: f64 = 512.0, Takes::Number(NumberRange::above(0.0)), "Remembered steps that dreamer learns from, per step of the worlds.";
        rate_warm_up: usize = 1000, Takes::Whole(0, 1 << 24), "Gradient steps over which dreamer's learning rate rises to its value.";
    }
}

/// A size of the networks. All but `debug` are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DreamerSize {
    /// Its name in settings.
    pub name: &'static str,
    /// Numbers of the deterministic state.
    pub deter: usize,
    /// Units between the parts of a latent state.
    pub hidden: usize,
    /// Categorical variables of the stochastic state.
    pub stoch: usize,
    /// Classes of each.
    pub classes: usize,
    /// Blocks of the recurrent weights.
    pub blocks: usize,
    /// Units of the hidden layers of encoder, decoder and heads.
    pub units: usize,
    /// Channels of convolutions, multiplied by 2, 3 and 4 from stage to stage.
    pub depth: usize,
}

/// All sizes; the first is for tests.
pub const DREAMER_SIZES: [DreamerSize; 5] = [
    DreamerSize {
        name: "debug",
        deter: 32,
        hidden: 16,
        stoch: 4,
        classes: 4,
        blocks: 4,
        units: 16,
        depth: 2,
    },
    DreamerSize { name: "1m", deter: 512, hidden: 64, stoch: 32, classes: 4, blocks: 8, units: 64, depth: 4 },
    DreamerSize {
        name: "12m",
        deter: 2048,
        hidden: 256,
        stoch: 32,
        classes: 16,
        blocks: 8,
        units: 256,
        depth: 16,
    },
    DreamerSize {
        name: "25m",
        deter: 3072,
        hidden: 384,
        stoch: 32,
        classes: 24,
        blocks: 8,
        units: 384,
        depth: 24,
    },
    DreamerSize {
        name: "50m",
        deter: 4096,
        hidden: 512,
        stoch: 32,
        classes: 32,
        blocks: 8,
        units: 512,
        depth: 32,
    },
];

impl DreamerSize {
    /// The size with this name.
    pub fn of(name: &str) -> Option<DreamerSize> {
        DREAMER_SIZES.iter().find(|size| size.name == name).copied()
    }

    /// Numbers of a latent state: the deterministic part, then all classes of all variables.
    pub fn features(&self) -> usize {
        self.deter + self.stoch * self.classes
    }
}
