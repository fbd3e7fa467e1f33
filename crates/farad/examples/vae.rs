//! A variational autoencoder: digits through a bottleneck of a few random numbers, and new ones out of it.
//!
//!     cargo run --release --example vae -p farad [device] [folder of MNIST, or short]
//!
//! Without a folder it learns digits that are drawn on the spot; with `short`, fewer of them and less well.

use farad::data::{Flatten, Split, digits, mnist};
use farad::loss::BinaryCrossEntropyWithLogits;
use farad::nn::Tanh;
use farad::prelude::*;

/// Numbers in the bottleneck.
const LATENT: usize = 12;
/// Hidden units on both sides.
const HIDDEN: usize = 128;
/// Samples a step.
const BATCH: usize = 50;

#[derive(Module)]
struct Autoencoder {
    encoder: Sequential,
    decoder: Sequential,
}

impl Autoencoder {
    /// Means and logarithms of variances of the bottleneck: `[batch, 784] -> [batch, LATENT] × 2`.
    fn encode(&self, x: &Tensor) -> (Tensor, Tensor) {
        let both = self.encoder.forward(x);
        (both.narrow(1, 0, LATENT), both.narrow(1, LATENT, LATENT))
    }
}

fn main() -> farad::Result<()> {
    let mut words = std::env::args().skip(1);
    let device = Device::named(&words.next().unwrap_or("best".into()))?;
    // The squared error of a working model, in shares of that of the mean picture.
    let (train, test, epochs, threshold) = match words.next().as_deref() {
        Some("short") => (digits(500, 1), digits(200, 2), 5, 0.9),
        Some(folder) => (mnist(folder, Split::Train)?, mnist(folder, Split::Test)?, 3, 0.6),
        None => (digits(2000, 1), digits(500, 2), 6, 0.6),
    };
    farad::seed(1);
    device.seed(1);
    let encoder = Sequential::new((Linear::new(784, HIDDEN), Tanh, Linear::new(HIDDEN, 2 * LATENT)));
    let decoder = Sequential::new((Linear::new(LATENT, HIDDEN), Tanh, Linear::new(HIDDEN, 784)));
    let model = Autoencoder { encoder, decoder }.to_device(&device);
    let mut adam = AdamW::new(model.parameters()).learning_rate(3e-3).weight_decay(0.0);

    let mut batches =
        DataLoader::new(train, BATCH).transform(Flatten).shuffle(1).drop_last(true).device(&device);
    for epoch in 1..=epochs {
        let mut last = None;
        for batch in &mut batches {
            let (x, _) = batch?;
            let (mean, log_variance) = model.encode(&x);
            let z = &mean + (&log_variance * 0.5).exp() * Tensor::randn([BATCH, LATENT], &device);
            let likely = BinaryCrossEntropyWithLogits::new().loss(&model.decoder.forward(&z), &x) * 784.0;
            let divergence =
                (mean.square() + log_variance.exp() - &log_variance - 1.0).sum() * (0.5 / BATCH as f64);
            let loss = likely + divergence;
            adam.step(&loss)?;
            last = Some(loss);
        }
        println!("epoch {epoch:2}  bound {:.2}", last.expect("an epoch has batches").item()?);
    }

    let (mut error, mut flat) = (0.0, 0.0);
    for batch in DataLoader::new(test, 500).transform(Flatten).device(&device) {
        let (x, _) = batch?;
        let again = model.decoder.forward(&model.encode(&x).0).sigmoid();
        error += again.mean_squared_error(&x).item()?;
        flat += x.mean_axes(kept([0])).expand(x.shape()).mean_squared_error(&x).item()?;
    }
    let drawn = model.decoder.forward(&Tensor::randn([8, LATENT], &device)).sigmoid();
    println!("new digits have a mean brightness of {:.3}", drawn.mean().item()?);
    let share = error / flat;
    println!("on {device}: squared error {error:.4}, of the mean picture {flat:.4}");
    assert!(share < threshold, "the model did not learn: {share} is not below {threshold}");
    Ok(())
}
