//! Settings that change from update to update.
//!
//! Everything is a function of the settings and the number of updates made, so a resumed run continues with the
//! same numbers.

use crate::settings::AutomatonSettings;

impl AutomatonSettings {
    /// The fraction of the run that is over after this many updates.
    fn done(&self, update: u64) -> f32 {
        (update as f32 / self.updates.max(1) as f32).min(1.0)
    }

    /// Steps of an update's roll-out: fewer at the start of a curriculum, in eight stages.
    pub(super) fn steps_at(&self, update: u64) -> usize {
        let (all, over) = (self.steps, self.curriculum);
        if update >= over {
            return all;
        }
        let stage = 1 + update * 8 / over;
        (all * stage as usize).div_ceil(9).max(1)
    }

    /// The learning rate of an update: it grows through the warm-up and falls along a cosine.
    pub(super) fn rate_at(&self, update: u64) -> f32 {
        let warm = (update + 1) as f32 / self.warm_up.max(1) as f32;
        let cosine = (1.0 + (std::f32::consts::PI * self.done(update)).cos()) / 2.0;
        self.learning_rate * warm.min(1.0) * (self.final_rate + (1.0 - self.final_rate) * cosine)
    }

    /// The factor on logits.
    pub(super) fn sharpness_at(&self, update: u64) -> f32 {
        1.0 + (self.sharpness - 1.0) * self.done(update)
    }

    /// The fraction of gates that are hard in the forward pass; `None` before the first is.
    pub(super) fn frozen_at(&self, update: u64) -> Option<f32> {
        let (from, until, done) = (self.freeze_from, self.freeze_until, self.done(update));
        let share = if done >= until { 1.0 } else { (done - from) / (until - from) };
        (from < 1.0 && done >= from).then_some(share * self.freeze_most)
    }

    /// From 0 to 1: how much of `adaptive`, `entropy` and `margin` counts.
    pub(super) fn ramp_at(&self, update: u64) -> f32 {
        let (from, until, done) = (self.ramp_from, self.ramp_until, self.done(update));
        if done >= until { 1.0 } else { ((done - from) / (until - from)).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use farad::train::settings::SettingsTable as _;

    use crate::Recipe;
    use crate::settings::AutomatonSettings;

    fn with(assignments: &[&str]) -> AutomatonSettings {
        let mut settings = Recipe::named("checkerboard").unwrap().reference.clone();
        settings.updates = 100;
        assignments.iter().for_each(|assignment| settings.set(assignment).unwrap());
        settings
    }

    #[test]
    fn nothing_changes_in_the_published_recipe() {
        let settings = with(&[]);
        for update in [0, 1, 50, 99] {
            assert_eq!(settings.rate_at(update), settings.learning_rate);
            assert_eq!(settings.sharpness_at(update), 1.0);
            assert_eq!(settings.frozen_at(update), None);
            assert_eq!(settings.steps_at(update), settings.steps);
        }
    }

    #[test]
    fn gates_freeze_from_until_and_up_to_a_share() {
        let slowly = with(&["freeze_from=0.2", "freeze_until=0.6", "freeze_most=0.5"]);
        assert_eq!(slowly.frozen_at(19), None);
        assert_eq!(slowly.frozen_at(20), Some(0.0));
        assert!((slowly.frozen_at(40).unwrap() - 0.25).abs() < 1e-6);
        assert_eq!(slowly.frozen_at(99), Some(0.5));
        let at_once = with(&["freeze_from=0.4", "freeze_until=0.4"]);
        assert_eq!((at_once.frozen_at(39), at_once.frozen_at(40)), (None, Some(1.0)));
        let always = with(&["freeze_from=0", "freeze_until=0"]);
        assert_eq!(always.frozen_at(0), Some(1.0));
    }

    #[test]
    fn rates_and_weights_move_over_the_run() {
        let cosine = with(&["lab.final_rate=0.1", "warm_up=10", "learning_rate=1"]);
        assert!((cosine.rate_at(0) - 0.1).abs() < 1e-6, "a tenth of the warm-up");
        assert!((cosine.rate_at(50) - 0.55).abs() < 1e-3, "half-way");
        assert!((cosine.rate_at(100) - 0.1).abs() < 1e-6, "the end");
        let ramp = with(&["lab.ramp_from=0.5", "lab.ramp_until=0.9"]);
        assert_eq!((ramp.ramp_at(50), ramp.ramp_at(90)), (0.0, 1.0));
        assert!((ramp.ramp_at(70) - 0.5).abs() < 1e-6);
        assert_eq!(with(&[]).ramp_at(0), 1.0, "from the start");
    }
}
