//! One new token of every text: attention to the tokens before it, and its key and value into the cache, in place.
//!
//! Long caches are shared by several workgroups of a head, in spans; what they have is joined by a second launch.
//!
//! Invariant: of the cache, only the place of the new token is written.

use farad::host::{StoredMatrix, StoredNumbers, exp, multiply_stored};
use farad::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, WgslText, Words};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

const TEXT: &str = include_str!("cached_attention.wgsl");

/// Instead of the angles: nothing is turned.
const UNTURNED: &str = "fn turned(start_at: u32, column: u32, place: u32) -> f32 {\n    return projected[start_at + column];\n}\n";

/// Partial sums of a row of scores on the CPU.
const PARTS: usize = 16;
/// Places of a span where there are several. Not measured.
const SPAN: usize = 512;
/// Places up to which one workgroup has a whole head; their scores are in workgroup memory. Not measured.
const WHOLE: usize = 1024;
/// Heads of all texts that keep a large GPU busy without spans. Not measured.
const BUSY: usize = 256;

/// Queries, keys and values of one token of every text `[texts, (heads + 2 · key heads) · width]`, lengths `[texts]`, keys
/// and values of the cache `[texts, key heads, places, width]` each, perhaps cosines and sines `[places, width]` -> the
/// cache with the new token at the place that the length says, and the result `[texts, heads · width]`. A text whose length
/// is below zero takes no part.
#[derive(Clone, Copy, Debug, Hash)]
pub struct CachedAttention {
    /// Heads of queries.
    pub heads: usize,
    /// How many tokens a token sees, itself included.
    pub window: Option<usize>,
    /// Whether queries and keys are turned.
    pub rotary: bool,
}

/// The sizes of one attention.
#[derive(Clone, Copy)]
struct CacheSizes {
    texts: usize,
    heads: usize,
    key_heads: usize,
    places: usize,
    width: usize,
}

impl CachedAttention {
    /// Whether heads of so many columns suit the kernels.
    pub fn suits(width: usize) -> bool {
        width.is_multiple_of(4) && width <= 256
    }

    fn sizes(&self, shapes: &[Shape]) -> CacheSizes {
        let cache = shapes[2];
        CacheSizes {
            texts: cache[0],
            heads: self.heads,
            key_heads: cache[1],
            places: cache[2],
            width: cache[3],
        }
    }

    /// Places of a span, and how many spans there are.
    fn spans(&self, sizes: &CacheSizes) -> (usize, usize) {
        match sizes.places <= WHOLE && (sizes.places <= SPAN || sizes.texts * sizes.heads >= BUSY) {
            true => (WHOLE, 1),
            false => (SPAN, sizes.places.div_ceil(SPAN)),
        }
    }
}

impl CacheSizes {
    fn scale(&self) -> f32 {
        1.0 / (self.width as f32).sqrt()
    }

    /// Columns of a row of queries, keys and values.
    fn projected(&self) -> usize {
        (self.heads + 2 * self.key_heads) * self.width
    }
}

impl CustomOp for CachedAttention {
    fn name(&self) -> &str {
        "cached_attention"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let shapes: Vec<Shape> = operands.iter().map(|(shape, _)| *shape).collect();
        let sizes = self.sizes(&shapes);
        let wanted = Shape::new(&[sizes.texts, sizes.projected()]);
        if shapes[0] != wanted {
            let (a, b) = (shapes[0].numel(), wanted.numel());
            return Err(OpError::Shapes { op: "cached_attention", lhs: shapes[0], rhs: wanted, a, b });
        }
        let y = Shape::new(&[sizes.texts, sizes.heads * sizes.width]);
        Ok(vec![operands[2], operands[3], (y, DType::F32)])
    }

    fn in_place(&self) -> &[(usize, usize)] {
        &[(2, 0), (3, 1)]
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let single = |n: usize| operands[n].iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let lengths: Vec<i32> = operands[1].iter().map(|&x| x as i32).collect();
        let (projected, mut keys, mut values) = (single(0), single(2), single(3));
        let angles = if self.rotary { single(4) } else { vec![] };
        let sizes = self.sizes(shapes);
        let mut y = vec![0f32; sizes.texts * sizes.heads * sizes.width];
        self.compute(&sizes, (&projected, &lengths, &angles), [&mut keys, &mut values, &mut y]);
        [keys, values, y].map(|all| all.into_iter().map(f64::from).collect()).to_vec()
    }

    fn cpu(&self, _: &[&[u32]], _: &[Shape], _: &mut [Words]) {
        unreachable!("it has a host form")
    }

    fn host(&self, operands: &[&[u8]], shapes: &[Shape], results: &mut [&mut [u8]]) -> bool {
        let angles = operands.get(4).map_or(&[][..], |bytes| bytemuck::cast_slice(bytes));
        let [keys, values, y] = results else { unreachable!("three results") };
        let given = (bytemuck::cast_slice(operands[0]), bytemuck::cast_slice(operands[1]), angles);
        let changed = [keys, values, y].map(|bytes| bytemuck::cast_slice_mut(bytes));
        self.compute(&self.sizes(shapes), given, changed);
        true
    }

