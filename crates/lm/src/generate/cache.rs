//! Keys and values of the tokens so far.
//!
//! Every layer has room for 256 tokens at first, and for twice as many whenever it is full, up to the context. New
//! tokens are written into their places, and nothing else is. Where they go is data of the run, so one plan serves every
//! place until there is more room. A prompt goes in chunks of a power of two, or of a multiple of 256 up to 1,024, so there are few
//! plans. A chunk is padded; what pads it is written nowhere.
//!
//! Several texts may be held side by side, each with its own length. A text that has fewer new tokens than another is
//! padded, too.
//!
//! A full context forgets its older half and computes the newer half again from the first place on. That is
//! one long run every half context, instead of rotated or shifted places.

use std::panic::Location;

use farad::engine::{DeviceArray, EngineStep, RecordDepth, StepOutput};
use farad::{DType, Device, Precision, Tensor};

use super::forward::{CachedLayer, ChunkPlaces, Forward};
use crate::error::{Error, Result};
use crate::model::{Positions, Transformer};

/// Tokens that there is room for at first.
const FIRST_PLACES: usize = 256;
/// Tokens of a text that are computed at once at most.
const CHUNK: usize = 1024;
/// Beyond this, chunks are multiples of it.
const FULL_CHUNK: usize = 256;
/// Tokens of all texts that are computed at once at most: they decide how much memory a chunk takes.
const CHUNK_OF_ALL: usize = 1 << 14;

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
    layers: Vec<[DeviceArray; 2]>,
    /// What queries and keys are turned by, `[context, columns]`: cosines, then sines.
    angles: Option<Tensor>,
    shape: [usize; 4],
    /// As many tokens of a text as it may have.
    context: usize,
    /// How many tokens of each text there are.
    lengths: Vec<usize>,
    device: Device,
}

impl Cache {
    /// Empty, for one text, with room for the model's context, on its device.
    #[track_caller]
    pub fn new(model: &Transformer) -> Result<Cache> {
        Cache::of_texts(model, 1)
    }

    /// Empty, for so many texts.
    #[track_caller]
    pub fn of_texts(model: &Transformer, texts: usize) -> Result<Cache> {
        let (options, device, location) = (model.options(), model.device(), Location::caller());
        let places = options.context.min(FIRST_PLACES);
        let shape = [texts, options.key_heads(), places, options.head_width()];
        let empty = || DeviceArray::zeros(&device, DType::F32, shape.iter().product(), "cache", location);
        let layers = (0..options.layers).map(|_| Ok([empty()?, empty()?])).collect::<Result<_>>()?;
        let angles = angles(model)?;
        Ok(Cache { layers, angles, shape, context: options.context, lengths: vec![0; texts], device })
    }

    /// How many tokens of the first text it has seen.
    pub fn len(&self) -> usize {
        self.lengths[0]
    }

    /// How many tokens of each text it has seen.
    pub(super) fn lengths(&self) -> &[usize] {
        &self.lengths
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

    /// Counts a token of a text that a step has put there.
    pub(super) fn count(&mut self, text: usize) {
        self.lengths[text] += 1;
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
        let chunks = self.take_in(model, tokens)?;
        let mut logits = vec![Vec::new(); tokens.len()];
        for (parts, array) in chunks {
            let values = array.to_vec::<f32>()?;
            let rows = values.chunks(model.options().vocabulary);
            for ((row, logits), part) in rows.zip(&mut logits).zip(parts) {
                if part > 0 {
                    *logits = row.to_vec();
                }
            }
        }
        Ok(logits)
    }

    /// Takes in tokens of every text. Gives for every chunk how many tokens of each text it had, and the logits after the
    /// last of these, `[texts, vocabulary]`.
    pub(super) fn take_in(
        &mut self,
        model: &Transformer,
        tokens: &[&[u32]],
    ) -> Result<Vec<(Vec<usize>, Tensor)>> {
        let (texts, vocabulary) = (self.lengths.len(), model.options().vocabulary);
        assert!(tokens.len() == texts, "cache: other texts ({} vs {texts})", tokens.len());
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
        self.reserve(longest.unwrap_or(0))?;
        let longest = tokens.iter().map(|new| new.len()).max().unwrap_or(0);
        let most = (CHUNK_OF_ALL / texts).clamp(1, CHUNK).next_power_of_two();
        let mut chunks = Vec::new();
        for first in (0..longest).step_by(most) {
            let part = |new: &&'_ [u32]| {
                let end = new.len().min(first + most);
                new[first.min(end)..end].to_vec()
            };
            let parts: Vec<Vec<u32>> = tokens.iter().map(part).collect();
            let logits = in_use(model, || self.chunk(model, &parts))?;
            let counts: Vec<usize> = parts.iter().map(Vec::len).collect();
            self.lengths.iter_mut().zip(&counts).for_each(|(length, count)| *length += count);
            chunks.push((counts, logits));
        }
        Ok(chunks)
    }

