//! Makes small pictures large: twice the pixels along each side, and sharper than stretching them.
//!
//!     cargo run --release --example super_resolution -p farad [device] [folder of MNIST, or short]
//!
//! Without a folder it learns from digits that are drawn on the spot; with `short`, from fewer and less well.

use farad::data::{Split, digits, mnist};
use farad::nn::{AvgPool2d, ConvTranspose2d};
use farad::prelude::*;

/// Channels between the layers.
const CHANNELS: usize = 12;
/// Samples a step.
const BATCH: usize = 40;

/// What is added to doubled pixels.
#[derive(Module)]
struct Network {
    look: Conv2d,
    widen: ConvTranspose2d,
    draw: Conv2d,
}

impl Network {
    /// `[batch, 1, 14, 14] -> [batch, 1, 28, 28]`
    fn forward(&self, x: &Tensor) -> Tensor {
        let seen = self.look.forward(x).relu();
        doubled(x) + self.draw.forward(&self.widen.forward(&seen).relu())
    }
}

/// Every pixel as a square of four.
fn doubled(x: &Tensor) -> Tensor {
    let [n, c, h, w] = [0, 1, 2, 3].map(|axis| x.shape()[axis]);
    x.reshape([n, c, h, 1, w, 1]).expand([n, c, h, 2, w, 2]).reshape([n, c, 2 * h, 2 * w])
}

fn main() -> farad::Result<()> {
    let mut words = std::env::args().skip(1);
    let device = Device::named(&words.next().unwrap_or("best".into()))?;
    // The squared error of a working network, in shares of that of doubled pixels.
    let (train, test, epochs, threshold) = match words.next().as_deref() {
        Some("short") => (digits(200, 1), digits(40, 2), 4, 0.95),
        Some(folder) => (mnist(folder, Split::Train)?, mnist(folder, Split::Test)?, 1, 0.6),
        None => (digits(800, 1), digits(100, 2), 4, 0.6),
    };
    farad::seed(1);
    let model = Network {
        look: Conv2d::new(1, CHANNELS, 3).padding(1),
        widen: ConvTranspose2d::new(CHANNELS, CHANNELS, 2).stride(2),
        draw: Conv2d::new(CHANNELS, 1, 3).padding(1),
    };
    let model = model.to_device(&device);
    let mut adam = AdamW::new(model.parameters()).learning_rate(5e-3);

    let small = AvgPool2d::new(2);
    let mut batches = DataLoader::new(train, BATCH).shuffle(1).drop_last(true).device(&device);
    for epoch in 1..=epochs {
        let mut last = None;
        for batch in &mut batches {
            let (large, _) = batch?;
            let loss = model.forward(&small.forward(&large)).mean_squared_error(&large);
            adam.step(&loss)?;
            last = Some(loss);
        }
        println!("epoch {epoch:2}  loss {:.5}", last.expect("an epoch has batches").item()?);
    }

    let (mut error, mut plain) = (0.0, 0.0);
    for batch in DataLoader::new(test, 100).device(&device) {
        let (large, _) = batch?;
        let less = small.forward(&large);
        error += model.forward(&less).mean_squared_error(&large).item()?;
        plain += doubled(&less).mean_squared_error(&large).item()?;
    }
    let (share, decibels) = (error / plain, 10.0 * (plain / error).log10());
    println!("on {device}: squared error {share:.3} of that of doubled pixels, {decibels:.1} dB better");
    assert!(share < threshold, "the network did not learn: {share} is not below {threshold}");
    Ok(())
}
