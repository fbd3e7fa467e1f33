//! Random windows to train on.

use std::ops::Range;

use farad::data::Random;
use farad::group::{Group, share};
use farad::train::TrainError;
use farad::{DType, Device, Tensor};

use super::Tokens;
use crate::error::{Error, Result};

/// Batches whose starts are brought to the device at a time.
const AHEAD: u64 = 256;
/// The stream of random numbers that starts are drawn from.
const STREAM: u32 = 0x4c4d;

/// Windows of a text that begin anywhere. Batch `n` of a seed is always the same.
///
/// Tokens are read on the device. The starts of many batches are brought there together, and the number of the batch is a
/// number of the run, so that most steps upload nothing.
pub struct Windows {
    tokens: Tokens,
    /// Windows of all ranks together.
    whole: usize,
    /// Those of this rank.
    own: Range<usize>,
    context: usize,
    seed: u64,
    /// Which batches' starts are on the device, and the starts.
    starts: Option<(u64, Tensor)>,
}

impl Windows {
    /// The device that batches are on.
    pub fn device(&self) -> &Device {
        self.tokens.device()
    }

    /// Windows of `context` tokens and the next, this many per batch. `name` says what text it is, for an error if it is too
    /// short.
    pub fn new(tokens: &Tokens, name: &str, batch: usize, context: usize, seed: u64) -> Result<Windows> {
        if tokens.len() <= context {
            return Err(Error::ShortText { name: name.into(), tokens: tokens.len(), context });
        }
        Ok(Windows { tokens: tokens.clone(), whole: batch, own: 0..batch, context, seed, starts: None })
    }

    /// Gives this rank's share of every batch; there are at least as many windows as ranks.
    pub fn shard(mut self, group: &Group) -> Result<Windows> {
        if self.whole < group.size() {
            let (batch, ranks) = (self.whole, group.size());
            return Err(farad::Error::from(TrainError::SmallBatch { batch, ranks }).into());
        }
        self.own = share(self.whole, group.size(), group.rank());
        Ok(self)
    }

    /// What the loss of batch `n` is multiplied by, so that the mean over ranks is the mean over the batch: over all targets that
    /// count.
    pub fn weight(&self, group: &Group, n: u64) -> f64 {
        if group.is_alone() {
            return 1.0;
        }
        let (own, all) = match self.is_marked() {
            false => (self.own.len(), self.whole),
            true => {
                let starts = self.all_starts(n);
                let counted = |starts: &[usize]| -> usize {
                    starts.iter().map(|start| self.tokens.counted(start + 1, self.context)).sum()
                };
                (counted(&starts[self.own.clone()]), counted(&starts))
            }
        };
        // Where nothing counts there is nothing to weigh.
        if all == 0 { 1.0 } else { (own * group.size()) as f64 / all as f64 }
    }

    /// Whether only some targets count; the others are [`IGNORED`](super::IGNORED).
    pub fn is_marked(&self) -> bool {
        self.tokens.is_marked()
    }

    /// Batch `n`: tokens `[batch, context]` and those that follow each, as integers.
    pub fn batch(&mut self, n: u64) -> Result<(Tensor, Tensor)> {
        let windows = match self.tokens.held().cloned() {
            Some(held) => self.gathered(&held, n)?,
            None => self.tokens.windows(&self.starts(n), self.context + 1)?,
        };
        Ok(self.tokens.pairs(&windows))
    }

    /// Where the windows of a batch begin: those of this rank.
    fn starts(&self, n: u64) -> Vec<usize> {
        self.all_starts(n)[self.own.clone()].to_vec()
    }

    fn all_starts(&self, n: u64) -> Vec<usize> {
        let mut random = Random::at(self.seed, STREAM, n);
        (0..self.whole).map(|_| random.below(self.tokens.len() - self.context)).collect()
    }

    fn gathered(&mut self, held: &Tensor, n: u64) -> Result<Tensor> {
        let device = self.tokens.device().clone();
        let batch = self.own.len();
        let (group, row) = (n / AHEAD, n % AHEAD);
        let table = match &self.starts {
            Some((of, table)) if *of == group => table.clone(),
            _ => {
                let first = group * AHEAD;
                let all = (first..first + AHEAD).flat_map(|n| self.starts(n)).map(|start| start as u32);
                let table =
                    Tensor::try_from_vec(&all.collect::<Vec<u32>>(), [AHEAD as usize * batch], &device)?;
                self.starts.insert((group, table)).1.clone()
            }
        };
        let row = Tensor::number(row as f32, &device).cast(DType::I32) * batch as f64;
        let starts = table.gather(0, &(Tensor::arange(batch, &device) + row)).cast(DType::I32);
        let places = starts.reshape([batch, 1]) + Tensor::arange(self.context + 1, &device);
        let length = self.context + 1;
        Ok(held.gather(0, &places.reshape([batch * length])).reshape([batch, length]).cast(DType::I32))
    }
}