    /// Makes room for so many tokens of every text.
    pub(super) fn reserve(&mut self, tokens: usize) -> Result<()> {
        let [texts, heads, places, columns] = self.shape;
        if tokens <= places {
            return Ok(());
        }
        let location = Location::caller();
        let grown = tokens.next_power_of_two().min(self.context);
        let shape = [texts, heads, grown, columns];
        for kept in self.layers.iter_mut().flatten() {
            let old = kept.part(0, farad::Shape::new(&self.shape), location);
            let wider = old.pad(&[(0, 0), (0, 0), (0, grown - places), (0, 0)]);
            let step = EngineStep::of(&self.device, &[&wider], RecordDepth::ToValues, location)?;
            let output = StepOutput { node: step.id(&wider).expect("it is a root"), replaces: None };
            *kept = step.run(&("cache", output.node), |_| Ok(vec![output]))?.swap_remove(0);
        }
        self.shape = shape;
        Ok(())
    }

    /// The logits after the last tokens of every text, `[texts, vocabulary]`.
    fn chunk(&mut self, model: &Transformer, parts: &[Vec<u32>]) -> Result<Tensor> {
        let texts = parts.len();
        let counts: Vec<usize> = parts.iter().map(Vec::len).collect();
        let most = counts.iter().copied().max().unwrap_or(1);
        if most == 1 && self.suits_tokens() {
            let token = |part: &Vec<u32>| part.first().map_or(0, |&token| token as i32);
            let lengths = self.lengths.iter().zip(parts);
            // Texts without a token take no part.
            let lengths: Vec<i32> =
                lengths.map(|(&length, part)| if part.is_empty() { -1 } else { length as i32 }).collect();
            let ids =
                Tensor::try_from_vec(&parts.iter().map(token).collect::<Vec<_>>(), [texts], &self.device)?;
            let lengths = Tensor::try_from_vec(&lengths, [texts], &self.device)?;
            let logits = self.step(model, &ids, &lengths, |logits| vec![logits.clone()])?;
            return Ok(self.results(logits, &[model.options().vocabulary], DType::F32).remove(0));
        }
        let count = match most > FULL_CHUNK {
            true => most.next_multiple_of(FULL_CHUNK),
            false => most.next_power_of_two(),
        };
        let padded = |part: &Vec<u32>| {
            let tokens = part.iter().map(|&token| token as i32);
            tokens.chain(std::iter::repeat(0)).take(count).collect::<Vec<i32>>()
        };
        let ids: Vec<i32> = parts.iter().flat_map(padded).collect();
        let ids = Tensor::try_from_vec(&ids, [texts, count], &self.device)?;
        let starts: Vec<usize> = self.lengths.clone();
        let places = ChunkPlaces::new(&starts, &counts, count, self.shape[2], &self.device)?;
        // What is stored in 16 bits or less is multiplied so where there are units for it.
        let halves = model.wte.weight.value().dtype() != DType::F32 && self.device.is_gpu();
        let precision = if halves { Precision::Mixed } else { Precision::Single };
        let logits = self.run(|layers, _| {
            precision.scope(|| {
                let (logits, layers) = Forward { model }.chunk(&ids, &places, layers);
                (vec![logits], layers)
            })
        })?;
        Ok(self.results(logits, &[model.options().vocabulary], DType::F32).remove(0))
    }

