//! Tokens, one after the other, for one text or for several at once.

use super::flow::Flow;
use super::kernels::DrawSettings;
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
    texts: TextBatch<'a>,
}

impl<'a> Generator<'a> {
    /// With an empty text.
    pub fn new(model: &'a Transformer, sampling: Sampling) -> Result<Generator<'a>> {
        Ok(Generator { texts: TextBatch::new(model, sampling, 1)? })
    }

    /// Makes room for so many tokens in all, at most the context: with that, memory and plans do not grow on the way.
    pub fn reserve(&mut self, tokens: usize) -> Result<()> {
        self.texts.reserve(tokens)
    }

    /// Appends tokens to the text: a prompt, or what somebody else says. An error, and nothing changed, if they are more
    /// than the context has places, or if the model does not know one.
    pub fn push(&mut self, tokens: &[u32]) -> Result<()> {
        self.texts.push(0, tokens)
    }

    /// The tokens that the model sees, given and drawn.
    pub fn text(&self) -> &[u32] {
        self.texts.text(0)
    }

    /// Draws the next token and appends it. An error if there is no text yet to go on with.
    pub fn next_token(&mut self) -> Result<u32> {
        let drawn = self.texts.next_tokens()?;
        drawn.into_iter().next().flatten().ok_or(Error::NoTokens)
    }
}

impl Iterator for Generator<'_> {
    type Item = Result<u32>;

    fn next(&mut self) -> Option<Result<u32>> {
        Some(self.next_token())
    }
}

/// Goes on with several texts side by side: one run of the model draws a token of each. Each is drawn as if it were
/// alone.
///
/// Tokens are drawn on the device and fed back there. A GPU is a few tokens ahead of what [`TextBatch::next_tokens`]
/// gives; what it is ahead by is forgotten when a text ends or gets more tokens.
///
/// ```
/// use farad_lm::{ModelOptions, Sampling, TextBatch, Transformer};
/// let options = ModelOptions { layers: 1, heads: 2, width: 8, context: 8, vocabulary: 10, ..Default::default() };
/// let model = Transformer::new(&options)?;
/// let mut texts = TextBatch::new(&model, Sampling::default(), 2)?;
/// texts.push(0, &[1, 2, 3])?;
/// texts.push(1, &[4])?;
/// assert!(texts.next_tokens()?.iter().all(Option::is_some));
/// texts.end(0);
/// assert!(texts.next_tokens()?[0].is_none());
/// # Ok::<(), farad_lm::Error>(())
/// ```
pub struct TextBatch<'a> {
    model: &'a Transformer,
    cache: Cache,
    texts: Vec<TextState>,
    /// How tokens are drawn on the device; none: the host draws them.
    draws: Option<DrawSettings>,
    /// What the device is ahead by.
    flow: Option<Flow>,
}

/// One text under way.
pub(super) struct TextState {
    sampler: Sampler,
    /// The last tokens, given and drawn, as many as the context has places at most.
    tokens: Vec<u32>,
    /// How many of them, from the end, the cache has not seen.
    fresh: usize,
    /// How many tokens were drawn.
    pub drawn: u32,
    /// Nothing more is drawn.
    pub ended: bool,
}

impl<'a> TextBatch<'a> {
    /// With so many empty texts. All draw from the same random numbers.
    pub fn new(model: &'a Transformer, sampling: Sampling, count: usize) -> Result<TextBatch<'a>> {
        let (sampler, vocabulary) = (Sampler::new(sampling)?, model.options().vocabulary);
        let state = |_| {
            let sampler = sampler.clone();
            TextState { sampler, tokens: Vec::new(), fresh: 0, drawn: 0, ended: false }
        };
        let texts = (0..count).map(state).collect();
        let cache = Cache::of_texts(model, count)?;
        // Penalties need the text, which the host has.
        let on_device = sampling.repetition_penalty == 1.0
            && vocabulary <= DrawSettings::MOST_TOKENS
            && cache.suits_tokens();
        let draws =
            on_device.then(|| DrawSettings::new(&sampling, vocabulary, &model.device())).transpose()?;
        Ok(TextBatch { model, cache, texts, draws, flow: None })
    }

    /// Makes room for so many tokens of each text, at most the context: with that, memory and plans do not grow on the way.
    pub fn reserve(&mut self, tokens: usize) -> Result<()> {
        self.cache.reserve(tokens.min(self.model.options().context))
    }

    /// Appends tokens to a text. An error, and nothing changed, if they are more than the context has places, or if the
    /// model does not know one.
    pub fn push(&mut self, text: usize, tokens: &[u32]) -> Result<()> {
        let options = self.model.options();
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= options.vocabulary) {
            return Err(Error::UnknownToken { token, vocabulary: options.vocabulary });
        }
        if tokens.len() > options.context {
            return Err(Error::PromptTooLong { tokens: tokens.len(), context: options.context });
        }
        let state = &mut self.texts[text];
        state.tokens.extend(tokens);
        state.fresh += tokens.len();
        if !tokens.is_empty() {
            self.flow = None;
        }
        Ok(())
    }

