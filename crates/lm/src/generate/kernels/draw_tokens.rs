//! The next token of every text, drawn from its logits where they are.
//!
//! Invariant: what is drawn depends on the logits of a text, on the settings, and on how many tokens the text has drawn,
//! never on other texts.

use farad::{CustomKernel, CustomLimits, CustomOp, DType, Device, OpError, Shape, Tensor, WgslText, Words};
use rayon::prelude::*;

use crate::error::Result;
use crate::generate::Sampling;
use crate::generate::sampling::{Choice, STREAM};

const TEXT: &str = include_str!("draw_tokens.wgsl");

/// Logits `[texts, vocabulary]`, temperature and share `[2]`, seed and number of the likeliest `[3]`, how many tokens each
/// text has drawn `[texts]` -> tokens `[texts]`; below zero, `-1 -` the first token whose logit is not a number.
#[derive(Clone, Copy, Debug, Hash)]
pub struct DrawTokens {
    greedy: bool,
    top_k: bool,
    top_p: bool,
}

/// Settings on a device.
#[derive(Clone)]
pub struct DrawSettings {
    op: DrawTokens,
    settings: Tensor,
    whole: Tensor,
}

impl DrawSettings {
    /// Most tokens that the kernel can tell apart.
    pub const MOST_TOKENS: usize = (1 << 18) - 1;

    /// Settings that are sound, for logits of so many tokens. Penalties are the host's.
    pub fn new(sampling: &Sampling, vocabulary: usize, device: &Device) -> Result<DrawSettings> {
        let Sampling { temperature, top_k, top_p, seed, .. } = *sampling;
        let greedy = temperature == 0.0;
        let op = DrawTokens {
            greedy,
            top_k: !greedy && (1..vocabulary).contains(&top_k),
            top_p: !greedy && top_p < 1.0,
        };
        let whole = [seed as u32, (seed >> 32) as u32, top_k.min(vocabulary) as u32];
        Ok(DrawSettings {
            op,
            settings: Tensor::try_from_vec(&[temperature, top_p], [2], device)?,
            whole: Tensor::try_from_vec(&whole, [3], device)?,
        })
    }

    /// The next tokens `[texts]`; `drawn` is `u32`.
    #[track_caller]
    pub fn draw(&self, logits: &Tensor, drawn: &Tensor) -> Tensor {
        Tensor::custom(self.op, &[logits, &self.settings, &self.whole, drawn]).swap_remove(0)
    }
}

impl DrawTokens {
    fn choice(&self, settings: &[f32], whole: &[u32]) -> Choice {
        Choice {
            temperature: if self.greedy { 0.0 } else { settings[0] },
            top_k: if self.top_k { whole[2] as usize } else { 0 },
            top_p: if self.top_p { settings[1] } else { 1.0 },
            seed: [whole[0], whole[1]],
        }
    }
}

impl CustomOp for DrawTokens {
    fn name(&self) -> &str {
        "draw_tokens"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> std::result::Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![(Shape::new(&[operands[0].0[0]]), DType::I32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let settings: Vec<f32> = operands[1].iter().map(|&x| x as f32).collect();
        let whole: Vec<u32> = operands[2].iter().map(|&x| x as u32).collect();
        let choice = self.choice(&settings, &whole);
        let draw = |(logits, &drawn): (&[f64], &f64)| {
            let logits: Vec<f32> = logits.iter().map(|&x| x as f32).collect();
            f64::from(choice.token(&logits, drawn as u32))
        };
        vec![operands[0].chunks(shapes[0][1]).zip(&operands[3]).map(draw).collect()]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let choice = self.choice(bytemuck::cast_slice(operands[1]), operands[2]);
        let logits: &[f32] = bytemuck::cast_slice(operands[0]);
        let texts = logits.par_chunks(shapes[0][1]).zip(operands[3]).zip(&mut results[0]);
        texts.for_each(|((logits, &drawn), token)| *token = choice.token(logits, drawn) as u32);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let threads = if limits.invocations >= 1024 { 1024 } else { 256 };
        let text = WgslText::new(TEXT)
            .sizes(&[("THREADS", threads), ("STREAM", STREAM as usize)])
            .constant("GREEDY", self.greedy)
            .constant("TOP_K", self.top_k)
            .constant("TOP_P", self.top_p);
        vec![
            CustomKernel::new(text.unrolled(), "main", [shapes[0][0] as u32, 1, 1])
                .parameters(&[shapes[0][1] as u32]),
        ]
    }
}
