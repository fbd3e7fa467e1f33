//! Numbers in a world's graph that may be known constants; these are folded while the graph is written.
//!
//! In the plane most components of vectors are zero. They cost nothing, because a product with a known zero is
//! a known zero. So the plane and space share the same code. Invariant: a tensor here has shape
//! `[worlds, rows, 1]` or broadcasts to it.

use std::ops::{Add, Mul, Neg, Sub};

use farad_tensor::{Device, Tensor};

/// A known number, or a tensor of all rows and worlds.
#[derive(Clone)]
pub(crate) enum Quantity {
    Known(f64),
    Tensor(Tensor),
}

pub(crate) const ZERO: Quantity = Quantity::Known(0.0);
pub(crate) const ONE: Quantity = Quantity::Known(1.0);

use Quantity::{Known, Tensor as Of};

impl Quantity {
    /// One number per row; a known constant if all are equal.
    pub fn column(rows: &[f64], device: &Device) -> Quantity {
        match rows {
            [] => ZERO,
            [first, rest @ ..] if rest.iter().all(|value| value == first) => Known(*first),
            _ => {
                let single: Vec<f32> = rows.iter().map(|&value| value as f32).collect();
                Of(Tensor::from_vec(single, [rows.len(), 1], device))
            }
        }
    }

    pub fn is_zero(&self) -> bool {
        matches!(self, Known(value) if *value == 0.0)
    }

    fn map(&self, number: impl Fn(f64) -> f64, tensor: impl Fn(&Tensor) -> Tensor) -> Quantity {
        match self {
            Known(value) => Known(number(*value)),
            Of(value) => Of(tensor(value)),
        }
    }

    pub fn sqrt(&self) -> Quantity {
        self.map(f64::sqrt, Tensor::sqrt)
    }

    pub fn recip(&self) -> Quantity {
        self.map(f64::recip, Tensor::recip)
    }

    pub fn abs(&self) -> Quantity {
        self.map(f64::abs, Tensor::abs)
    }

    pub fn sign(&self) -> Quantity {
        self.map(|x| if x == 0.0 { 0.0 } else { x.signum() }, Tensor::sign)
    }

    pub fn relu(&self) -> Quantity {
        self.map(|x| x.max(0.0), Tensor::relu)
    }

    pub fn square(&self) -> Quantity {
        self * self
    }

    pub fn maximum(&self, other: &Quantity) -> Quantity {
        match (self, other) {
            (Known(a), Known(b)) => Known(a.max(*b)),
            (Of(a), Known(b)) | (Known(b), Of(a)) => Of(a.maximum(*b)),
            (Of(a), Of(b)) => Of(a.maximum(b)),
        }
    }

    pub fn minimum(&self, other: &Quantity) -> Quantity {
        match (self, other) {
            (Known(a), Known(b)) => Known(a.min(*b)),
            (Of(a), Known(b)) | (Known(b), Of(a)) => Of(a.minimum(*b)),
            (Of(a), Of(b)) => Of(a.minimum(b)),
        }
    }

    pub fn clamp(&self, low: &Quantity, high: &Quantity) -> Quantity {
        self.maximum(low).minimum(high)
    }

    /// `a` where this is positive, otherwise `b`.
    pub fn positive(&self, a: &Quantity, b: &Quantity) -> Quantity {
        match self {
            Known(value) => (if *value > 0.0 { a } else { b }).clone(),
            Of(value) => {
                let like = |other: &Quantity| match other {
                    Known(number) => value.full_like(*number),
                    Of(tensor) => tensor.clone(),
                };
                let (mask, a, b) = (value.greater(0.0), like(a), like(b));
                let shape = [&mask, &a, &b].map(|t| t.shape());
                // The largest of the three shapes: rows of constants have no worlds axis.
                let whole = shape.iter().max_by_key(|s| (s.rank(), s.numel())).copied();
                let whole = whole.unwrap_or_else(|| mask.shape());
                let [mask, a, b] = [mask, a, b].map(|t| t.broadcast_to(whole));
                Of(mask.select(&a, &b))
            }
        }
    }

    /// The tensor of this shape.
    pub fn filled(&self, shape: [usize; 3], device: &Device) -> Tensor {
        match self {
            Known(value) => Tensor::full(*value, shape, device),
            Of(value) => value.broadcast_to(shape),
        }
    }

    /// `self / other`.
    pub fn over(&self, other: &Quantity) -> Quantity {
        match (self, other) {
            (Known(a), Known(b)) => Known(a / b),
            (Known(0.0), _) => ZERO,
            (Of(a), Known(b)) => Of(a * (1.0 / b)),
            (Known(a), Of(b)) => Of(*a / b),
            (Of(a), Of(b)) => Of(a / b),
        }
    }
}

impl From<f64> for Quantity {
    fn from(value: f64) -> Quantity {
        Known(value)
    }
}

