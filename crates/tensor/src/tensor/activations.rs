//! Activations, composed from primitives.

use farad_ir::OpError;

use super::{Tensor, raise};

macro_rules! activations {
    ($($(#[doc = $doc:literal])+ $method:ident ($input:expr => $output:expr) |$x:ident| $body:expr;)*) => {
        impl Tensor {$(
            $(#[doc = $doc])+
            ///
            /// ```
            /// use farad::prelude::*;
            #[doc = concat!("let x = Tensor::from_vec(vec![", stringify!($input), "f32], [1], &Device::cpu());")]
            #[doc = concat!("let y = x.", stringify!($method), "().to_vec::<f32>()?[0];")]
            #[doc = concat!("assert!((y - (", stringify!($output), ")).abs() < 1e-5, \"{y}\");")]
            /// # Ok::<(), farad::Error>(())
            /// ```
            #[track_caller]
            pub fn $method(&self) -> Tensor {
                let $x = self;
                $body
            }
        )*}
    };
}

activations! {
    /// Gaussian error linear unit: `x · Φ(x)`, with the error function.
    gelu (1.0 => 0.8413447) |x| x * ((x * std::f64::consts::FRAC_1_SQRT_2).erf() * 0.5 + 0.5);
    /// Gaussian error linear unit by its `tanh` approximation.
    gelu_tanh (1.0 => 0.841192) |x| x * (((x + x * x * x * 0.044715) * 0.797_884_560_802_865_4).tanh() * 0.5 + 0.5);
    /// `x · sigmoid(x)`, also called swish.
    silu (1.0 => 0.7310586) |x| x * x.sigmoid();
    /// `log(1 + e^x)`, without overflow.
    softplus (1.0 => 1.3132616) |x| softplus(x);
    /// `x · tanh(softplus(x))`.
    mish (1.0 => 0.8650984) |x| x * x.softplus().tanh();
    /// Scaled exponential linear unit: keeps mean and variance of features that start with 0 and 1.
    selu (-1.0 => -1.1113307) |x| x.elu(SELU_ALPHA) * SELU_SCALE;
    /// `min(max(x, 0), 6)`; its slopes at 0 and at 6 are zero.
    relu6 (7.0 => 6.0) |x| x.hard_tanh(0.0, 6.0);
    /// `min(max(x + 3, 0), 6) / 6`: a sigmoid of straight lines.
    hard_sigmoid (1.0 => 0.6666667) |x| (x + 3.0).relu6() * (1.0 / 6.0);
    /// `x · hard_sigmoid(x)`.
    hard_swish (1.0 => 0.6666667) |x| x * x.hard_sigmoid();
    /// `x / (1 + |x|)`.
    softsign (-3.0 => -0.75) |x| x / (x.abs() + 1.0);
    /// `log(sigmoid(x))`, without underflow.
    log_sigmoid (-1.0 => -1.3132616) |x| -(-x).softplus();
    /// `x - tanh(x)`.
    tanh_shrink (1.0 => 0.2384058) |x| x - x.tanh();
}

#[track_caller]
fn softplus(x: &Tensor) -> Tensor {
    // A choice, not |x|: both branches meet at zero with all their slopes.
    let positive = x.greater(0.0);
    let below = positive.select(&-x, x);
    positive.select(x, &x.full_like(0.0)) + below.exp().log1p()
}

/// Fixed points of mean and variance: Klambauer et al. 2017.
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;

impl Tensor {
    /// `x` where it is positive, `slope · x` elsewhere.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![-2.0, 3.0], [2], &Device::cpu());
    /// assert_eq!(x.leaky_relu(0.5).to_vec::<f32>()?, [-1.0, 3.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn leaky_relu(&self, slope: f64) -> Tensor {
        self.greater(0.0).select(self, &(self * slope))
    }

    /// [`Tensor::leaky_relu`] with a learned slope: one, or one per channel (axis 1).
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::from_vec(vec![-2.0, -2.0], [1, 2], &device);
    /// let slope = Tensor::from_vec(vec![0.5, 0.25], [2], &device);
    /// assert_eq!(x.prelu(&slope).to_vec::<f32>()?, [-1.0, -0.5]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn prelu(&self, slope: &Tensor) -> Tensor {
        let (count, channels) = (slope.numel(), if self.rank() > 1 { self.shape()[1] } else { 1 });
        if count != 1 && count != channels {
            let what = format!("one slope, or one per channel: {} and {}", self.shape(), slope.shape());
            raise(OpError::Sizes { op: "prelu", what, a: count, b: channels });
        }
        let spatial = self.rank().saturating_sub(2);
        let sizes: Vec<usize> = [count].into_iter().chain(vec![1; spatial]).collect();
        let slope = if count == 1 { slope.reshape(()) } else { slope.reshape(sizes) };
        self.greater(0.0).select(self, &(self * slope))
    }

    /// Exponential linear unit: `x` where it is positive, `alpha · (e^x - 1)` elsewhere.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![-1.0, 3.0], [2], &Device::cpu());
    /// let y = x.elu(1.0).to_vec::<f32>()?;
    /// assert!((y[0] + 0.63212).abs() < 1e-5 && y[1] == 3.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn elu(&self, alpha: f64) -> Tensor {
        let positive = self.greater(0.0);
        // Not e^x where x is large: an infinity there would be none of the result, but of its gradient.
        let below = positive.select(&self.full_like(0.0), self);
        positive.select(self, &(below.expm1() * alpha))
    }

    /// [`Tensor::elu`] whose slope is continuous: `alpha · (e^(x / alpha) - 1)` where x is not positive.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![-2.0, 3.0], [2], &Device::cpu());
    /// let y = x.celu(2.0).to_vec::<f32>()?;
    /// assert!((y[0] + 1.26424).abs() < 1e-5 && y[1] == 3.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn celu(&self, alpha: f64) -> Tensor {
        (self * (1.0 / alpha)).elu(1.0) * alpha
    }

    /// Elements kept between `low` and `high`, as by [`Tensor::clamp`] but with slopes of zero at both.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![-2.0, 0.5, 2.0], [3], &Device::cpu());
    /// assert_eq!(x.hard_tanh(-1.0, 1.0).to_vec::<f32>()?, [-1.0, 0.5, 1.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn hard_tanh(&self, low: f64, high: f64) -> Tensor {
        let (below, above) = (self.less_equal(low), self.greater_equal(high));
        above.select(&self.full_like(high), &below.select(&self.full_like(low), self))
    }

    /// Gated linear unit: the first half of an axis times the sigmoid of the second: `[.., 2n, ..] -> [.., n, ..]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![4.0, 0.0], [1, 2], &Device::cpu());
    /// assert_eq!(x.glu(-1).to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn glu(&self, axis: isize) -> Tensor {
        let [a, b] = self.halves("glu", axis);
        a * b.sigmoid()
    }

    /// Gated by `silu`: `silu(first half) · second half` of an axis: `[.., 2n, ..] -> [.., n, ..]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![0.0, 3.0], [1, 2], &Device::cpu());
    /// assert_eq!(x.swiglu(-1).to_vec::<f32>()?, [0.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn swiglu(&self, axis: isize) -> Tensor {
        let [a, b] = self.halves("swiglu", axis);
        a.silu() * b
    }

    /// Gated by `gelu`: `gelu(first half) · second half` of an axis: `[.., 2n, ..] -> [.., n, ..]`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![0.0, 3.0], [1, 2], &Device::cpu());
    /// assert_eq!(x.geglu(-1).to_vec::<f32>()?, [0.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn geglu(&self, axis: isize) -> Tensor {
        let [a, b] = self.halves("geglu", axis);
        a.gelu() * b
    }

    /// The two halves of an axis.
    #[track_caller]
    fn halves(&self, op: &'static str, axis: isize) -> [Tensor; 2] {
        let axis = self.axis(op, axis);
        let size = self.shape()[axis];
        if !size.is_multiple_of(2) {
            let what = format!("the axis has two halves: {} axis {axis}", self.shape());
            raise(OpError::Sizes { op, what, a: size, b: size / 2 * 2 });
        }
        let mut parts = self.split(&[size / 2, size / 2], axis as isize).into_iter();
        std::array::from_fn(|_| parts.next().expect("two parts"))
    }
}
