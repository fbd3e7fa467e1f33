//! A model's way from new tokens to logits, beside a cache.
//!
//! Single tokens go through the kernels of [`super::kernels`], and so do products of chunks of prompts on the CPU. All else
//! goes through ordinary ops; a chunk at the start of its texts attends to itself only.
//!
//! Invariant: both give the logits that [`Transformer::forward`](crate::Transformer::forward) gives, up to rounding.

use farad::nn::{Layer, Rotary};
use farad::{Attention, Device, Tensor};

use super::kernels::{CacheRows, CachedAttention, ProductOperands, RowActivation, rows_product};
use crate::error::Result;
use crate::model::{Activation, Block, Projection, SelfAttention, Transformer, within};

/// Keys and values of a layer, `[texts, heads of keys, places, columns]`.
pub type CachedLayer = [Tensor; 2];

/// A model on its way.
pub struct Forward<'a> {
    pub model: &'a Transformer,
}

/// Where a chunk's tokens stand, as data of the run.
pub struct ChunkPlaces {
    /// All, `[texts, chunk]`; those beyond the last place are there.
    tokens: Tensor,
    /// Those of the whole cache, `[places]`.
    all: Tensor,
    /// The first of each text, and how many count, `[2, texts]`.
    spans: Tensor,
    /// The last row of each text that counts.
    last: Tensor,
    /// Whether every text begins with this chunk.
    is_first: bool,
}

impl ChunkPlaces {
    /// Of chunks of `count` tokens, of which `counts` count, after the first tokens of every text.
    pub fn new(
        starts: &[usize],
        counts: &[usize],
        count: usize,
        places: usize,
        device: &Device,
    ) -> Result<ChunkPlaces> {
        let texts = starts.len();
        let whole = |numbers: &mut dyn Iterator<Item = usize>| -> Vec<i32> {
            numbers.map(|number| number as i32).collect()
        };
        let spans = whole(&mut starts.iter().chain(counts).copied());
        let last = whole(&mut counts.iter().map(|count| count.saturating_sub(1)));
        let spans = Tensor::try_from_vec(&spans, [2, texts], device)?;
        let start = spans.narrow(0, 0, 1).reshape([texts, 1]);
        let tokens = (Tensor::arange(count, device) + &start).minimum((places - 1) as f64);
        let new = starts.iter().zip(counts).filter(|(_, count)| **count > 0);
        Ok(ChunkPlaces {
            tokens,
            all: Tensor::arange(places, device),
            spans,
            last: Tensor::try_from_vec(&last, [texts], device)?,
            is_first: new.into_iter().all(|(start, _)| *start == 0),
        })
    }

    /// Attention of new tokens to all so far, without its products, and the layer with theirs in it.
    #[track_caller]
    fn attend(&self, attention: &SelfAttention, x: &Tensor, kept: &CachedLayer) -> (Tensor, CachedLayer) {
        let [q, k, v] = attention.split(x);
        let (most, places) = (self.all.numel(), self.tokens.unsqueeze(1));
        let turned = |rotary: &Rotary, x: &Tensor| rotary.forward_at(x, &places, most);
        let [q, k] = [q, k].map(|t| attention.turn(&t, turned));
        let put = |rows: &Tensor, kept: &Tensor| {
            Tensor::custom(CacheRows, &[kept, rows, &self.spans]).swap_remove(0)
        };
        let layer = [put(&k, &kept[0]), put(&v, &kept[1])];
        let window = attention.window();
        let y = match (self.is_first, window.filter(|&window| window < x.size(1))) {
            (true, None) => q.attention(&k, &v, &Attention::new().causal()),
            (true, Some(window)) => {
                let place = Tensor::arange(x.size(1), x.device());
                let seen = within(&place.unsqueeze(1), &place, window);
                q.attention(&k, &v, &Attention::new().mask(&seen))
            }
            (false, _) => {
                let query = self.tokens.unsqueeze(-1);
                let seen = match window {
                    Some(window) => within(&query, &self.all, window),
                    None => self.all.less_equal(&query),
                };
                q.attention(&layer[0], &layer[1], &Attention::new().mask(&seen.unsqueeze(1)))
            }
        };
        (attention.join(&y), layer)
    }
}

