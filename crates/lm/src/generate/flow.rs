//! Tokens that a device draws and feeds back to itself, while the host reads what it drew a few tokens ago.
//!
//! Invariant: the host knows the places of all tokens that the device has been asked for. So whatever the device is ahead
//! by can be forgotten: places beyond a text's length are written again before anything reads them.

use std::collections::VecDeque;

use farad::engine::Read;
use farad::{DType, Device, Tensor};

use super::Cache;
use super::cache::in_use;
use super::generator::TextState;
use super::kernels::DrawSettings;
use crate::error::Result;
use crate::model::Transformer;

/// Tokens that a GPU is ahead by. Not measured.
const AHEAD: usize = 4;

/// What a device has been asked for.
pub struct Flow {
    /// The last tokens, `[texts]`.
    tokens: Tensor,
    /// Where they go, `[texts]`; below zero for texts that take no part.
    places: Tensor,
    /// How many tokens each text had drawn before the next, `[texts]`.
    drawn: Tensor,
    /// The same places on the host; none for texts that take no part.
    next: Vec<Option<usize>>,
    waiting: VecDeque<Read>,
    ahead: usize,
}

fn whole(read: Read) -> Result<Vec<i32>> {
    let bytes = read.wait().map_err(farad::Error::from)?;
    Ok(bytes.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

impl Flow {
    /// Draws the first tokens from the logits after the prompts, and gives them.
    pub fn start(
        chunks: Vec<(Vec<usize>, Tensor)>,
        cache: &Cache,
        draws: &DrawSettings,
        texts: &[TextState],
    ) -> Result<(Flow, Vec<i32>)> {
        let device = chunks.first().map_or_else(Device::cpu, |(_, logits)| logits.device().clone());
        let count = texts.len();
        let drawn_by = |more: u32| {
            let drawn: Vec<u32> = texts.iter().map(|text| text.drawn + more).collect();
            Tensor::try_from_vec(&drawn, [count], &device)
        };
        let drawn = drawn_by(0)?;
        // A text's logits are those of the last chunk that it has part in.
        let mut drawn_tokens = vec![0; count];
        let several = chunks.len() > 1;
        let mut tokens = None;
        for (parts, logits) in chunks {
            let found = draws.draw(&logits, &drawn).detach()?;
            let values = whole(found.read()?)?;
            let ends = parts.iter().zip(&mut drawn_tokens).zip(values).filter(|((part, _), _)| **part > 0);
            ends.for_each(|((_, token), value)| *token = value);
            tokens = Some(found);
        }
        let tokens = match tokens {
            Some(tokens) if !several => tokens,
            _ => Tensor::try_from_vec(&drawn_tokens, [count], &device)?,
        };
        let next: Vec<Option<usize>> = texts
            .iter()
            .zip(cache.lengths())
            .map(|(text, &length)| (!text.ended).then_some(length))
            .collect();
        let flow = Flow {
            tokens,
            places: places(&next, &device)?,
            drawn: drawn_by(1)?,
            next,
            waiting: VecDeque::new(),
            ahead: if device.is_gpu() { AHEAD } else { 1 },
        };
        Ok((flow, drawn_tokens))
    }

    /// The next tokens; none if a text has no room for them, and nothing is on its way.
    pub fn next(
        &mut self,
        model: &Transformer,
        cache: &mut Cache,
        draws: &DrawSettings,
        texts: &[TextState],
    ) -> Result<Option<Vec<i32>>> {
        let ended = |(next, text): (&Option<usize>, &TextState)| next.is_some() && text.ended;
        if self.next.iter().zip(texts).any(ended) {
            for (next, _) in self.next.iter_mut().zip(texts).filter(|(_, text)| text.ended) {
                *next = None;
            }
            self.places = places(&self.next, self.tokens.device())?;
        }
        while self.waiting.len() < self.ahead {
            let longest = self.next.iter().copied().flatten().max();
            if longest.is_none_or(|longest| longest >= model.options().context) {
                break;
            }
            in_use(model, || self.ask(model, cache, draws))?;
        }
        self.waiting.pop_front().map(whole).transpose()
    }

    /// Asks for one more token of every text.
    fn ask(&mut self, model: &Transformer, cache: &mut Cache, draws: &DrawSettings) -> Result<()> {
        let longest = self.next.iter().copied().flatten().max().unwrap_or(0);
        cache.reserve(longest + 1)?;
        let results = cache.step(model, &self.tokens, &self.places, |logits| {
            let tokens = draws.draw(logits, &self.drawn);
            let places = self.places.greater_equal(0.0).select(&(&self.places + 1.0), &self.places);
            vec![tokens, places, &self.drawn + 1.0]
        })?;
        let mut results = results.into_iter();
        let mut result = |dtype| {
            let array = results.next().expect("three results");
            cache.results(vec![array], &[], dtype).remove(0)
        };
        self.tokens = result(DType::I32);
        self.places = result(DType::I32);
        self.drawn = result(DType::U32);
        self.next.iter_mut().flatten().for_each(|place| *place += 1);
        self.waiting.push_back(self.tokens.read()?);
        Ok(())
    }
}

/// Places as numbers on a device.
fn places(next: &[Option<usize>], device: &Device) -> Result<Tensor> {
    let numbers: Vec<i32> = next.iter().map(|place| place.map_or(-1, |place| place as i32)).collect();
    Ok(Tensor::try_from_vec(&numbers, [next.len()], device)?)
}
