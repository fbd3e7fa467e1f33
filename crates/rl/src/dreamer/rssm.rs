//! The recurrent state-space model: what Dreamer remembers of a world, and how it goes on with and without looking.
//!
//! A latent state has a deterministic part, which a block-diagonal GRU carries on, and a stochastic part: categorical
//! variables as one-hot numbers. The prior guesses them from the deterministic part alone, the posterior from what is
//! seen too.
//!
//! Invariant: agents are the first axis of everything, rows the second. Start at [`Rssm::advance`].

use farad::{Device, Tensor, scan};

use super::layers::{Dense, Hidden, NormedSilu, WeightLayout, WeightStart};
use super::settings::DreamerSize;

/// The share of categorical distributions that is uniform.
pub(super) const UNIFORM: f64 = 0.01;

/// The probabilities of logits `[.., classes]`, of which a share is uniform.
pub(super) fn mixed(logits: &Tensor) -> Tensor {
    let classes = logits.shape()[logits.rank() - 1] as f64;
    logits.softmax(-1) * (1.0 - UNIFORM) + UNIFORM / classes
}

/// One-hot numbers by probabilities `[.., classes]`, drawn with uniform numbers of the same shape.
pub(super) fn one_hot_drawn(shares: &Tensor, uniform: &Tensor) -> Tensor {
    // Every class comes after an exponential time, at its probability as a rate. The first is drawn.
    let times = -uniform.maximum(1e-20).log();
    (shares.stop_gradient() / times).argmax(-1).one_hot(shares.shape()[shares.rank() - 1])
}

/// The same, with the gradient of the probabilities.
pub(super) fn straight_through(shares: &Tensor, uniform: &Tensor) -> Tensor {
    one_hot_drawn(shares, uniform).stop_gradient() + (shares - shares.stop_gradient())
}

/// Latent states: `[agents, rows, deter]` and `[agents, rows, variables · classes]`.
#[derive(Clone)]
pub(super) struct Latent {
    pub deter: Tensor,
    pub stoch: Tensor,
}

impl Latent {
    /// Both parts, one after the other.
    pub fn features(&self) -> Tensor {
        Tensor::concat(&[&self.deter, &self.stoch], 2)
    }

    /// The same values without gradients.
    pub fn stopped(&self) -> Latent {
        Latent { deter: self.deter.stop_gradient(), stoch: self.stoch.stop_gradient() }
    }

    /// Some of the rows.
    pub fn rows(&self, from: usize, count: usize) -> Latent {
        let part = |x: &Tensor| x.narrow(1, from, count);
        Latent { deter: part(&self.deter), stoch: part(&self.stoch) }
    }

    /// Nothing where `keep` `[agents, rows, 1]` is 0.
    pub fn kept(&self, keep: &Tensor) -> Latent {
        Latent { deter: &self.deter * keep, stoch: &self.stoch * keep }
    }
}

/// Latent states of sequences: `[agents, time · rows, ..]`.
pub(super) struct Remembered {
    pub latent: Latent,
    /// The posterior's probabilities, `[agents, time · rows, variables, classes]`.
    pub posterior: Tensor,
}

/// The architecture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rssm {
    size: DreamerSize,
    from_deter: Hidden,
    from_stoch: Hidden,
    from_action: Hidden,
    /// Recurrent weights `[blocks, deter / blocks + 3 · hidden, deter / blocks]`, and their biases.
    block: [usize; 2],
    block_norm: NormedSilu,
    /// `[blocks, deter / blocks, 3 · deter / blocks]`, and their biases `[blocks, 1, ..]`.
    gates: [usize; 2],
    prior: Hidden,
    prior_last: Dense,
    posterior: Hidden,
    posterior_last: Dense,
}

