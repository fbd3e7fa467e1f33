//! Everything that an agent of Dreamer consists of, and how it acts.

use farad::Tensor;

use super::image::{ImageDecoder, ImageEncoder};
use super::layers::{Head, Hidden, WeightLayout};
use super::policy::Policy;
use super::rssm::{Latent, Rssm};
use super::settings::DreamerSize;
use super::symlog::{BINS, symlog};
use crate::environment::Environment;

/// Hidden layers of encoder, decoder and critic.
const LAYERS: usize = 3;

/// What turns observations into features.
#[derive(Clone, Debug, PartialEq)]
enum Encoder {
    Numbers(Hidden),
    Pictures(ImageEncoder),
}

/// What tells observations from features.
#[derive(Clone, Debug, PartialEq)]
enum Decoder {
    Numbers(Head),
    Pictures(ImageDecoder),
}

/// The architecture, without weights.
#[derive(Clone, Debug, PartialEq)]
pub struct DreamerNetwork {
    pub(super) layout: WeightLayout,
    pub(super) size: DreamerSize,
    pub(super) actions: usize,
    encoder: Encoder,
    pub(super) rssm: Rssm,
    decoder: Decoder,
    pub(super) reward: Head,
    pub(super) goes_on: Head,
    pub(super) policy: Policy,
    pub(super) critic: Head,
    /// Where the critic's weights begin; they are the last ones.
    pub(super) critic_from: usize,
}

impl DreamerNetwork {
    /// For what an environment shows and takes.
    pub fn new(environment: &dyn Environment, size: DreamerSize) -> DreamerNetwork {
        let mut layout = WeightLayout::default();
        let (seen, actions) = (environment.observations(), environment.actions());
        let (features, units) = (size.features(), size.units);
        let numbers = actions.outputs();
        let (encoder, encoded) = match environment.image() {
            None => (Encoder::Numbers(Hidden::new(&mut layout, "encoder", seen, units, LAYERS)), units),
            Some(image) => {
                let (encoder, encoded) = ImageEncoder::new(&mut layout, image, size.depth);
                (Encoder::Pictures(encoder), encoded)
            }
        };
        let rssm = Rssm::new(&mut layout, size, numbers, encoded);
        let decoder = match environment.image() {
            None => Decoder::Numbers(Head::new(&mut layout, "decoder", [features, units, seen], LAYERS, 1.0)),
            Some(image) => Decoder::Pictures(ImageDecoder::new(&mut layout, image, features, size.depth)),
        };
        let reward = Head::new(&mut layout, "reward", [features, units, BINS], 1, 0.0);
        let goes_on = Head::new(&mut layout, "continue", [features, units, 1], 1, 1.0);
        let policy = Policy::new(&mut layout, features, units, actions);
        let critic_from = layout.len();
        let critic = Head::new(&mut layout, "critic", [features, units, BINS], LAYERS, 0.0);
        let actions = numbers;
        DreamerNetwork {
            layout,
            size,
            actions,
            encoder,
            rssm,
            decoder,
            reward,
            goes_on,
            policy,
            critic,
            critic_from,
        }
    }

    /// The number of weights per agent, without the slow copy of the critic.
    pub fn numbers(&self) -> usize {
        self.layout.numbers_from(0)
    }

    /// The names of the weights.
    pub fn names(&self) -> Vec<String> {
        self.layout.names()
    }

    /// Features of observations `[agents, rows, observations]`.
    pub(super) fn encoded(&self, weights: &[Tensor], seen: &Tensor) -> Tensor {
        match &self.encoder {
            Encoder::Numbers(encoder) => encoder.apply(weights, &symlog(seen)),
            Encoder::Pictures(encoder) => encoder.apply(weights, seen),
        }
    }

    /// How far features are from telling observations, `[agents, rows]`: the sum of squares, of numbers in symlog.
    pub(super) fn reconstruction(&self, weights: &[Tensor], features: &Tensor, seen: &Tensor) -> Tensor {
        let off = match &self.decoder {
            Decoder::Numbers(decoder) => decoder.apply(weights, features) - symlog(seen),
            Decoder::Pictures(decoder) => decoder.apply(weights, features) - seen,
        };
        off.square().sum_axes([-1])
    }

    /// How likely it is that things go on, as logits `[agents, rows]`.
    pub(super) fn going(&self, weights: &[Tensor], features: &Tensor) -> Tensor {
        self.goes_on.apply(weights, features).squeeze(2)
    }

    /// What an agent remembers of so many worlds of every agent at the start of episodes: `[agents · worlds, ..]` each.
    pub fn memory(&self, agents: usize, worlds: usize, device: &farad::Device) -> Vec<Tensor> {
        let numbers = [self.size.deter, self.size.stoch * self.size.classes, self.actions];
        numbers.map(|width| Tensor::zeros([agents * worlds, width], device)).to_vec()
    }

    /// Looks at observations `[agents · worlds, observations]`: what the actor says, and the latent state, which it will
    /// remember together with the action.
    pub(super) fn look(&self, weights: &[Tensor], memory: &[Tensor], seen: &Tensor) -> (Tensor, Latent) {
        let agents = weights[0].shape()[0];
        let by_agent = |x: &Tensor| x.reshape([agents, x.shape()[0] / agents, x.shape()[1]]);
        let [deter, stoch, action] = [0, 1, 2].map(|n| by_agent(&memory[n]));
        let action = self.rssm.of_action(weights, &action);
        let seen = self.rssm.of_seen(weights, &self.encoded(weights, &by_agent(seen)));
        let noise = self.rssm.noise(agents, deter.shape()[1], deter.device());
        let (latent, _) = self.rssm.observe(weights, &Latent { deter, stoch }, &action, &seen, &noise);
        (self.policy.said(weights, &latent.features()), latent)
    }

    /// What is remembered after an action.
    pub(super) fn remembered(latent: &Latent, action: &Tensor) -> Vec<Tensor> {
        let flat = |x: &Tensor| x.reshape([x.shape()[0] * x.shape()[1], x.shape()[2]]);
        vec![flat(&latent.deter), flat(&latent.stoch), flat(action)]
    }

    /// The best actions in the environment's format, and what is remembered after them.
    pub fn act(&self, weights: &[Tensor], memory: &[Tensor], seen: &Tensor) -> (Tensor, Vec<Tensor>) {
        let (said, latent) = self.look(weights, memory, seen);
        let memory = DreamerNetwork::remembered(&latent, &self.policy.best(&said));
        (self.policy.to_environment(&memory[2]), memory)
    }
}
