//! How the next token is drawn from logits.

use farad::philox;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What decides which token comes next.
///
/// ```
/// use farad_lm::Sampling;
/// assert!(Sampling { top_p: 0.0, ..Sampling::default() }.check().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// Logits are divided by this: below 1 the likely becomes likelier. 0: always the most likely token.
    pub temperature: f32,
    /// Only this many of the most likely tokens; 0: all.
    pub top_k: usize,
    /// Only the most likely tokens with this total probability; 1: all.
    pub top_p: f32,
    /// Logits of tokens that are in the text already are divided by this if positive and multiplied if not; 1:
    /// nothing.
    pub repetition_penalty: f32,
    /// The same seed draws the same tokens.
    pub seed: u64,
}

impl Default for Sampling {
    /// From all tokens by their probabilities.
    fn default() -> Sampling {
        Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, repetition_penalty: 1.0, seed: 0 }
    }
}

impl Sampling {
    /// Says what makes no sense.
    pub fn check(&self) -> Result<()> {
        let bad = |key: &str, wanted, value: f32| {
            Err(Error::Sampling { key: key.to_string(), wanted, found: value.to_string() })
        };
        let Sampling { temperature, top_p, repetition_penalty, .. } = *self;
        if !(temperature >= 0.0 && temperature.is_finite()) {
            return bad("temperature", "a number from 0 on", temperature);
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return bad("top_p", "a number above 0 and up to 1", top_p);
        }
        if !(repetition_penalty > 0.0 && repetition_penalty.is_finite()) {
            return bad("repetition_penalty", "a number above 0", repetition_penalty);
        }
        Ok(())
    }
}

/// Draws tokens, one after the other.
#[derive(Clone, Debug)]
pub struct Sampler {
    sampling: Sampling,
    /// How many were drawn: the place of the next random number.
    drawn: u32,
}

/// Random numbers of this stream, apart from those that tensors draw.
pub(super) const STREAM: u32 = 0x746f_6b65;

impl Sampler {
    /// At the beginning of its random numbers.
    pub fn new(sampling: Sampling) -> Result<Sampler> {
        sampling.check()?;
        Ok(Sampler { sampling, drawn: 0 })
    }

    /// The next token by its logits `[vocabulary]`, after a text.
    ///
    /// ```
    /// use farad_lm::{Sampler, Sampling};
    /// let mut greedy = Sampler::new(Sampling { temperature: 0.0, ..Sampling::default() })?;
    /// assert_eq!(greedy.sample(&[0.5, 2.0, 1.0], &[])?, 1);
    /// # Ok::<(), farad_lm::Error>(())
    /// ```
    pub fn sample(&mut self, logits: &[f32], text: &[u32]) -> Result<u32> {
        if let Some(token) = logits.iter().position(|x| x.is_nan()) {
            return Err(Error::NotANumber { token: token as u32 });
        }
        let mut scores = logits.to_vec();
        self.penalize(&mut scores, text);
        let Sampling { temperature, top_k, top_p, seed, .. } = self.sampling;
        let seed = [seed as u32, (seed >> 32) as u32];
        let choice = Choice { temperature, top_k, top_p, seed };
        let token = choice.token(&scores, self.drawn);
        self.drawn = self.drawn.wrapping_add(1);
        u32::try_from(token).map_err(|_| Error::NotANumber { token: (-1 - token) as u32 })
    }

    fn penalize(&self, scores: &mut [f32], text: &[u32]) {
        let penalty = self.sampling.repetition_penalty;
        if penalty == 1.0 {
            return;
        }
        let mut done = vec![false; scores.len()];
        for token in text.iter().map(|&token| token as usize) {
            if token < scores.len() && !std::mem::replace(&mut done[token], true) {
                let score = &mut scores[token];
                *score = if *score > 0.0 { *score / penalty } else { *score * penalty };
            }
        }
    }
}

/// How one token is drawn; what `draw_tokens.wgsl` does on a GPU.
///
/// Every token that may be drawn gets a random number of its own (Gumbel), and the largest sum with its logit wins. So a
/// draw needs no order of the tokens, and equals may all be drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub temperature: f32,
    pub top_k: usize,
    pub top_p: f32,
    pub seed: [u32; 2],
}

/// What a probability of one counts for: probabilities are added as whole numbers, so that no order of adding matters.
const WHOLE: f32 = (1 << 28) as f32;

impl Choice {
    /// The token, as one of so many that the text has drawn; below zero, `-1 -` the first whose logit is not a number.
    pub fn token(&self, logits: &[f32], drawn: u32) -> i32 {
        if let Some(token) = logits.iter().position(|x| x.is_nan()) {
            return -1 - token as i32;
        }
        if self.temperature == 0.0 {
            return likeliest(logits) as i32;
        }
        let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        // Differences of infinities are none.
        let scaled = |x: f32| if x == top { 0.0 } else { (x - top) / self.temperature };
        let least = self.least(logits, scaled);
        let (mut best, mut highest) = (0, f32::NEG_INFINITY);
        let mut words = [0; 4];
        for (token, &x) in logits.iter().enumerate() {
            if token % 4 == 0 {
                words = philox::block([token as u32 / 4, drawn, STREAM, 0], self.seed);
            }
            if x < least {
                continue;
            }
            let share = ((words[token % 4] >> 9) as f32 + 0.5) * f32::EPSILON;
            let score = scaled(x) - (-share.ln()).ln();
            if score > highest {
                (best, highest) = (token, score);
            }
        }
        best as i32
    }

