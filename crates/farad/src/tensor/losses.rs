//! Losses, composed from primitives.

use farad_ir::OpError;

use super::{Tensor, raise};

impl Tensor {
    /// Mean cross-entropy of logits `[batch, classes]` against class indices `[batch]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let logits = Tensor::zeros([2, 4], &device);
    /// let labels = Tensor::from_vec(vec![0, 3], [2], &device);
    /// assert!((logits.cross_entropy(&labels).item()? - 4f32.ln()).abs() < 1e-6);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn cross_entropy(&self, labels: &Tensor) -> Tensor {
        if self.rank() != 2 || labels.rank() != 1 || labels.shape()[0] != self.shape()[0] {
            let (lhs, rhs) = (self.shape(), labels.shape());
            let (a, b) = (lhs.first().copied().unwrap_or(0), rhs.first().copied().unwrap_or(0));
            let what = format!("logits are [batch, classes] and labels [batch]: {lhs} and {rhs}");
            raise(OpError::Sizes { op: "cross_entropy", what, a, b });
        }
        let logits = self.single();
        let picked = logits.gather(1, &labels.unsqueeze(1));
        (logits.logsumexp(&[1], true) - picked).mean().rounded_like(self)
    }

    /// Mean squared difference.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2], &Device::cpu());
    /// assert_eq!(x.mean_squared_error(&(&x * 3.0)).item()?, 4.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn mean_squared_error(&self, target: &Tensor) -> Tensor {
        let difference = self - target;
        difference.single().square().mean().rounded_like(&difference)
    }
}