    fn scratch(&self, shapes: &[Shape]) -> Vec<usize> {
        let sizes = self.sizes(shapes);
        let (_, spans) = self.spans(&sizes);
        vec![if spans == 1 { 1 } else { sizes.texts * sizes.heads * spans * (sizes.width + 2) }]
    }

    fn wgsl(&self, shapes: &[Shape], _: &CustomLimits) -> Vec<CustomKernel> {
        let sizes = self.sizes(shapes);
        let (span, spans) = self.spans(&sizes);
        let text = WgslText::new(TEXT).sizes(&[
            ("WIDTH", sizes.width),
            ("QUARTERS", sizes.width / 4),
            ("SPAN", span),
        ]);
        let text = if self.rotary { text } else { text.region("angles", UNTURNED) };
        let text: std::sync::Arc<str> = text.unrolled().into();
        let (operands, angles) = (shapes.len(), usize::from(self.rotary));
        // Rows, lengths, keys, values, result, parts, angles.
        let arguments = [0, 1, operands, operands + 1, operands + 2, operands + 3, 4];
        let parameters = [
            sizes.heads as u32,
            (sizes.heads / sizes.key_heads) as u32,
            sizes.places as u32,
            self.window.map_or(u32::MAX, |window| window as u32),
            spans as u32,
            sizes.scale().to_bits(),
        ];
        let kernel = |entry: &str, spans: usize| {
            let groups = [sizes.heads as u32, sizes.texts as u32, spans as u32];
            CustomKernel::new(text.clone(), entry, groups)
                .parameters(&parameters)
                .arguments(&arguments[..6 + angles])
        };
        let mut kernels = vec![kernel("main", spans)];
        if spans > 1 {
            kernels.push(kernel("join", 1));
        }
        kernels
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let sizes = self.sizes(shapes);
        let seen = self.window.map_or(sizes.places, |window| window.min(sizes.places));
        let cache = sizes.texts * seen * sizes.width;
        Some(((8 * cache * sizes.key_heads) as u64, (4 * cache * sizes.heads) as u64))
    }
}

impl CachedAttention {
    /// On the CPU: first every new key and value, then every head by itself.
    fn compute(
        &self,
        sizes: &CacheSizes,
        (projected, lengths, angles): (&[f32], &[i32], &[f32]),
        [keys, values, y]: [&mut [f32]; 3],
    ) {
        let CacheSizes { texts, heads, key_heads, places, width } = *sizes;
        let place = |text: usize| (lengths[text].max(0) as usize).min(places - 1);
        let mut queries = vec![0f32; texts * heads * width];
        for text in 0..texts {
            let (row, place) = (&projected[text * sizes.projected()..][..sizes.projected()], place(text));
            let angles = if self.rotary { &angles[place * width..][..width] } else { &[] };
            for head in 0..heads {
                let query = &mut queries[(text * heads + head) * width..][..width];
                turn(&row[head * width..][..width], angles, query);
                query.iter_mut().for_each(|x| *x *= sizes.scale());
            }
            // A text whose length is below zero keeps its cache.
            for head in (0..key_heads).filter(|_| lengths[text] >= 0) {
                let at = ((text * key_heads + head) * places + place) * width;
                turn(&row[(heads + head) * width..][..width], angles, &mut keys[at..][..width]);
                let value = &row[(heads + key_heads + head) * width..][..width];
                values[at..][..width].copy_from_slice(value);
            }
        }
        let (keys, values) = (&*keys, &*values);
        // Heads that share keys are neighbors, and go together.
        let group = heads / key_heads * width;
        y.par_chunks_mut(group).zip(queries.par_chunks(group)).enumerate().for_each(|(n, (y, queries))| {
            let end = place(n / key_heads) + 1;
            let start = self.window.map_or(0, |window| end.saturating_sub(window));
            let span = (n * places + start) * width..(n * places + end) * width;
            attend(queries, width, [&keys[span.clone()], &values[span]], y);
        });
    }
}

/// A row turned by cosines and sines, if there are any.
fn turn(from: &[f32], angles: &[f32], to: &mut [f32]) {
    if angles.is_empty() {
        return to.copy_from_slice(from);
    }
    let half = from.len() / 2;
    for pair in 0..half {
        let (a, b, cos, sin) = (from[pair], from[half + pair], angles[pair], angles[half + pair]);
        (to[pair], to[half + pair]) = (a * cos - b * sin, b * cos + a * sin);
    }
}

/// Queries `[heads, width]`, and the keys and values `[places, width]` that they see.
fn attend(queries: &[f32], width: usize, [keys, values]: [&[f32]; 2], y: &mut [f32]) {
    let places = keys.len() / width;
    let mut scores = vec![0f32; queries.len() / width * places];
    let keys = StoredMatrix::transposed(StoredNumbers::F32(keys), width, places);
    multiply_stored(&mut scores, queries, &keys, 0..places);
    let arch = Arch::new();
    scores.chunks_exact_mut(places).for_each(|scores| arch.dispatch(Softmax { scores }));
    let values = StoredMatrix::new(StoredNumbers::F32(values), places, width);
    multiply_stored(y, &scores, &values, 0..width);
}

