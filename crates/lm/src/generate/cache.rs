//! Keys and values of the tokens so far.
//!
//! Every layer has room for 256 tokens at first, and for twice as many whenever it is full, up to the context. Where new
//! tokens go is a number given with the run. So one plan serves every place until there is more room. A prompt goes in chunks of a power of two, at most 256, so there
//! are at most nine plans. A chunk is padded to its power of two. What is written beyond its last token is
//! seen by none before a later token takes the place.
//!
//! Several texts may be held side by side, each with its own length. A text that has fewer new tokens than another is
//! padded, too.
//!
//! A full context forgets its older half and computes the newer half again from the first place on. That is
//! one long run every half context, instead of rotated or shifted places.

use farad::nn::{Module, Rotary};
use farad::{Attention, DType, Device, Tensor};

use crate::error::{Error, Result};
use crate::model::{SelfAttention, Transformer, within};

/// Tokens that there is room for at first.
const FIRST_PLACES: usize = 256;
/// Tokens that are computed at once at most.
const CHUNK: usize = 256;

/// What attention needs of the tokens that a model has seen, for one text or for several.
///
/// ```
/// use farad_lm::{Cache, ModelOptions, Transformer};
/// let options = ModelOptions { layers: 1, heads: 2, width: 8, context: 16, vocabulary: 10, ..Default::default() };
/// let model = Transformer::new(&options)?;
/// let mut cache = Cache::new(&model)?;
/// let logits = cache.advance(&model, &[1, 2, 3])?;
/// assert_eq!((logits.len(), cache.len()), (10, 3));
/// # Ok::<(), farad_lm::Error>(())
/// ```
pub struct Cache {
    /// Keys and values of every layer, `[texts, heads of keys, places, columns]`.
    layers: Vec<[Tensor; 2]>,
    /// As many tokens of a text as it has room for now.
    places: usize,
    /// As many as it may have.
    context: usize,
    /// How many tokens of each text there are.
    lengths: Vec<usize>,
}

/// Where a chunk's tokens stand, as numbers given with the run.
struct ChunkPlaces {
    /// The first of each text, `[texts, 1]`.
    start: Tensor,
    /// All, `[texts, chunk]`; those beyond the last place are there.
    tokens: Tensor,
    /// Those of the whole cache, `[places]`.
    all: Tensor,
    /// Which keys each token sees, `[texts, 1, chunk, places]`.
    seen: Tensor,
    /// The same for layers with a window.
    windowed: Option<Tensor>,
    /// Which places get new keys, `[texts, 1, places, 1]`.
    fresh: Tensor,
}

impl Cache {
    /// Empty, for one text, with room for the model's context, on its device.
    pub fn new(model: &Transformer) -> Result<Cache> {
        Cache::of_texts(model, 1)
    }

    /// Empty, for so many texts.
    pub fn of_texts(model: &Transformer, texts: usize) -> Result<Cache> {
        let options = model.options();
        let places = options.context.min(FIRST_PLACES);
        let shape = [texts, options.key_heads(), places, options.head_width()];
        // Values of their own from the start: a constant, or one tensor for all, would make the first chunk another plan.
        let empty = || Tensor::zeros(shape, &model.device()).detach();
        let layers = (0..options.layers).map(|_| Ok([empty()?, empty()?])).collect::<Result<_>>()?;
        Ok(Cache { layers, places, context: options.context, lengths: vec![0; texts] })
    }

    /// How many tokens of the first text it has seen.
    pub fn len(&self) -> usize {
        self.lengths[0]
    }

    /// Whether it has seen none.
    pub fn is_empty(&self) -> bool {
        self.lengths.iter().all(|&length| length == 0)
    }

    /// How many more tokens of the first text there is room for.
    pub fn room(&self) -> usize {
        self.room_of(0)
    }

    /// How many more tokens of a text there is room for.
    pub fn room_of(&self, text: usize) -> usize {
        self.context - self.lengths[text]
    }

    /// Forgets everything; the memory stays.
    pub fn clear(&mut self) {
        self.lengths.fill(0);
    }

    /// Forgets one text.
    pub fn clear_text(&mut self, text: usize) {
        self.lengths[text] = 0;
    }

