//! Classifies handwritten digits with convolutions.
//!
//!     cargo run --release --example mnist_cnn -p farad [device] [folder of MNIST, or short]
//!
//! Without a folder it learns digits that are drawn on the spot; with `short`, a few of them by heart.

use farad::data::{Normalize, Split, digits, mnist};
use farad::fit::{Fit, Task};
use farad::optim::schedule::Cosine;
use farad::prelude::*;

/// Samples a step.
const BATCH: usize = 50;
/// The largest step size of AdamW; it falls along a cosine.
const RATE: f64 = 2e-3;

/// Two convolutions, each with a pooling that halves the picture, then two linear layers.
#[derive(Module)]
struct Network {
    first: Conv2d,
    second: Conv2d,
    hidden: Linear,
    last: Linear,
}

impl Layer for Network {
    fn forward(&self, x: &Tensor) -> Tensor {
        let pool = MaxPool2d::new(2);
        let x = pool.forward(&self.first.forward(x)).relu();
        let x = pool.forward(&self.second.forward(&x)).relu();
        let x = x.reshape([x.shape()[0], x.shape()[1..].iter().product()]);
        self.last.forward(&self.hidden.forward(&x).relu())
    }
}

fn main() -> farad::Result<()> {
    let mut words = std::env::args().skip(1);
    let device = Device::named(&words.next().unwrap_or("best".into()))?;
    // Channels, and the accuracy that a working network reaches; guessing has 0.1.
    let (train, test, epochs, channels, threshold) = match words.next().as_deref() {
        Some("short") => (digits(50, 1), digits(50, 1), 14, [4, 8], 0.3),
        Some(folder) => (mnist(folder, Split::Train)?, mnist(folder, Split::Test)?, 5, [16, 32], 0.99),
        None => (digits(1000, 1), digits(200, 2), 4, [8, 16], 0.8),
    };
    farad::seed(1);
    let model = Network {
        first: Conv2d::new(1, channels[0], 3).padding(1),
        second: Conv2d::new(channels[0], channels[1], 3).padding(1),
        hidden: Linear::new(channels[1] * 7 * 7, 64),
        last: Linear::new(64, 10),
    };
    let model = model.to_device(&device);
    println!("{}", model.summary());
    let steps = (epochs * train.len() / BATCH) as u64;
    let adam = AdamW::new(model.parameters()).schedule(Cosine::new(RATE, steps));
    let mut fit = Fit::new(model, adam, Task::Classify);

    let loader = |set| DataLoader::new(set, BATCH).transform(Normalize::new([0.13], [0.31])).device(&device);
    let (mut batches, mut judged) = (loader(train).shuffle(1).drop_last(true), loader(test));
    for epoch in 1..=epochs {
        for batch in &mut batches {
            let (images, labels) = batch?;
            fit.step(&images, &labels)?;
        }
        let score = fit.score(&mut judged)?;
        println!("epoch {epoch:2}  test loss {:.4}  accuracy {:.4}", score.loss, score.goodness());
    }
    let accuracy = fit.score(&mut judged)?.goodness();
    println!("on {device}: test accuracy {accuracy:.4}");
    assert!(accuracy > threshold, "the network did not learn: {accuracy} is not above {threshold}");
    Ok(())
}