    /// The tokens of a text that the model sees, given and drawn.
    pub fn text(&self, text: usize) -> &[u32] {
        &self.texts[text].tokens
    }

    /// Draws nothing more for a text.
    pub fn end(&mut self, text: usize) {
        self.texts[text].ended = true;
    }

    /// Draws the next token of every text that has not ended, and appends it. An error if one of them is empty.
    pub fn next_tokens(&mut self) -> Result<Vec<Option<u32>>> {
        if self.texts.iter().any(|state| !state.ended && state.tokens.is_empty()) {
            return Err(Error::NoTokens);
        }
        if let (Some(draws), Some(flow)) = (&self.draws, &mut self.flow)
            && let Some(tokens) = flow.next(self.model, &mut self.cache, draws, &self.texts)?
        {
            return self.accept(&tokens, true);
        }
        self.flow = None;
        for text in 0..self.texts.len() {
            if !self.texts[text].ended && self.texts[text].fresh > self.cache.room_of(text) {
                self.slide(text);
            }
        }
        let new: Vec<&[u32]> = self.texts.iter().map(TextState::unseen).collect();
        match &self.draws {
            Some(draws) => {
                let chunks = self.cache.take_in(self.model, &new)?;
                let (flow, tokens) = Flow::start(chunks, &self.cache, draws, &self.texts)?;
                self.flow = Some(flow);
                self.accept(&tokens, false)
            }
            None => {
                let logits = self.cache.advance_texts(self.model, &new)?;
                let states = self.texts.iter_mut().zip(&logits);
                states.map(|(state, logits)| state.draw(logits)).collect()
            }
        }
    }

    /// Appends what the device drew. `counted`: whether the step that drew it put an earlier token into the cache.
    fn accept(&mut self, tokens: &[i32], counted: bool) -> Result<Vec<Option<u32>>> {
        let mut drawn = Vec::with_capacity(tokens.len());
        for (text, (state, &token)) in self.texts.iter_mut().zip(tokens).enumerate() {
            if state.ended {
                drawn.push(None);
                continue;
            }
            let token = u32::try_from(token).map_err(|_| Error::NotANumber { token: (-1 - token) as u32 })?;
            if counted {
                self.cache.count(text);
            }
            state.append(token);
            drawn.push(Some(token));
        }
        Ok(drawn)
    }

    /// Forgets the older half of a text, but nothing that is new.
    fn slide(&mut self, text: usize) {
        let context = self.model.options().context;
        let state = &mut self.texts[text];
        let kept = (context / 2).max(state.fresh).min(context).min(state.tokens.len());
        tracing::debug!(kept, forgotten = state.tokens.len() - kept, "the context is full");
        state.tokens.drain(..state.tokens.len() - kept);
        state.fresh = kept;
        self.cache.clear_text(text);
    }
}

impl TextState {
    /// What the cache has not seen.
    fn unseen(&self) -> &[u32] {
        match self.ended {
            true => &[],
            false => &self.tokens[self.tokens.len() - self.fresh..],
        }
    }

    fn draw(&mut self, logits: &[f32]) -> Result<Option<u32>> {
        if self.ended {
            return Ok(None);
        }
        let token = self.sampler.sample(logits, &self.tokens)?;
        self.append(token);
        Ok(Some(token))
    }

    fn append(&mut self, token: u32) {
        self.tokens.push(token);
        self.fresh = 1;
        self.drawn += 1;
    }
}