    /// The smallest logit that may be drawn.
    fn least(&self, logits: &[f32], scaled: impl Fn(f32) -> f32) -> f32 {
        let only_k = (1..logits.len()).contains(&self.top_k);
        if !only_k && self.top_p >= 1.0 {
            return f32::NEG_INFINITY;
        }
        let mut all = logits.to_vec();
        let order = |a: &f32, b: &f32| b.total_cmp(a);
        let mut least = f32::NEG_INFINITY;
        if only_k {
            least = *all.select_nth_unstable_by(self.top_k - 1, order).1;
            all.retain(|&x| x >= least);
        }
        if self.top_p >= 1.0 {
            return least;
        }
        all.sort_unstable_by(order);
        let weight = |x: f32| (scaled(x).exp() * WHOLE) as u64;
        let bound = f64::from(self.top_p) * all.iter().map(|&x| weight(x)).sum::<u64>() as f64;
        let mut sum = 0;
        let last = all.iter().find(|&&x| {
            sum += weight(x);
            sum as f64 >= bound
        });
        last.copied().unwrap_or(least)
    }
}

/// The first of the largest.
fn likeliest(scores: &[f32]) -> u32 {
    let mut best = 0;
    for (token, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = token;
        }
    }
    best as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGITS: [f32; 5] = [1.0, 3.0, 2.0, -1.0, 0.0];

    fn draws(sampling: Sampling, count: usize) -> Vec<u32> {
        let mut sampler = Sampler::new(sampling).expect("sound");
        (0..count).map(|_| sampler.sample(&LOGITS, &[]).expect("numbers")).collect()
    }

    #[test]
    fn shares_are_the_probabilities() {
        let drawn = draws(Sampling::default(), 20_000);
        let total: f32 = LOGITS.iter().map(|x| x.exp()).sum();
        for (token, logit) in LOGITS.iter().enumerate() {
            let share = drawn.iter().filter(|&&n| n as usize == token).count() as f32 / 20_000.0;
            assert!((share - logit.exp() / total).abs() < 0.012, "{token}: {share}");
        }
    }

    #[test]
    fn a_seed_draws_the_same_again_and_another_does_not() {
        let sampling = Sampling { seed: 7, ..Sampling::default() };
        assert_eq!(draws(sampling, 50), draws(sampling, 50));
        assert_ne!(draws(sampling, 50), draws(Sampling { seed: 8, ..sampling }, 50));
    }

    #[test]
    fn only_the_likeliest_are_drawn() {
        let seen = |sampling| {
            let mut all = draws(sampling, 2000);
            all.sort();
            all.dedup();
            all
        };
        assert_eq!(seen(Sampling { top_k: 2, ..Sampling::default() }), [1, 2]);
        // 0.64 and 0.24 of the probability: the second is needed for 0.7, the third for 0.9.
        assert_eq!(seen(Sampling { top_p: 0.7, ..Sampling::default() }), [1, 2]);
        assert_eq!(seen(Sampling { top_p: 0.9, ..Sampling::default() }), [0, 1, 2]);
        assert_eq!(seen(Sampling { top_p: 1e-6, ..Sampling::default() }), [1]);
        assert_eq!(seen(Sampling { temperature: 0.0, ..Sampling::default() }), [1]);
        assert_eq!(seen(Sampling { temperature: 1e-3, ..Sampling::default() }), [1]);
        assert_eq!(seen(Sampling { top_k: 100, ..Sampling::default() }), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn repeated_tokens_are_less_likely() {
        let sampling = Sampling { temperature: 0.0, repetition_penalty: 2.0, ..Sampling::default() };
        let mut sampler = Sampler::new(sampling).expect("sound");
        assert_eq!(sampler.sample(&LOGITS, &[1, 1]).expect("numbers"), 2);
        assert_eq!(sampler.sample(&[-1.0, -1.5], &[0]).expect("numbers"), 1);
    }

    #[test]
    fn infinities_are_certain_and_what_is_no_number_is_refused() {
        let mut sampler = Sampler::new(Sampling::default()).expect("sound");
        assert_eq!(sampler.sample(&[f32::NEG_INFINITY, 0.0], &[]).expect("numbers"), 1);
        assert_eq!(sampler.sample(&[0.0, f32::INFINITY], &[]).expect("numbers"), 1);
        let text = sampler.sample(&[0.0, f32::NAN], &[]).unwrap_err().to_string();
        assert_eq!(text.lines().next(), Some("generate: the logit of token 1 is not a number"));
        let text =
            Sampler::new(Sampling { temperature: -1.0, ..Sampling::default() }).unwrap_err().to_string();
        assert_eq!(text, "generate: temperature takes a number from 0 on, not `-1`");
    }
}
