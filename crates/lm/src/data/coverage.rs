//! Every token once, to be judged on.

use farad::{DType, Tensor};

use super::Tokens;
use crate::error::{Error, Result};

/// What a target is that counts nothing.
pub const IGNORED: i32 = -100;

/// A text in windows side by side: every token but the first is predicted once, from what stands before it in its
/// window. The last window is filled up with targets that count nothing.
pub struct Coverage {
    tokens: Tokens,
    batch: usize,
    context: usize,
}

impl Coverage {
    /// Windows of `context` tokens, `batch` at a time.
    pub fn new(tokens: &Tokens, name: &str, batch: usize, context: usize) -> Result<Coverage> {
        if tokens.len() < 2 {
            return Err(Error::ShortText { name: name.into(), tokens: tokens.len(), context: 1 });
        }
        // A short text does not fill a batch; one that is smaller costs less.
        let batch = batch.min((tokens.len() - 1).div_ceil(context));
        Ok(Coverage { tokens: tokens.clone(), batch, context })
    }

    /// How many tokens are predicted in all.
    pub fn predicted(&self) -> usize {
        self.tokens.len() - 1
    }

    /// How many batches there are.
    pub fn batches(&self) -> usize {
        self.predicted().div_ceil(self.batch * self.context)
    }

    /// How many predictions of batch `n` count: all, unless the text is marked.
    pub fn counted_in(&self, n: usize) -> usize {
        self.tokens.counted(1 + n * self.batch * self.context, self.predicted_in(n))
    }

    /// How many tokens of batch `n` are predicted.
    pub fn predicted_in(&self, n: usize) -> usize {
        let size = self.batch * self.context;
        size.min(self.predicted().saturating_sub(n * size))
    }

    /// Batch `n`: tokens `[batch, context]`, and targets of the same shape that are ignored behind the end.
    pub fn batch(&self, n: usize) -> Result<(Tensor, Tensor)> {
        let device = self.tokens.device();
        let (batch, length) = (self.batch, self.context + 1);
        let first = n * batch * self.context;
        let windows = match self.tokens.held() {
            Some(held) => {
                // The number of the batch is given with the run, so that all batches are one program.
                let n = Tensor::number(n as f32, device).cast(DType::I32) * (batch * self.context) as f64;
                let starts = Tensor::arange(batch, device) * self.context as f64 + n;
                let places = starts.reshape([batch, 1]) + Tensor::arange(length, device);
                let inside = places.minimum((self.tokens.len() - 1) as f64);
                held.gather(0, &inside.reshape([batch * length])).reshape([batch, length]).cast(DType::I32)
            }
            None => {
                let starts: Vec<usize> = (0..batch).map(|row| first + row * self.context).collect();
                self.tokens.windows(&starts, length)?
            }
        };
        let left = Tensor::number(self.predicted_in(n) as f32, device).cast(DType::I32);
        let place = Tensor::arange(batch * self.context, device).reshape([batch, self.context]);
        let (inputs, targets) = self.tokens.pairs(&windows);
        let ignored = targets.full_like(IGNORED);
        Ok((inputs, place.less(&left).select(&targets, &ignored)))
    }
}

#[cfg(test)]
mod tests {
    use farad::Device;

    use super::*;
    use crate::data::TokenFile;

    fn covered(count: u32, most: usize, batch: usize, context: usize) -> (Coverage, Vec<(i32, i32)>) {
        let path = std::env::temp_dir()
            .join(format!("farad-coverage-{count}-{most}-{batch}-{}", std::process::id()));
        std::fs::write(&path, TokenFile::encoded(&(0..count).collect::<Vec<_>>(), 1000)).expect("writes");
        let file = TokenFile::open(&path, 1000).expect("opens");
        std::fs::remove_file(&path).expect("removes");
        let tokens = Tokens::holding(file, &Device::cpu(), most).expect("fits");
        let coverage = Coverage::new(&tokens, "text", batch, context).expect("long enough");
        let mut pairs = vec![];
        for n in 0..coverage.batches() {
            let (x, y) = coverage.batch(n).expect("a batch");
            let (x, y) = (x.to_vec::<i32>().expect("reads"), y.to_vec::<i32>().expect("reads"));
            let own: Vec<(i32, i32)> = x.into_iter().zip(y).filter(|(_, next)| *next != IGNORED).collect();
            assert_eq!(own.len(), coverage.predicted_in(n));
            pairs.extend(own);
        }
        (coverage, pairs)
    }

    #[test]
    fn every_token_is_predicted_once() {
        for (count, batch, context) in [(2, 2, 4), (5, 2, 4), (17, 2, 4), (18, 2, 4), (23, 2, 4), (30, 3, 7)]
        {
            for most in [1 << 20, 0] {
                let (coverage, pairs) = covered(count, most, batch, context);
                assert_eq!(coverage.predicted(), count as usize - 1);
                let wanted: Vec<(i32, i32)> = (0..count as i32 - 1).map(|token| (token, token + 1)).collect();
                assert_eq!(pairs, wanted, "{count} tokens, {batch} windows of {context}");
            }
        }
    }
}