impl Forward<'_> {
    /// Tokens `[texts, chunk]` -> logits after the last of each text that counts, and the layers with them.
    #[track_caller]
    pub fn chunk(
        &self,
        ids: &Tensor,
        places: &ChunkPlaces,
        kept: &[CachedLayer],
    ) -> (Tensor, Vec<CachedLayer>) {
        let model = self.model;
        let mut x = model.embed_at(ids, &places.tokens);
        let mut layers = Vec::with_capacity(kept.len());
        for (block, kept) in model.h.iter().zip(kept) {
            let mut attend = |x: &Tensor| {
                let (y, layer) = places.attend(&block.attn, x, kept);
                layers.push(layer);
                y
            };
            x = match x.device().is_gpu() {
                true => block.forward_with(&x, |attention, x| {
                    attention.c_proj.forward(&attend(&attention.c_attn.forward(x)))
                }),
                false => chunk_block(block, &x, attend),
            };
        }
        let (texts, width) = (x.size(0), x.size(2));
        let last = places.last.reshape([texts, 1, 1]).broadcast_to([texts, 1, width]);
        let rows = x.gather(1, &last).reshape([texts, width]);
        (self.logits(&rows), layers)
    }

    /// One token `[texts]` of every text at its place `[texts]` -> logits, and the layers with them.
    #[track_caller]
    pub fn token(
        &self,
        ids: &Tensor,
        lengths: &Tensor,
        kept: &[CachedLayer],
        angles: Option<&Tensor>,
    ) -> (Tensor, Vec<CachedLayer>) {
        let model = self.model;
        let places = lengths.maximum(0.0);
        let mut x = model.embed_at(ids, &places);
        let mut layers = Vec::with_capacity(kept.len());
        for (block, kept) in model.h.iter().zip(kept) {
            let (y, layer) = token_block(block, &x, lengths, kept, angles);
            x = y;
            layers.push(layer);
        }
        (self.logits(&x), layers)
    }

    /// `[texts, width] -> [texts, vocabulary]`.
    #[track_caller]
    fn logits(&self, x: &Tensor) -> Tensor {
        let normed = self.model.ln_f.forward(x);
        let weight = match &self.model.lm_head {
            Some(head) => head.weight.value(),
            None => self.model.wte.weight.value(),
        };
        let given = ProductOperands { x: &normed, weight: &weight, scale: None, bias: None, added: None };
        rows_product(&given, true, RowActivation::None).unwrap_or_else(|| self.model.logits(x))
    }
}

/// A block for a chunk of every text, `[texts, chunk, width]`, by the kernels for rows.
#[track_caller]
fn chunk_block(block: &Block, x: &Tensor, attend: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
    let (texts, chunk, attention) = (x.size(0), x.size(1), &block.attn);
    let rows = |x: &Tensor| x.reshape([texts * chunk, x.size(2)]);
    let chunks = |x: &Tensor| x.reshape([texts, chunk, x.size(1)]);
    let x = rows(x);
    let projected = product(&attention.c_attn, &block.ln_1.forward(&x), RowActivation::None, None);
    let y = rows(&attend(&chunks(&projected)));
    let x = product(&attention.c_proj, &y, RowActivation::None, Some(&x));
    chunks(&feed_forward(block, &x))
}

/// The second half of a block, `[rows, width]`.
#[track_caller]
fn feed_forward(block: &Block, x: &Tensor) -> Tensor {
    let activation = match block.mlp.activation() {
        Activation::Gelu => RowActivation::Gelu,
        Activation::GeluTanh => RowActivation::GeluTanh,
        Activation::Swiglu => RowActivation::Swiglu,
    };
    let hidden = product(&block.mlp.c_fc, &block.ln_2.forward(x), activation, None);
    product(&block.mlp.c_proj, &hidden, RowActivation::None, Some(x))
}

/// A block for one token of every text, `[texts, width]`.
#[track_caller]
fn token_block(
    block: &Block,
    x: &Tensor,
    lengths: &Tensor,
    [keys, values]: &CachedLayer,
    angles: Option<&Tensor>,
) -> (Tensor, CachedLayer) {
    let attention = &block.attn;
    let projected = product(&attention.c_attn, &block.ln_1.forward(x), RowActivation::None, None);
    let op =
        CachedAttention { heads: attention.heads(), window: attention.window(), rotary: angles.is_some() };
    let operands: Vec<&Tensor> = [&projected, lengths, keys, values].into_iter().chain(angles).collect();
    let [keys, values, y] = Tensor::custom(op, &operands).try_into().expect("attention has three results");
    let x = product(&attention.c_proj, &y, RowActivation::None, Some(x));
    (feed_forward(block, &x), [keys, values])
}

/// A product with what follows it, by the kernel for few rows where that suits.
#[track_caller]
fn product(part: &Projection, x: &Tensor, activation: RowActivation, added: Option<&Tensor>) -> Tensor {
    let [weight, scale, bias] = [Some(&part.weight), part.scale.as_ref(), part.bias.as_ref()]
        .map(|parameter| parameter.map(|parameter| parameter.value()));
    let weight = weight.expect("every product has a weight");
    if part.lora.is_none() {
        let given = ProductOperands { x, weight: &weight, scale: scale.as_ref(), bias: bias.as_ref(), added };
        if let Some(y) = rows_product(&given, false, activation) {
            return y;
        }
    }
    let y = part.forward(x);
    let y = match activation {
        RowActivation::None => y,
        RowActivation::Gelu => y.gelu(),
        RowActivation::GeluTanh => y.gelu_tanh(),
        RowActivation::Swiglu => y.swiglu(-1),
    };
    match added {
        Some(added) => y + added,
        None => y,
    }
}
