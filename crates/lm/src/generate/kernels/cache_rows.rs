//! Keys or values of several new tokens into the cache, in place.
//!
//! Invariant: only the places of tokens that count are written; what pads a shorter text goes nowhere.

use farad::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, Words};

const TEXT: &str = include_str!("cache_rows.wgsl");

/// The cache `[texts, heads, places, width]`, new rows `[texts, heads, count, width]`, and for every text the first place and
/// how many rows count `[2, texts]` -> the cache with the rows in it.
#[derive(Clone, Copy, Debug, Hash)]
pub struct CacheRows;

impl CustomOp for CacheRows {
    fn name(&self) -> &str {
        "cache_rows"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![operands[0]])
    }

    fn in_place(&self) -> &[(usize, usize)] {
        &[(0, 0)]
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let mut cache = operands[0].clone();
        let spans: Vec<i32> = operands[2].iter().map(|&x| x as i32).collect();
        put(shapes, &operands[1], &spans, &mut cache);
        vec![cache]
    }

    fn cpu(&self, _: &[&[u32]], _: &[Shape], _: &mut [Words]) {
        unreachable!("it has a host form")
    }

    fn host(&self, operands: &[&[u8]], shapes: &[Shape], results: &mut [&mut [u8]]) -> bool {
        let rows: &[f32] = bytemuck::cast_slice(operands[1]);
        put(shapes, rows, bytemuck::cast_slice(operands[2]), bytemuck::cast_slice_mut(results[0]));
        true
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let (cache, rows) = (shapes[0], shapes[1]);
        let groups = rows.numel().div_ceil(256);
        let wide = groups.min(limits.workgroups as usize).max(1);
        let parameters = [rows[1], rows[2], cache[2], rows[3], rows[0]].map(|n| n as u32);
        vec![
            CustomKernel::new(TEXT, "main", [wide as u32, groups.div_ceil(wide) as u32, 1])
                .parameters(&parameters)
                .arguments(&[1, 2, 3]),
        ]
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        Some((8 * shapes[1].numel() as u64, 0))
    }
}

fn put<T: Copy>(shapes: &[Shape], rows: &[T], spans: &[i32], cache: &mut [T]) {
    let (kept, new) = (shapes[0], shapes[1]);
    let (texts, heads, places, width) = (kept[0], kept[1], kept[2], kept[3]);
    for text in 0..texts {
        let (first, count) = (spans[text].max(0) as usize, spans[texts + text].max(0) as usize);
        let count = count.min(places.saturating_sub(first)) * width;
        for head in (0..heads).map(|head| text * heads + head) {
            let to = (head * places + first) * width;
            cache[to..to + count].copy_from_slice(&rows[head * new[2] * width..][..count]);
        }
    }
}