impl From<Tensor> for Quantity {
    fn from(value: Tensor) -> Quantity {
        Of(value)
    }
}

fn add(a: &Quantity, b: &Quantity) -> Quantity {
    match (a, b) {
        (Known(a), Known(b)) => Known(a + b),
        (Known(0.0), other) | (other, Known(0.0)) => other.clone(),
        (Of(a), Known(b)) | (Known(b), Of(a)) => Of(a + *b),
        (Of(a), Of(b)) => Of(a + b),
    }
}

fn sub(a: &Quantity, b: &Quantity) -> Quantity {
    match (a, b) {
        (Known(a), Known(b)) => Known(a - b),
        (other, Known(0.0)) => other.clone(),
        (Known(0.0), Of(b)) => Of(-b),
        (Of(a), Known(b)) => Of(a - *b),
        (Known(a), Of(b)) => Of(*a - b),
        (Of(a), Of(b)) => Of(a - b),
    }
}

fn mul(a: &Quantity, b: &Quantity) -> Quantity {
    match (a, b) {
        (Known(a), Known(b)) => Known(a * b),
        (Known(0.0), _) | (_, Known(0.0)) => ZERO,
        (Known(1.0), other) | (other, Known(1.0)) => other.clone(),
        (Of(a), Known(b)) | (Known(b), Of(a)) => Of(a * *b),
        (Of(a), Of(b)) => Of(a * b),
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $rule:ident),*) => {$(
        impl $trait<&Quantity> for &Quantity {
            type Output = Quantity;
            fn $method(self, other: &Quantity) -> Quantity { $rule(self, other) }
        }
        impl $trait<Quantity> for &Quantity {
            type Output = Quantity;
            fn $method(self, other: Quantity) -> Quantity { $rule(self, &other) }
        }
        impl $trait<&Quantity> for Quantity {
            type Output = Quantity;
            fn $method(self, other: &Quantity) -> Quantity { $rule(&self, other) }
        }
        impl $trait<Quantity> for Quantity {
            type Output = Quantity;
            fn $method(self, other: Quantity) -> Quantity { $rule(&self, &other) }
        }
        impl $trait<f64> for &Quantity {
            type Output = Quantity;
            fn $method(self, other: f64) -> Quantity { $rule(self, &Known(other)) }
        }
        impl $trait<f64> for Quantity {
            type Output = Quantity;
            fn $method(self, other: f64) -> Quantity { $rule(&self, &Known(other)) }
        }
    )*};
}
operators!(Add add add, Sub sub sub, Mul mul mul);

impl Neg for &Quantity {
    type Output = Quantity;
    fn neg(self) -> Quantity {
        sub(&ZERO, self)
    }
}

impl Neg for Quantity {
    type Output = Quantity;
    fn neg(self) -> Quantity {
        -&self
    }
}

/// The angle of the point `(x, y)`, from −π to π; the truncation error is below 1e-7.
pub(crate) fn arctangent(y: &Quantity, x: &Quantity) -> Quantity {
    if let (Known(y), Known(x)) = (y, x) {
        return Known(y.atan2(*x));
    }
    // Halved three times, the tangent of an acute angle is below 0.2, where a short series is accurate.
    let length = (y.square() + x.square() + 1e-30).sqrt();
    let half = y.over(&(length + x.abs()));
    let halved = |t: &Quantity| t.over(&((t.square() + 1.0).sqrt() + 1.0));
    let t = halved(&halved(&half));
    let square = t.square();
    let mut series = Known(1.0 / 9.0);
    for n in [7.0, 5.0, 3.0, 1.0] {
        series = Known(1.0 / n) - &square * series;
    }
    let acute = t * series * 8.0;
    let turned = y.sign() * std::f64::consts::PI - &acute;
    x.positive(&acute, &turned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_of_points_all_around() {
        let device = Device::cpu();
        let angles: Vec<f64> = (-31..=31).map(|n| n as f64 * 0.1).collect();
        let of = |f: fn(f64) -> f64| {
            let values: Vec<f32> = angles.iter().map(|&a| f(a) as f32).collect();
            Of(Tensor::from_vec(values, [angles.len(), 1], &device))
        };
        let Of(found) = arctangent(&of(f64::sin), &of(f64::cos)) else { panic!("a tensor") };
        for (found, angle) in found.to_vec::<f32>().expect("a read").into_iter().zip(&angles) {
            assert!((found as f64 - angle).abs() < 1e-6, "{found} {angle}");
        }
    }

    #[test]
    fn what_is_known_is_folded() {
        let t = Of(Tensor::ones([1, 1, 1], &Device::cpu()));
        assert!((&t * 0.0).is_zero() && (ZERO * &t + ZERO).is_zero());
        assert!(matches!(Quantity::column(&[2.0, 2.0], &Device::cpu()), Known(2.0)));
    }
}
