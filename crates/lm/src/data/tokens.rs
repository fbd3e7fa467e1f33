//! Tokens for a device: held there where they fit, else in the file.

use std::sync::Arc;

use farad::{DType, Device, Tensor};

use super::{IGNORED, TokenFile};
use crate::error::Result;

/// Bytes of tokens that are held on a device: what every WebGPU device can bind.
const MOST_BYTES: usize = 128 << 20;

/// A text's tokens, to be cut into windows for a device. Clones share them.
#[derive(Clone, Debug)]
pub struct Tokens {
    file: Arc<TokenFile>,
    device: Device,
    held: Option<Tensor>,
    /// If only some tokens count: what their numbers are increased by.
    mark: Option<usize>,
}

impl Tokens {
    /// Brings the tokens of a file to a device, if they fit.
    pub fn new(file: TokenFile, device: &Device) -> Result<Tokens> {
        Tokens::holding(file, device, MOST_BYTES)
    }

    pub(super) fn holding(file: TokenFile, device: &Device, most: usize) -> Result<Tokens> {
        let fits = 4 * file.len() <= most && !file.is_empty();
        let held = match fits {
            true => Some(Tensor::try_from_vec(&file.tokens(0, file.len()), [file.len()], device)?),
            false => None,
        };
        Ok(Tokens { file: Arc::new(file), device: device.clone(), held, mark: None })
    }

    /// The same of tokens of which only those count that are `mark` or more; the others are below.
    pub fn marked(file: TokenFile, mark: usize, device: &Device) -> Result<Tokens> {
        Ok(Tokens { mark: Some(mark), ..Tokens::new(file, device)? })
    }

    /// Whether only some tokens count.
    pub fn is_marked(&self) -> bool {
        self.mark.is_some()
    }

    /// How many tokens of a range count as targets.
    pub(super) fn counted(&self, first: usize, count: usize) -> usize {
        match self.mark {
            Some(mark) => {
                self.file.tokens(first, count).iter().filter(|&&token| token as usize >= mark).count()
            }
            None => count,
        }
    }

    /// Inputs and targets `[windows, length - 1]` of windows `[windows, length]`; what does not count is ignored.
    pub(super) fn pairs(&self, windows: &Tensor) -> (Tensor, Tensor) {
        let length = windows.size(1) - 1;
        let (inputs, targets) = (windows.narrow(1, 0, length), windows.narrow(1, 1, length));
        let Some(mark) = self.mark else { return (inputs, targets) };
        let plain = |tokens: &Tensor| tokens % mark as f64;
        let counts = targets.greater_equal(mark as f64);
        let targets = counts.select(&plain(&targets), &targets.full_like(IGNORED));
        (plain(&inputs), targets)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.file.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where they are used.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// All of them on the device, `[tokens]`, if they are held there.
    pub(super) fn held(&self) -> Option<&Tensor> {
        self.held.as_ref()
    }

    /// Windows `[starts, length]` from the file, as integers; what lies behind the end is the last token.
    pub(super) fn windows(&self, starts: &[usize], length: usize) -> Result<Tensor> {
        let mut all = Vec::with_capacity(starts.len() * length);
        for &start in starts {
            let from = start.min(self.len() - 1);
            let mut window = self.file.tokens(from, length.min(self.len() - from));
            let last = *window.last().expect("not empty");
            window.resize(length, last);
            all.extend(window);
        }
        let windows = Tensor::try_from_vec(&all, [starts.len(), length], &self.device)?;
        Ok(windows.cast(DType::I32))
    }
}