impl Rssm {
    /// For actions of so many numbers, and so many features of what is seen.
    pub fn new(layout: &mut WeightLayout, size: DreamerSize, actions: usize, seen: usize) -> Rssm {
        let DreamerSize { deter, hidden, stoch, classes, blocks, .. } = size;
        let (each, variables) = (deter / blocks, stoch * classes);
        let normal = |inputs| WeightStart::Normal { scale: 1.0, inputs };
        let zeros = WeightStart::Constant(0.0);
        Rssm {
            size,
            from_deter: Hidden::new(layout, "rssm.deter", deter, hidden, 1),
            from_stoch: Hidden::new(layout, "rssm.stoch", variables, hidden, 1),
            from_action: Hidden::new(layout, "rssm.action", actions, hidden, 1),
            block: [
                layout.add(
                    "rssm.block.weight".into(),
                    &[blocks, each + 3 * hidden, each],
                    normal(each + 3 * hidden),
                ),
                layout.add("rssm.block.bias".into(), &[1, deter], zeros),
            ],
            block_norm: NormedSilu::new(layout, "rssm.block", deter),
            gates: [
                layout.add("rssm.gates.weight".into(), &[blocks, each, 3 * each], normal(each)),
                layout.add("rssm.gates.bias".into(), &[blocks, 1, 3 * each], zeros),
            ],
            prior: Hidden::new(layout, "rssm.prior", deter, hidden, 2),
            prior_last: Dense::new(layout, "rssm.prior.last", hidden, variables, 1.0),
            posterior: Hidden::new(layout, "rssm.posterior", deter + seen, hidden, 1),
            posterior_last: Dense::new(layout, "rssm.posterior.last", hidden, variables, 1.0),
        }
    }

    /// Latent states of so many rows that remember nothing.
    pub fn start(&self, agents: usize, rows: usize, device: &Device) -> Latent {
        Latent {
            deter: Tensor::zeros([agents, rows, self.size.deter], device),
            stoch: Tensor::zeros([agents, rows, self.size.stoch * self.size.classes], device),
        }
    }

    /// What [`Rssm::advance`] wants of actions `[agents, rows, numbers]`.
    pub fn of_action(&self, weights: &[Tensor], action: &Tensor) -> Tensor {
        self.from_action.apply(weights, &action.clamp(-1.0, 1.0))
    }

    /// The deterministic part after an action, which is given by its features.
    pub fn advance(&self, weights: &[Tensor], latent: &Latent, action: &Tensor) -> Tensor {
        let DreamerSize { deter, hidden, blocks, .. } = self.size;
        let (each, shape) = (deter / blocks, latent.deter.shape());
        let (agents, rows) = (shape[0], shape[1]);
        // `[agents, rows, blocks · n]` as `[agents, blocks, rows, n]`, and back.
        let apart = |x: &Tensor| x.reshape([agents, rows, blocks, each]).permute(&[0, 2, 1, 3]);
        let together = |x: &Tensor| x.permute(&[0, 2, 1, 3]).reshape([agents, rows, deter]);
        let features = [
            &self.from_deter.apply(weights, &latent.deter),
            &self.from_stoch.apply(weights, &latent.stoch),
            action,
        ];
        // Every block sees its own part of the state, and features of everything.
        let shared = Tensor::concat(&features, 2).unsqueeze(1);
        let weight = &weights[self.block[0]];
        let own = apart(&latent.deter).matmul(&weight.narrow(2, 0, each));
        let all = own + shared.matmul(&weight.narrow(2, each, 3 * hidden));
        let x = self.block_norm.apply(weights, &(together(&all) + &weights[self.block[1]]));
        let gates = apart(&x).matmul(&weights[self.gates[0]]) + &weights[self.gates[1]];
        let [reset, candidate, update] = [0, 1, 2].map(|n| together(&gates.narrow(3, n * each, each)));
        let candidate = (reset.sigmoid() * candidate).tanh();
        // It begins with long memory.
        let update = (update - 1.0).sigmoid();
        &latent.deter + update * (candidate - &latent.deter)
    }

    /// Probabilities `[agents, rows, variables, classes]` of logits in one row.
    fn shares(&self, logits: &Tensor) -> Tensor {
        let (agents, rows) = (logits.shape()[0], logits.shape()[1]);
        mixed(&logits.reshape([agents, rows, self.size.stoch, self.size.classes]))
    }

    /// What is to be expected, as probabilities.
    pub fn prior(&self, weights: &[Tensor], deter: &Tensor) -> Tensor {
        self.shares(&self.prior_last.apply(weights, &self.prior.apply(weights, deter)))
    }