    /// Takes in tokens of the only text and gives the logits of what comes after the last, `[vocabulary]`. Dropout is off.
    /// An error, and nothing changed, if there is no token, no room, or a token that the model does not know.
    pub fn advance(&mut self, model: &Transformer, tokens: &[u32]) -> Result<Vec<f32>> {
        assert!(self.lengths.len() == 1, "cache: one text is given (1 vs {} texts)", self.lengths.len());
        if tokens.is_empty() {
            return Err(Error::NoTokens);
        }
        Ok(self.advance_texts(model, &[tokens])?.pop().unwrap_or_default())
    }

    /// Takes in tokens of every text and gives the logits after the last of each. A text without new tokens stays as it
    /// is, and its logits are empty.
    pub fn advance_texts(&mut self, model: &Transformer, tokens: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        assert!(
            tokens.len() == self.lengths.len(),
            "cache: other texts ({} vs {})",
            tokens.len(),
            self.lengths.len()
        );
        let vocabulary = model.options().vocabulary;
        if let Some(&token) = tokens.iter().copied().flatten().find(|&&token| token as usize >= vocabulary) {
            return Err(Error::UnknownToken { token, vocabulary });
        }
        for (text, new) in tokens.iter().enumerate() {
            if new.len() > self.room_of(text) {
                let (tokens, cached) = (new.len(), self.lengths[text]);
                return Err(Error::NoRoom { tokens, cached, context: self.context });
            }
        }
        let longest = self.lengths.iter().zip(tokens).map(|(length, new)| length + new.len()).max();
        self.grow(longest.unwrap_or(0))?;
        let training = model.is_training();
        model.eval();
        let logits = self.chunks(model, tokens);
        if training {
            model.train();
        }
        logits
    }

    /// Makes room for so many tokens.
    fn grow(&mut self, tokens: usize) -> Result<()> {
        if tokens <= self.places {
            return Ok(());
        }
        let places = tokens.next_power_of_two().min(self.context);
        for kept in self.layers.iter_mut().flatten() {
            let mut shape = kept.shape().to_vec();
            shape[2] = places - self.places;
            *kept = Tensor::concat(&[kept, &Tensor::zeros(shape, kept.device())], 2).detach()?;
        }
        self.places = places;
        Ok(())
    }

    fn chunks(&mut self, model: &Transformer, tokens: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let longest = tokens.iter().map(|new| new.len()).max().unwrap_or(0);
        let mut logits = vec![Vec::new(); tokens.len()];
        for first in (0..longest).step_by(CHUNK) {
            let part = |new: &&'_ [u32]| {
                let end = new.len().min(first + CHUNK);
                new[first.min(end)..end].to_vec()
            };
            let parts: Vec<Vec<u32>> = tokens.iter().map(part).collect();
            let rows = self.chunk(model, &parts)?;
            for (text, row) in rows.chunks(model.options().vocabulary).enumerate() {
                if !parts[text].is_empty() {
                    logits[text] = row.to_vec();
                }
            }
        }
        Ok(logits)
    }

    /// The logits after the last tokens, one text after the other.
    fn chunk(&mut self, model: &Transformer, parts: &[Vec<u32>]) -> Result<Vec<f32>> {
        let (device, texts) = (model.device(), parts.len());
        let count = parts.iter().map(Vec::len).max().unwrap_or(1).next_power_of_two();
        let padded = |part: &Vec<u32>| {
            part.iter()
                .map(|&token| token as i32)
                .chain(std::iter::repeat(0))
                .take(count)
                .collect::<Vec<i32>>()
        };
        let ids: Vec<i32> = parts.iter().flat_map(padded).collect();
        let ids = Tensor::try_from_vec(&ids, [texts, count], &device)?;
        let window = model.h.iter().find_map(|block| block.attn.window());
        let places = ChunkPlaces::new(&self.lengths, count, self.places, window, &device)?;
        let mut x = model.embed_at(&ids, &places.tokens);
        let mut layers = Vec::with_capacity(self.layers.len());
        for (block, kept) in model.h.iter().zip(&self.layers) {
            x = block.forward_with(&x, |attention, x| {
                let (y, updated) = places.attend(attention, x, kept);
                layers.push(updated);
                y
            });
        }
        let last: Vec<usize> = parts.iter().map(|part| part.len().saturating_sub(1)).collect();
        let logits = model.logits(&rows_at(&x, &last, &device)?);
        let mut all = vec![&logits];
        all.extend(layers.iter().flatten());
        Tensor::compute_all(&all)?;
        for (kept, [keys, values]) in self.layers.iter_mut().zip(&layers) {
            *kept = [keys.detach()?, values.detach()?];
        }
        self.lengths.iter_mut().zip(parts).for_each(|(length, part)| *length += part.len());
        Ok(logits.to_vec::<f32>()?)
    }
}

