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
    drawn: u64,
}

/// Random numbers of this stream, apart from those that tensors draw.
const STREAM: u32 = 0x746f_6b65;

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
        if self.sampling.temperature == 0.0 {
            return Ok(likeliest(&scores));
        }
        let chosen = self.candidates(&scores);
        let total: f64 = chosen.iter().map(|(_, weight)| weight).sum();
        let mut rest = self.uniform() * total;
        for &(token, weight) in &chosen {
            rest -= weight;
            if rest < 0.0 {
                return Ok(token);
            }
        }
        // Rounding left a little over.
        Ok(chosen.last().map_or_else(|| likeliest(&scores), |&(token, _)| token))
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

    /// Tokens that may be drawn with their weights, the likeliest first.
    fn candidates(&self, scores: &[f32]) -> Vec<(u32, f64)> {
        let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weight = |score: f32| match score == top {
            // Differences of infinities are none.
            true => 1.0,
            false => ((score as f64 - top as f64) / self.sampling.temperature as f64).exp(),
        };
        let mut all: Vec<(u32, f64)> =
            scores.iter().enumerate().map(|(token, &score)| (token as u32, weight(score))).collect();
        let Sampling { top_k, top_p, .. } = self.sampling;
        if top_k == 0 && top_p >= 1.0 {
            return all;
        }
        // Equals by their numbers, so that the order depends on nothing else.
        let order = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if (1..all.len()).contains(&top_k) {
            all.select_nth_unstable_by(top_k - 1, order);
            all.truncate(top_k);
        }
        all.sort_unstable_by(order);
        let bound = top_p as f64 * all.iter().map(|(_, weight)| weight).sum::<f64>();
        let mut sum = 0.0;
        let kept = all.iter().position(|(_, weight)| {
            sum += weight;
            sum >= bound
        });
        all.truncate(kept.map_or(all.len(), |last| last + 1));
        all
    }

    /// From 0 to below 1, another one each time.
    fn uniform(&mut self) -> f64 {
        let (seed, drawn) = (self.sampling.seed, self.drawn);
        let counter = [drawn as u32, (drawn >> 32) as u32, STREAM, 0];
        let [a, b, ..] = philox::block(counter, [seed as u32, (seed >> 32) as u32]);
        self.drawn += 1;
        (((a as u64) << 32 | b as u64) >> 11) as f64 / (1u64 << 53) as f64
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
