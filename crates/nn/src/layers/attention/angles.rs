//! Sines and cosines of places times frequencies, made once in double precision.
//!
//! Invariant: a table is no part of a module's state: it follows from two numbers and is made again on the device where
//! it is asked for.

use std::sync::{Arc, Mutex};

use farad_tensor::Device;
use farad_tensor::Tensor;

/// Places that a table has at first.
const PLACES: usize = 256;

/// `sin` and `cos` of `place · base^(-2n / width)` for `n` below half the width.
#[derive(Clone, Debug)]
pub struct Angles {
    base: f64,
    half: usize,
    made: Arc<Mutex<Option<(Tensor, Tensor)>>>,
}

impl Angles {
    pub fn new(base: f64, width: usize) -> Angles {
        Angles { base, half: width.div_ceil(2), made: Arc::default() }
    }

    /// `[count, half]` each, of places from `first` on.
    #[track_caller]
    pub fn range(&self, first: usize, count: usize, device: &Device) -> (Tensor, Tensor) {
        let (sin, cos) = self.table(first + count, device);
        (sin.narrow(0, first, count), cos.narrow(0, first, count))
    }

    /// `[.., half]` each, of the places in a tensor `[..]`, which are less than `most`.
    #[track_caller]
    pub fn at(&self, places: &Tensor, most: usize) -> (Tensor, Tensor) {
        let (sin, cos) = self.table(most, places.device());
        (sin.embedding(places), cos.embedding(places))
    }

    /// Of at least so many places.
    fn table(&self, places: usize, device: &Device) -> (Tensor, Tensor) {
        let mut made = self.made.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((sin, cos)) = &*made
            && sin.device() == device
            && sin.shape()[0] >= places
        {
            return (sin.clone(), cos.clone());
        }
        // Larger tables are made rarely.
        let rows = places.max(PLACES).next_power_of_two();
        let width = (2 * self.half) as f64;
        let angle = |n: usize| {
            let frequency = self.base.powf(-2.0 * (n % self.half) as f64 / width);
            (n / self.half) as f64 * frequency
        };
        let table = |function: fn(f64) -> f64| {
            let numbers: Vec<f32> = (0..rows * self.half).map(|n| function(angle(n)) as f32).collect();
            Tensor::from_vec(numbers, [rows, self.half], device)
        };
        let both = (table(f64::sin), table(f64::cos));
        *made = Some(both.clone());
        both
    }
}