/// Whole numbers as a column: given with the run if there is one, so that it takes no upload.
fn column(numbers: &[usize], device: &Device) -> Result<Tensor> {
    Ok(match numbers {
        // Exact: the context is at most 2^24.
        [one] => Tensor::number(*one as f32, device).cast(DType::I32).reshape([1, 1]),
        _ => {
            let numbers: Vec<i32> = numbers.iter().map(|&number| number as i32).collect();
            Tensor::try_from_vec(&numbers, [numbers.len(), 1], device)?
        }
    })
}

/// One row of features of each text: `[texts, time, width] -> [texts, width]`.
fn rows_at(x: &Tensor, places: &[usize], device: &Device) -> Result<Tensor> {
    let (texts, width) = (x.size(0), x.size(2));
    let places = column(places, device)?;
    let rows = match texts {
        1 => x.index_select(1, &places.reshape([1])),
        _ => x.gather(1, &places.reshape([texts, 1, 1]).broadcast_to([texts, 1, width])),
    };
    Ok(rows.reshape([texts, width]))
}

impl ChunkPlaces {
    fn new(
        starts: &[usize],
        count: usize,
        places: usize,
        window: Option<usize>,
        device: &Device,
    ) -> Result<ChunkPlaces> {
        let start = column(starts, device)?;
        let all = Tensor::arange(places, device);
        let tokens = Tensor::arange(count, device) + &start;
        let query = tokens.unsqueeze(-1);
        let seen = all.less_equal(&query).unsqueeze(1);
        let windowed = window.map(|window| within(&query, &all, window).unsqueeze(1));
        let fresh = all.greater_equal(&start).and(all.less(&start + count as f64));
        let fresh = fresh.unsqueeze(1).unsqueeze(-1);
        let tokens = tokens.minimum((places - 1) as f64);
        Ok(ChunkPlaces { start, tokens, all, seen, windowed, fresh })
    }

    /// Attention of new tokens to all so far, and the keys and values with theirs among them.
    #[track_caller]
    fn attend(&self, attention: &SelfAttention, x: &Tensor, kept: &[Tensor; 2]) -> (Tensor, [Tensor; 2]) {
        let [q, k, v] = attention.project(x);
        let (most, places) = (self.all.numel(), self.tokens.unsqueeze(1));
        let turned = |rotary: &Rotary, x: &Tensor| rotary.forward_at(x, &places, most);
        let [q, k] = [q, k].map(|t| attention.turn(&t, turned));
        let updated = [self.put(&k, &kept[0]), self.put(&v, &kept[1])];
        let seen = match attention.window() {
            Some(_) => self.windowed.as_ref().unwrap_or(&self.seen),
            None => &self.seen,
        };
        let y = q.attention(&updated[0], &updated[1], &Attention::new().mask(seen));
        (attention.join(&y), updated)
    }

    /// What was kept, with new rows in their places.
    #[track_caller]
    fn put(&self, rows: &Tensor, kept: &Tensor) -> Tensor {
        let (texts, count, context) = (rows.size(0), rows.size(2), self.all.numel());
        let place = || (&self.all - &self.start).clamp(0.0, (count - 1) as f64);
        let spread = match (count, texts) {
            (1, _) => rows.broadcast_to(kept.shape()),
            (_, 1) => rows.index_select(2, &place().reshape([context])),
            _ => rows.gather(2, &place().reshape([texts, 1, context, 1]).broadcast_to(kept.shape())),
        };
        self.fresh.select(&spread, kept)
    }
}