#[cfg(test)]
mod tests {
    use farad::Device;

    use super::*;
    use crate::data::TokenFile;

    fn tokens(name: &str, count: u32, most: usize) -> Tokens {
        let path = std::env::temp_dir().join(format!("farad-windows-{name}-{}", std::process::id()));
        let numbers: Vec<u32> = (0..count).collect();
        std::fs::write(&path, TokenFile::encoded(&numbers, 1000)).expect("writes");
        let file = TokenFile::open(&path, 1000).expect("opens");
        std::fs::remove_file(&path).expect("removes");
        Tokens::holding(file, &Device::cpu(), most).expect("fits")
    }

    fn read(windows: &mut Windows, n: u64) -> (Vec<i32>, Vec<i32>) {
        let (x, y) = windows.batch(n).expect("a batch");
        assert_eq!((x.shape()[..].to_vec(), y.shape()[..].to_vec()), (vec![3, 4], vec![3, 4]));
        (x.to_vec().expect("reads"), y.to_vec().expect("reads"))
    }

    #[test]
    fn batches_are_windows_and_the_same_from_device_and_file() {
        let mut held = Windows::new(&tokens("held", 30, 1 << 20), "text", 3, 4, 7).expect("long enough");
        let mut kept = Windows::new(&tokens("kept", 30, 0), "text", 3, 4, 7).expect("long enough");
        for n in [0, 1, AHEAD - 1, AHEAD, 5 * AHEAD + 3, 0] {
            let (x, y) = read(&mut held, n);
            assert!(x.chunks(4).all(|window| window.windows(2).all(|pair| pair[1] == pair[0] + 1)));
            assert!(x.iter().zip(&y).all(|(token, next)| *next == token + 1));
            assert_eq!(read(&mut kept, n), (x, y), "batch {n}");
        }
        assert_ne!(read(&mut held, 0), read(&mut held, 1));
    }

    #[test]
    fn every_window_comes_up_and_the_last_token_is_seen() {
        let mut windows = Windows::new(&tokens("all", 7, 1 << 20), "text", 3, 4, 1).expect("long enough");
        let mut seen = std::collections::BTreeSet::new();
        (0..40).for_each(|n| seen.extend(read(&mut windows, n).0.chunks(4).map(|window| window[0])));
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_text_shorter_than_the_context_is_refused() {
        let text =
            Windows::new(&tokens("short", 4, 1 << 20), "a.txt", 3, 4, 1).err().expect("refused").to_string();
        assert!(
            text.starts_with(
                "data: text is shorter than the context: a.txt (4 tokens vs at least 5)\nhelp: "
            ),
            "{text}"
        );
    }

    /// The mean over ranks is the mean over all targets that count, however they lie.
    #[test]
    fn shares_count_as_much_as_their_targets() {
        let path = std::env::temp_dir().join(format!("farad-windows-marked-{}", std::process::id()));
        // Above 100 a token counts: few do, all of them in one half.
        let numbers: Vec<u32> = (0..60).map(|n| if n > 30 && n % 4 < 2 { 100 + n } else { n }).collect();
        std::fs::write(&path, TokenFile::encoded(&numbers, 200)).expect("writes");
        let tokens =
            Tokens::marked(TokenFile::open(&path, 200).expect("opens"), 100, &Device::cpu()).expect("fits");
        std::fs::remove_file(&path).expect("removes");
        let mut found = vec![];
        std::thread::scope(|scope| {
            let ranks: Vec<_> = Group::threads(2)
                .expect("ranks")
                .into_iter()
                .map(|group| {
                    let windows = Windows::new(&tokens, "text", 3, 6, 7).expect("long enough");
                    scope.spawn(move || {
                        let mut own = windows.shard(&group).expect("a share");
                        (0..9)
                            .map(|n| {
                                let (_, y) = own.batch(n).expect("a batch");
                                let y = y.to_vec::<i32>().expect("reads");
                                let counted =
                                    y.iter().filter(|&&token| token != crate::data::IGNORED).count();
                                (own.weight(&group, n), counted)
                            })
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            found = ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect();
        });
        let mut uneven = 0;
        for (first, second) in found[0].iter().zip(&found[1]) {
            let all = first.1 + second.1;
            for (weight, counted) in [first, second] {
                let wanted = if all == 0 { 1.0 } else { (2 * counted) as f64 / all as f64 };
                assert_eq!(*weight, wanted, "{counted} of {all} count");
            }
            uneven += usize::from(first.1 != 2 * second.1);
        }
        assert!(uneven > 3, "targets that count lie evenly");
    }
}
