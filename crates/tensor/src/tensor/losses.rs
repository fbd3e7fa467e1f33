//! Losses that need no options; those with options are in [`crate::loss`].

use super::Tensor;
use crate::loss;

impl Tensor {
    /// Mean cross-entropy of logits `[batch, classes, ..]` against class indices `[batch, ..]`, or against
    /// probabilities `[batch, classes, ..]`. For smoothing, weights, ignored labels and sums see
    /// [`loss::CrossEntropy`].
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
        loss::CrossEntropy::new().loss(self, labels)
    }

    /// Mean of `-x[label]` for log-probabilities `[batch, classes, ..]` and class indices `[batch, ..]`. For weights,
    /// ignored labels and sums see [`loss::NegativeLogLikelihood`].
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::from_vec(vec![-1.0, -2.0], [1, 2], &device);
    /// let labels = Tensor::from_vec(vec![1], [1], &device);
    /// assert_eq!(x.negative_log_likelihood(&labels).item()?, 2.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn negative_log_likelihood(&self, labels: &Tensor) -> Tensor {
        loss::NegativeLogLikelihood::new().loss(self, labels)
    }

    /// Mean squared difference from targets of the same shape.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2], &Device::cpu());
    /// assert_eq!(x.mean_squared_error(&(&x * 3.0)).item()?, 4.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn mean_squared_error(&self, target: &Tensor) -> Tensor {
        loss::SquaredError::new().loss(self, target)
    }

    /// Mean absolute difference from targets of the same shape.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2], &Device::cpu());
    /// assert_eq!(x.mean_absolute_error(&(&x * -3.0)).item()?, 4.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn mean_absolute_error(&self, target: &Tensor) -> Tensor {
        loss::AbsoluteError::new().loss(self, target)
    }

    /// Mean of `d² / 2` up to a difference of `delta` and `delta · (|d| - delta / 2)` beyond.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 4.0], [2], &Device::cpu());
    /// assert_eq!(x.huber(&(&x * 0.0), 2.0).item()?, (0.5 + 6.0) / 2.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn huber(&self, target: &Tensor, delta: f64) -> Tensor {
        loss::Huber::new(delta).loss(self, target)
    }

    /// Mean of `d² / (2 · beta)` up to a difference of `beta` and `|d| - beta / 2` beyond.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 4.0], [2], &Device::cpu());
    /// assert_eq!(x.smooth_l1(&(&x * 0.0), 2.0).item()?, (0.25 + 3.0) / 2.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn smooth_l1(&self, target: &Tensor, beta: f64) -> Tensor {
        loss::SmoothL1::new(beta).loss(self, target)
    }

    /// Mean binary cross-entropy of probabilities against targets between 0 and 1. Of logits, better use
    /// [`Tensor::binary_cross_entropy_with_logits`].
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::full(0.5, [2], &Device::cpu());
    /// assert!((x.binary_cross_entropy(&(&x * 2.0)).item()? - 2f32.ln()).abs() < 1e-6);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn binary_cross_entropy(&self, target: &Tensor) -> Tensor {
        loss::BinaryCrossEntropy::new().loss(self, target)
    }

    /// Mean binary cross-entropy of logits against targets between 0 and 1, without overflow. For weights see
    /// [`loss::BinaryCrossEntropyWithLogits`].
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::full(1000.0, [2], &Device::cpu());
    /// assert_eq!(x.binary_cross_entropy_with_logits(&(&x * 0.0)).item()?, 1000.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn binary_cross_entropy_with_logits(&self, target: &Tensor) -> Tensor {
        loss::BinaryCrossEntropyWithLogits::new().loss(self, target)
    }

    /// Mean of `t · (log t - x)` for log-probabilities and target probabilities of the same shape. For the mean of
    /// samples and for targets that are logarithms see [`loss::KlDivergence`].
    ///
    /// ```
    /// use farad::prelude::*;
    /// let t = Tensor::from_vec(vec![0.0, 1.0], [2], &Device::cpu());
    /// assert_eq!((&t * 0.0 - 1.0).kl_divergence(&t).item()?, 0.5);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn kl_divergence(&self, target: &Tensor) -> Tensor {
        loss::KlDivergence::new().loss(self, target)
    }
}