/// Scores become shares.
struct Softmax<'a> {
    scores: &'a mut [f32],
}

impl WithSimd for Softmax<'_> {
    type Output = ();

    /// The sum is made in [`PARTS`] parts.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let mut top = f32::NEG_INFINITY;
        for &score in &*self.scores {
            top = top.max(score);
        }
        let mut parts = [0f32; PARTS];
        for scores in self.scores.chunks_mut(PARTS) {
            for (score, part) in scores.iter_mut().zip(&mut parts) {
                *score = exp(*score - top);
                *part += *score;
            }
        }
        let total: f32 = parts.iter().sum();
        for score in self.scores {
            *score /= total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad::{Attention, Device, Tensor};

    /// A token's attention beside the ordinary op, on every device: places of one span and of several, heads that share,
    /// windows, turned columns, and a text that takes no part.
    #[test]
    fn a_token_sees_what_it_should() {
        let mut devices = vec![Device::cpu()];
        devices.extend(Device::gpu(0).ok());
        for device in &devices {
            for (places, lengths) in [(40, [39, 0, -1]), (700, [640, 511, 512])] {
                for window in [None, Some(100)] {
                    check(device, places, lengths, window);
                }
            }
        }
    }

    fn check(device: &Device, places: usize, lengths: [i32; 3], window: Option<usize>) {
        const WIDTH: usize = 12;
        device.seed(5);
        let (heads, key_heads) = (4, 2);
        let draw = |shape: &[usize]| (Tensor::rand(shape, device) - 0.5).detach().expect("numbers");
        let projected = draw(&[3, (heads + 2 * key_heads) * WIDTH]);
        let kept = [0, 1].map(|_| draw(&[3, key_heads, places, WIDTH]));
        let angles = draw(&[places, WIDTH]);
        let at = Tensor::from_vec(lengths.to_vec(), [3], device);
        let op = CachedAttention { heads, window, rotary: true };
        let [keys, values, y]: [Tensor; 3] =
            Tensor::custom(op, &[&projected, &at, &kept[0], &kept[1], &angles]).try_into().expect("three");
        for (text, length) in lengths.into_iter().enumerate() {
            let row = projected.narrow(0, text, 1).reshape([heads + 2 * key_heads, WIDTH]);
            let of = |t: &Tensor| t.narrow(0, text, 1).reshape([key_heads, places, WIDTH]);
            let [old, new] = [&kept[0], &keys].map(|t| of(t).to_vec::<f32>().expect("numbers"));
            let Ok(place) = usize::try_from(length) else {
                assert_eq!(old, new, "a text that takes no part");
                continue;
            };
            let turned = |from: usize, count: usize| {
                let (x, half) = (row.narrow(0, from, count), WIDTH / 2);
                let angle = angles.narrow(0, place, 1);
                let [cosine, sine] = [0, half].map(|first| angle.narrow(1, first, half));
                let [a, b] = [0, half].map(|first| x.narrow(1, first, half));
                Tensor::concat(&[&(&a * &cosine - &b * &sine), &(&b * &cosine + &a * &sine)], 1)
            };
            let query = turned(0, heads).reshape([heads, 1, WIDTH]);
            let fresh = [turned(heads, key_heads), row.narrow(0, heads + key_heads, key_heads)];
            let first = window.map_or(0, |window| (place + 1).saturating_sub(window));
            let [k, v] = [(&kept[0], &fresh[0]), (&kept[1], &fresh[1])].map(|(old, new)| {
                let old = of(old).narrow(1, first, place - first);
                Tensor::concat(&[&old, &new.reshape([key_heads, 1, WIDTH])], 1)
            });
            let wanted = query.attention(&k, &v, &Attention::new()).to_vec::<f32>().expect("numbers");
            let found = y.narrow(0, text, 1).to_vec::<f32>().expect("numbers");
            let what = format!("{device}, {places} places, {length} tokens, window {window:?}");
            close(&found, &wanted, &what);
            close(&of(&keys).narrow(1, place, 1).to_vec::<f32>().expect("numbers"), &flat(&fresh[0]), &what);
            close(
                &of(&values).narrow(1, place, 1).to_vec::<f32>().expect("numbers"),
                &flat(&fresh[1]),
                &what,
            );
            let moved = old.iter().zip(&new).filter(|(a, b)| a != b).count();
            assert_eq!(moved, key_heads * WIDTH, "{what}: only the place of the token is written");
        }
    }

    fn flat(tensor: &Tensor) -> Vec<f32> {
        tensor.to_vec().expect("numbers")
    }

    fn close(found: &[f32], wanted: &[f32], what: &str) {
        assert_eq!(found.len(), wanted.len(), "{what}");
        for (a, b) in found.iter().zip(wanted) {
            assert!((a - b).abs() < 1e-5, "{what}: {a} vs {b}");
        }
    }
}
