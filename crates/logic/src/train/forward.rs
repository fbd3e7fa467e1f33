//! The forward pass of an update: from logits to coefficients, from first states to last ones.
//!
//! Invariant: with the published settings a soft gate is the softmax mixture of its logits and nothing else is
//! computed. All noise is determined by a seed and the number of the update. Start at
//! [`AutomatonTrainer::coefficients`].

use farad::Order;
use farad::{DType, Tensor};

use super::{AutomatonTrainer, Stream};
use crate::automaton::RollOut;
use crate::settings::{Forward, FreezeOrder, States};
use crate::soft_gates::straight_through;

impl AutomatonTrainer {
    /// The coefficients of the next update's gates. `[seeds, gates, 4]`
    pub(super) fn coefficients(&self) -> Tensor {
        let logits = self.logits.value();
        let sharpened = self.sharpened(&logits);
        let noisy = match self.settings.forward {
            Forward::Soft | Forward::Hard => sharpened,
            Forward::Gumbel | Forward::Noisy => self.with_noise(&sharpened),
        };
        let soft = self.gates.soft(&noisy);
        let hard = || self.gates.hard(&logits);
        let forward = match self.settings.forward {
            Forward::Hard => return straight_through(&hard(), &soft),
            Forward::Gumbel => straight_through(&self.gates.hard(&noisy), &soft),
            Forward::Soft | Forward::Noisy => soft.clone(),
        };
        match self.frozen() {
            None => forward,
            Some(frozen) => straight_through(&frozen.select(&hard(), &forward), &soft),
        }
    }

    /// Logits with the current sharpness.
    fn sharpened(&self, logits: &Tensor) -> Tensor {
        let (settings, update) = (&self.settings, self.updates);
        let mut sharpened = logits.clone();
        if settings.sharpness != 1.0 {
            sharpened = &sharpened * &self.number(settings.sharpness_at(update));
        }
        if settings.adaptive != 0.0 {
            let weight = self.number(settings.adaptive * settings.ramp_at(update));
            // A gate's confidence decides its sharpness, and has no gradient.
            sharpened = sharpened * (self.gates.confidence(logits).stop_gradient() * &weight + 1.0);
        }
        sharpened
    }

    /// Logits with this update's noise, at the configured temperature.
    fn with_noise(&self, logits: &Tensor) -> Tensor {
        let settings = &self.settings;
        let uniform = self.starts.gate_noise(self.updates, self.topology.gates(), self.gates.width());
        (logits + self.gates.noise(&uniform) * f64::from(settings.gate_noise))
            / f64::from(settings.temperature)
    }

    /// Which gates are hard in this update, if any may be. `[seeds, gates, 1]`
    fn frozen(&self) -> Option<Tensor> {
        let share = self.settings.frozen_at(self.updates)?;
        Some(match self.settings.freeze_order {
            FreezeOrder::Chance => self.turns.less(self.number(share)),
            FreezeOrder::Anew => {
                self.starts.turns_anew(self.updates, self.topology.gates()).less(self.number(share))
            }
            FreezeOrder::Confidence => {
                let surest = self.gates.confidence(&self.logits.value()).argsort(1, Order::Descending);
                // The argsort of the argsort gives the rank of each gate.
                let place = surest.argsort(1, Order::Ascending).cast(DType::F32);
                place.less(self.number(share * self.topology.gates() as f32))
            }
        })
    }

    /// What is minimized besides the losses, one number per seed, if anything. `[seeds]`
    pub(super) fn penalties(&self) -> Option<Tensor> {
        let settings = &self.settings;
        let logits = self.logits.value();
        let ramp = settings.ramp_at(self.updates);
        let weighted = |weight: f32, each: Tensor| each.sum_axes([-1]) * self.number(weight * ramp);
        let entropy =
            (settings.entropy > 0.0).then(|| weighted(settings.entropy, self.gates.entropy(&logits)));
        let margin = (settings.margin > 0.0)
            .then(|| weighted(settings.margin, self.gates.shortfall(&logits, settings.margin_width)));
        match (entropy, margin) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        }
    }

    /// The visible result of a roll-out, and the target.
    pub(super) fn roll_out(
        &self,
        coefficients: &Tensor,
        stream: Stream,
        number: u64,
        batch: usize,
        steps: usize,
    ) -> (Tensor, Tensor) {
        let settings = &self.settings;
        let (height, width) = (settings.height, settings.width);
        let (first, target) = self.starts.draw(stream, number, batch);
        let fired = (settings.fire_rate < 1.0)
            .then(|| self.starts.fired(stream, number, settings.fire_rate, &[steps, height, width]));
        let parts = stream == Stream::Train && settings.states != States::Soft;
        let length = if parts { settings.round_every.min(steps) } else { steps };
        let mut states = first;
        for start in (0..steps).step_by(length) {
            if start > 0 {
                states = self.bits(&states, start);
            }
            let length = length.min(steps - start);
            let fired = fired.as_ref().map(|fired| match length == steps {
                true => fired.clone(),
                false => fired.narrow(1, start, length),
            });
            let op = RollOut::new(self.topology.clone(), length).policy(settings.policy());
            states = op.run(coefficients, &self.wiring, &states, fired.as_ref());
        }
        (states.narrow(-1, 0, self.recipe.visible), target)
    }

    /// States before this step as bits, with the gradient of the original values.
    fn bits(&self, states: &Tensor, step: usize) -> Tensor {
        let ones = match self.settings.states {
            States::Sampled => {
                // The random numbers of one update are consecutive, so that no two steps share any.
                let place = self.updates * self.settings.steps as u64 + step as u64;
                self.starts.thresholds(place, &states.shape()[1..]).less(states)
            }
            States::Rounded | States::Soft => states.greater(0.5),
        };
        straight_through(&ones.cast(DType::F32), states)
    }

    /// A number that may differ at the next update, as a parameter of the program.
    fn number(&self, value: f32) -> Tensor {
        Tensor::number(value, &self.device)
    }
}
