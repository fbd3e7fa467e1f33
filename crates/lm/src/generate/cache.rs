//! Keys and values of the tokens so far.
//!
//! Every layer has room for the whole context from the start, and where new tokens go is a number given with
//! the run. So one plan serves every place. A prompt goes in chunks of a power of two, at most 256, so there
//! are at most nine plans. A chunk is padded to its power of two. What is written beyond its last token is
//! seen by none before a later token takes the place.
//!
//! A full context forgets its older half and computes the newer half again from the first place on. That is
//! one long run every half context, instead of rotated or shifted places.

use farad::nn::{Module, Rotary};
use farad::{Attention, DType, Device, Tensor};

use crate::error::{Error, Result};
use crate::model::{SelfAttention, Transformer};

/// Tokens that are computed at once at most.
const CHUNK: usize = 256;

/// What attention needs of the tokens that a model has seen, for one text.
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
    /// Keys and values of every layer, `[1, heads, context, columns]`.
    layers: Vec<[Tensor; 2]>,
    context: usize,
    length: usize,
}

/// Where a chunk's tokens stand, as numbers given with the run.
struct ChunkPlaces {
    /// The first, `[]`.
    start: Tensor,
    /// All, `[chunk]`; those beyond the context are at its end.
    tokens: Tensor,
    /// Those of the whole context, `[context]`.
    all: Tensor,
    /// Which keys each token sees, `[chunk, context]`.
    seen: Tensor,
    /// Which places of the context get new keys, `[context, 1]`.
    fresh: Tensor,
}

impl Cache {
    /// Empty, with room for the model's context, on its device.
    pub fn new(model: &Transformer) -> Result<Cache> {
        let options = model.options();
        let shape = [1, options.heads, options.context, options.width / options.heads];
        // Values of their own from the start: a constant, or one tensor for all, would make the first chunk another plan.
        let empty = || Tensor::zeros(shape, &model.device()).detach();
        let layers = (0..options.layers).map(|_| Ok([empty()?, empty()?])).collect::<Result<_>>()?;
        Ok(Cache { layers, context: options.context, length: 0 })
    }

    /// How many tokens it has seen.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has seen none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many more there is room for.
    pub fn room(&self) -> usize {
        self.context - self.length
    }

    /// Forgets everything; the memory stays.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Takes in tokens and gives the logits of what comes after the last, `[vocabulary]`. Dropout is off. An error, and
    /// nothing changed, if there is no token, no room, or a token that the model does not know.
    pub fn advance(&mut self, model: &Transformer, tokens: &[u32]) -> Result<Vec<f32>> {
        let vocabulary = model.options().vocabulary;
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(Error::UnknownToken { token, vocabulary });
        }
        if tokens.is_empty() {
            return Err(Error::NoTokens);
        }
        if tokens.len() > self.room() {
            return Err(Error::NoRoom { tokens: tokens.len(), cached: self.length, context: self.context });
        }
        let training = model.is_training();
        model.eval();
        let mut logits = Ok(Vec::new());
        for chunk in tokens.chunks(CHUNK) {
            logits = self.chunk(model, chunk);
            if logits.is_err() {
                break;
            }
        }
        if training {
            model.train();
        }
        logits
    }

    fn chunk(&mut self, model: &Transformer, tokens: &[u32]) -> Result<Vec<f32>> {
        let (device, count) = (model.device(), tokens.len().next_power_of_two());
        let ids = tokens.iter().map(|&token| token as i32).chain(std::iter::repeat(0)).take(count);
        let ids = Tensor::try_from_vec(&ids.collect::<Vec<i32>>(), [1, count], &device)?;
        let places = ChunkPlaces::new(self.length, count, self.context, &device);
        let mut x = model.embed_at(&ids, &places.tokens);
        let mut layers = Vec::with_capacity(self.layers.len());
        for (block, kept) in model.h.iter().zip(&self.layers) {
            x = block.forward_with(&x, |attention, x| {
                let (y, updated) = places.attend(attention, x, kept);
                layers.push(updated);
                y
            });
        }
        let last = Tensor::number((tokens.len() - 1) as f32, &device).cast(DType::I32).reshape([1]);
        let logits = model.logits(&x.index_select(1, &last)).reshape([model.options().vocabulary]);
        let mut all = vec![&logits];
        all.extend(layers.iter().flatten());
        Tensor::compute_all(&all)?;
        for (kept, [keys, values]) in self.layers.iter_mut().zip(&layers) {
            *kept = [keys.detach()?, values.detach()?];
        }
        self.length += tokens.len();
        Ok(logits.to_vec::<f32>()?)
    }
}

impl ChunkPlaces {
    fn new(start: usize, count: usize, context: usize, device: &Device) -> ChunkPlaces {
        // Exact: the context is at most 2^24.
        let start = Tensor::number(start as f32, device).cast(DType::I32);
        let all = Tensor::arange(context, device);
        let tokens = Tensor::arange(count, device) + &start;
        let seen = all.less_equal(tokens.unsqueeze(1));
        let fresh = all.greater_equal(&start).and(all.less(&start + count as f64)).unsqueeze(1);
        let tokens = tokens.minimum((context - 1) as f64);
        ChunkPlaces { start, tokens, all, seen, fresh }
    }

    /// Attention of new tokens to all so far, and the keys and values with theirs among them.
    #[track_caller]
    fn attend(&self, attention: &SelfAttention, x: &Tensor, kept: &[Tensor; 2]) -> (Tensor, [Tensor; 2]) {
        let [q, k, v] = attention.project(x);
        let most = self.all.numel();
        let turned = |rotary: &Rotary, x: &Tensor| rotary.forward_at(x, &self.tokens, most);
        let [q, k] = [q, k].map(|t| attention.turn(&t, turned));
        let updated = [self.put(&k, &kept[0]), self.put(&v, &kept[1])];
        let y = q.attention(&updated[0], &updated[1], &Attention::new().mask(&self.seen));
        (attention.join(&y), updated)
    }

    /// What was kept, with new rows in their places.
    #[track_caller]
    fn put(&self, rows: &Tensor, kept: &Tensor) -> Tensor {
        let count = rows.size(2);
        let spread = match count {
            1 => rows.broadcast_to(kept.shape()),
            _ => rows.index_select(2, &(&self.all - &self.start).clamp(0.0, (count - 1) as f64)),
        };
        self.fresh.select(&spread, kept)
    }
}