    /// What [`Rssm::posterior`] wants of what is seen, `[agents, rows, features]`.
    pub fn of_seen(&self, weights: &[Tensor], seen: &Tensor) -> Tensor {
        self.posterior.first_part(weights, seen, self.size.deter)
    }

    /// What is the case after looking, as probabilities.
    pub fn posterior(&self, weights: &[Tensor], deter: &Tensor, seen: &Tensor) -> Tensor {
        let first = self.posterior.first_part(weights, deter, 0) + seen;
        self.shares(&self.posterior_last.apply(weights, &self.posterior.after_first(weights, &first)))
    }

    /// The shape of [`Rssm::noise`].
    pub fn noise_shape(&self, agents: usize, rows: usize) -> [usize; 4] {
        [agents, rows, self.size.stoch, self.size.classes]
    }

    /// What the stochastic parts of so many rows are drawn with.
    pub fn noise(&self, agents: usize, rows: usize, device: &Device) -> Tensor {
        Tensor::rand(self.noise_shape(agents, rows), device)
    }

    /// A latent state with its stochastic part drawn.
    pub fn drawn(&self, deter: Tensor, shares: &Tensor, noise: &Tensor) -> Latent {
        let (agents, rows) = (deter.shape()[0], deter.shape()[1]);
        let stoch =
            straight_through(shares, noise).reshape([agents, rows, self.size.stoch * self.size.classes]);
        Latent { deter, stoch }
    }

    /// One step with looking: from a latent state, the action after it, and what is seen then.
    pub fn observe(
        &self,
        weights: &[Tensor],
        latent: &Latent,
        action: &Tensor,
        seen: &Tensor,
        noise: &Tensor,
    ) -> (Latent, Tensor) {
        let deter = self.advance(weights, latent, action);
        let shares = self.posterior(weights, &deter, seen);
        (self.drawn(deter, &shares, noise), shares)
    }

    /// One step without looking.
    pub fn imagine(&self, weights: &[Tensor], latent: &Latent, action: &Tensor) -> Latent {
        let deter = self.advance(weights, latent, action);
        let shares = self.prior(weights, &deter);
        let noise = self.noise(deter.shape()[0], deter.shape()[1], deter.device());
        self.drawn(deter, &shares, &noise)
    }

    /// Follows sequences, one loop: actions before each step and what is seen `[agents, time · rows, ..]`, and where
    /// memory goes on, 1 or 0 `[agents, time · rows, 1]`. The noise is time first, `[time, agents, rows, variables, classes]`.
    pub fn follow(
        &self,
        weights: &[Tensor],
        actions: &Tensor,
        seen: &Tensor,
        keep: &Tensor,
        noise: &Tensor,
    ) -> Remembered {
        let time = noise.shape()[0];
        let (agents, rows) = (keep.shape()[0], keep.shape()[1] / time);
        let first = |x: &Tensor| {
            x.reshape([agents, time, rows, x.numel() / (agents * time * rows)]).permute(&[1, 0, 2, 3])
        };
        let actions = first(&self.of_action(weights, &(actions * keep)));
        let seen = first(&self.of_seen(weights, seen));
        let start = self.start(agents, rows, keep.device());
        let sequences = [&actions, &seen, &first(keep), noise];
        let (_, slices) = scan(&[&start.deter, &start.stoch], &sequences, |carry, slice| {
            let before = Latent { deter: carry[0].clone(), stoch: carry[1].clone() }.kept(&slice[2]);
            let (latent, shares) = self.observe(weights, &before, &slice[0], &slice[1], &slice[3]);
            let carried = vec![latent.deter.clone(), latent.stoch.clone()];
            (carried, vec![latent.deter, latent.stoch, shares])
        });
        let back = |x: &Tensor| {
            let mut order: Vec<isize> = (0..x.rank() as isize).collect();
            order.swap(0, 1);
            let mut shape = vec![agents, time * rows];
            shape.extend_from_slice(&x.shape()[3..]);
            x.permute(&order).reshape(&shape[..])
        };
        let latent = Latent { deter: back(&slices[0]), stoch: back(&slices[1]) };
        Remembered { latent, posterior: back(&slices[2]) }
    }
}