    /// Whether the kernels for single tokens take the model's heads.
    pub(super) fn suits_tokens(&self) -> bool {
        super::kernels::CachedAttention::suits(self.shape[3])
    }

    /// One token of every text `[texts]` at the place `[texts]` of each: `results` makes what is wanted of the logits.
    pub(super) fn step(
        &mut self,
        model: &Transformer,
        ids: &Tensor,
        lengths: &Tensor,
        results: impl FnOnce(&Tensor) -> Vec<Tensor>,
    ) -> Result<Vec<DeviceArray>> {
        self.run(|layers, angles| {
            let (logits, layers) = Forward { model }.token(ids, lengths, layers, angles);
            (results(&logits), layers)
        })
    }

    /// Arrays as tensors `[texts, rest..]`.
    pub(super) fn results(&self, arrays: Vec<DeviceArray>, rest: &[usize], dtype: DType) -> Vec<Tensor> {
        let shape: Vec<usize> = [self.lengths.len()].iter().chain(rest).copied().collect();
        let tensor = |array: DeviceArray| {
            debug_assert_eq!(array.dtype(), dtype);
            array.part(0, farad::Shape::new(&shape), Location::caller())
        };
        arrays.into_iter().map(tensor).collect()
    }

    /// Runs what is recorded, which gives results and the layers with new tokens in them; these are the cache then, in the
    /// memory where they were.
    #[track_caller]
    fn run(
        &mut self,
        record: impl FnOnce(&[CachedLayer], Option<&Tensor>) -> (Vec<Tensor>, Vec<CachedLayer>),
    ) -> Result<Vec<DeviceArray>> {
        let (device, location, shape) =
            (self.device.clone(), Location::caller(), farad::Shape::new(&self.shape));
        let (mut step, results, layers) = {
            let parts: Vec<CachedLayer> = (self.layers.iter())
                .map(|[keys, values]| [keys.part(0, shape, location), values.part(0, shape, location)])
                .collect();
            let (results, layers) = device.recording(|| record(&parts, self.angles.as_ref()));
            let roots: Vec<&Tensor> = results.iter().chain(layers.iter().flatten()).collect();
            let step = EngineStep::of(&device, &roots, RecordDepth::ToValues, location)?;
            let id = |tensor: &Tensor| step.id(tensor).expect("it is a root");
            let results: Vec<_> = results.iter().map(id).collect();
            let layers: Vec<_> = layers.iter().flatten().map(id).collect();
            // Recorded tensors go here: the step may write to the cache only if nobody else can read it.
            (step, results, layers)
        };
        let mut outputs: Vec<StepOutput> =
            results.into_iter().map(|node| StepOutput { node, replaces: None }).collect();
        for (array, node) in self.layers.iter_mut().flatten().zip(layers) {
            let replaces = Some(step.overwrite(array, vec![]));
            outputs.push(StepOutput { node, replaces });
        }
        let identity: Vec<_> = outputs.iter().map(|output| (output.node, output.replaces)).collect();
        Ok(step.run(&identity, |_| Ok(outputs.clone()))?)
    }
}

/// Runs with dropout off.
pub(super) fn in_use<T>(model: &Transformer, body: impl FnOnce() -> Result<T>) -> Result<T> {
    use farad::nn::Module;
    let training = model.is_training();
    model.eval();
    let result = body();
    if training {
        model.train();
    }
    result
}

/// Cosines and sines of all places, if the model turns queries and keys.
fn angles(model: &Transformer) -> Result<Option<Tensor>> {
    let options = model.options();
    if options.positions != Positions::Rotary {
        return Ok(None);
    }
    let (columns, magnitude) = (options.head_width(), options.family.rope_magnitude);
    let frequencies = options.family.frequencies(columns);
    let half = frequencies.len();
    let value = |n: usize| {
        let (place, column) = (n / columns, n % columns);
        let angle = place as f64 * frequencies[column % half];
        (magnitude * if column < half { angle.cos() } else { angle.sin() }) as f32
    };
    let table: Vec<f32> = (0..options.context * columns).map(value).collect();
    Ok(Some(Tensor::try_from_vec(&table, [options.context, columns], &model.device())?))
}
