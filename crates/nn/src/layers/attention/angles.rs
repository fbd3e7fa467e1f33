//! Sines and cosines of places times frequencies, made once in double precision.
//!
//! Invariant: a table is no part of a module's state: it follows from the frequencies and is made again on the device
//! where it is asked for.

use std::sync::{Arc, Mutex};

use farad_tensor::Device;
use farad_tensor::Tensor;

/// Places that a table has at first.
const PLACES: usize = 256;

/// `sin` and `cos` of `place · frequency` for each frequency, times a magnitude.
#[derive(Clone, Debug)]
pub struct Angles {
    frequencies: Arc<[f64]>,
    magnitude: f64,
    made: Arc<Mutex<Option<(Tensor, Tensor)>>>,
}

impl Angles {
    /// Of the frequencies `base^(-2n / width)` for `n` below half the width.
    pub fn new(base: f64, width: usize) -> Angles {
        let half = width.div_ceil(2);
        let frequency = |n: usize| base.powf(-2.0 * n as f64 / (2 * half) as f64);
        Angles::of((0..half).map(frequency).collect(), 1.0)
    }

    /// Of these frequencies; sines and cosines are multiplied with `magnitude`.
    pub fn of(frequencies: Arc<[f64]>, magnitude: f64) -> Angles {
        Angles { frequencies, magnitude, made: Arc::default() }
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
        let half = self.frequencies.len();
        let angle = |n: usize| (n / half) as f64 * self.frequencies[n % half];
        let table = |function: fn(f64) -> f64| {
            let number = |n: usize| (self.magnitude * function(angle(n))) as f32;
            Tensor::from_vec((0..rows * half).map(number).collect::<Vec<f32>>(), [rows, half], device)
        };
        let both = (table(f64::sin), table(f64::cos));
        *made = Some(both.clone());
        both
    }
}
