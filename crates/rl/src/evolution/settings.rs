//! The settings of evolution, one row each.

use farad::train::settings::{NumberRange, Takes};

farad::train::settings! {
    /// The settings of evolution.
    pub struct EvolutionSettings {
        population: usize = 32, Takes::Whole(4, 1 << 20), "Policies of a generation; an even number for es.";
        trials: usize = 4, Takes::Whole(1, 1 << 16), "Episodes that a policy is tried in.";
        #[later] alike: bool = false, Takes::Truth, "Whether all policies of a generation are tried from the same starts.";
        #[later] early_share: f64 = 1.0, Takes::Number(NumberRange::above(0.0).to(1.0)), "Share of an episode that es tries policies for in the early generations.";
        #[later] early: f64 = 0.5, Takes::Number(NumberRange::from(0.0).to(1.0)), "Share of the generations that are early ones.";
        scale: bool = false, Takes::Truth, "Whether es brings observations to mean 0 and deviation 1.";
        policy: Vec<i64> = vec![16], Takes::Wholes(1, 1 << 14, 0), "Sizes of the hidden layers of evolved policies; none: a linear one.";
        noise: f64 = 0.2, Takes::Number(NumberRange::above(0.0)), "Deviation of the policies from their mean, for cma at the start.";
        #[later] clock_gain: f64 = 1.0, Takes::Number(NumberRange::above(0.0)), "How many times as far es varies the weights of a clock, where agents see one.";
        step: f64 = 0.05, Takes::Number(NumberRange::above(0.0)), "Learning rate of es.";
        #[later] together: bool = false, Takes::Truth, "Whether es moves along the slope, `step` times as far as policies deviate; otherwise every weight by Adam.";
        decay: f64 = 0.005, Takes::Number(NumberRange::from(0.0)), "Weight decay of es, as a fraction of its step.";
    }
}
