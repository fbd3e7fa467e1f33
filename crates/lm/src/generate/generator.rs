//! Tokens, one after the other.

use super::{Cache, Sampler, Sampling};
use crate::error::{Error, Result};
use crate::model::Transformer;

/// Goes on with a text, endlessly: an iterator of tokens.
///
/// Once the context is full, the older half is forgotten and the newer half computed again from the first place on, so
/// a text may be of any length and most tokens cost one place each.
///
/// ```
/// use farad_lm::{Generator, ModelOptions, Sampling, Transformer};
/// let options = ModelOptions { layers: 1, heads: 2, width: 8, context: 8, vocabulary: 10, ..Default::default() };
/// let model = Transformer::new(&options)?;
/// let mut generator = Generator::new(&model, Sampling::default())?;
/// generator.push(&[1, 2, 3])?;
/// let tokens = generator.take(20).collect::<Result<Vec<u32>, _>>()?;
/// assert!(tokens.len() == 20 && tokens.iter().all(|&token| token < 10));
/// # Ok::<(), farad_lm::Error>(())
/// ```
pub struct Generator<'a> {
    model: &'a Transformer,
    cache: Cache,
    sampler: Sampler,
    /// The last tokens, given and drawn, as many as the context has places at most.
    text: Vec<u32>,
    /// How many of them, from the end, the cache has not seen.
    fresh: usize,
}

impl<'a> Generator<'a> {
    /// With an empty text.
    pub fn new(model: &'a Transformer, sampling: Sampling) -> Result<Generator<'a>> {
        let sampler = Sampler::new(sampling)?;
        Ok(Generator { model, cache: Cache::new(model)?, sampler, text: Vec::new(), fresh: 0 })
    }

    /// Appends tokens to the text: a prompt, or what somebody else says. An error, and nothing changed, if they are more
    /// than the context has places, or if the model does not know one.
    pub fn push(&mut self, tokens: &[u32]) -> Result<()> {
        let options = self.model.options();
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= options.vocabulary) {
            return Err(Error::UnknownToken { token, vocabulary: options.vocabulary });
        }
        if tokens.len() > options.context {
            return Err(Error::PromptTooLong { tokens: tokens.len(), context: options.context });
        }
        self.text.extend(tokens);
        self.fresh += tokens.len();
        Ok(())
    }

    /// The tokens that the model sees, given and drawn.
    pub fn text(&self) -> &[u32] {
        &self.text
    }

    /// Draws the next token and appends it. An error if there is no text yet to go on with.
    pub fn next_token(&mut self) -> Result<u32> {
        if self.text.is_empty() {
            return Err(Error::NoTokens);
        }
        if self.fresh > self.cache.room() {
            self.slide();
        }
        let logits = self.cache.advance(self.model, &self.text[self.text.len() - self.fresh..])?;
        self.fresh = 0;
        let token = self.sampler.sample(&logits, &self.text)?;
        self.text.push(token);
        self.fresh = 1;
        Ok(token)
    }

    /// Forgets the older half of the text, but nothing that is new.
    fn slide(&mut self) {
        let context = self.model.options().context;
        let kept = (context / 2).max(self.fresh).min(context).min(self.text.len());
        tracing::debug!(kept, forgotten = self.text.len() - kept, "the context is full");
        self.text.drain(..self.text.len() - kept);
        self.cache.clear();
        self.fresh = kept;
    }
}

impl Iterator for Generator<'_> {
    type Item = Result<u32>;

    fn next(&mut self) -> Option<Result<u32>> {
        Some(self.next_token())
    }
}
