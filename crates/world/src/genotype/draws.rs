//! Random numbers from counters: the same seed and stream give the same numbers everywhere.

use farad_tensor::philox;

/// A stream of random numbers. Draw `n` of a stream is a pure function of seed, stream and `n`.
#[derive(Clone, Debug)]
pub struct Draws {
    key: [u32; 2],
    stream: u64,
    drawn: u32,
}

impl Draws {
    /// A stream of a seed.
    pub fn new(seed: u64, stream: u64) -> Draws {
        Draws { key: [seed as u32, (seed >> 32) as u32], stream, drawn: 0 }
    }

    fn word(&mut self) -> u32 {
        let counter = [self.drawn, 0x6765_6e65, self.stream as u32, (self.stream >> 32) as u32];
        self.drawn += 1;
        philox::block(counter, self.key)[0]
    }

    /// From 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        f64::from(self.word()) / 4_294_967_296.0
    }

    /// Between two numbers.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A whole number below a limit; 0 if the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u64::from(self.word()) * limit as u64) >> 32) as usize
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A normal number with mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_seed_stream_and_place_only() {
        let of = |seed, stream| {
            let mut draws = Draws::new(seed, stream);
            [(); 4].map(|()| draws.word())
        };
        assert_eq!(of(1, 2), of(1, 2));
        assert_ne!(of(1, 2), of(1, 3));
        assert_ne!(of(1, 2), of(2, 2));
        let mut draws = Draws::new(5, 0);
        let numbers: Vec<f64> = (0..20_000).map(|_| draws.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 20_000.0;
        let square = numbers.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.04, "{mean} {square}");
    }
}
