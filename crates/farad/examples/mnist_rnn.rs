//! Classifies handwritten digits row by row with an LSTM.
//!
//!     cargo run --release --example mnist_rnn -p farad [device] [folder of MNIST, or short]
//!
//! Without a folder it learns digits that are drawn on the spot; with `short`, a few of them by heart.

use farad::data::{Normalize, Split, digits, mnist};
use farad::fit::{Fit, Task};
use farad::optim::Clip;
use farad::optim::schedule::Cosine;
use farad::prelude::*;

/// Samples a step.
const BATCH: usize = 50;
/// The largest step size of AdamW; it falls along a cosine.
const RATE: f64 = 5e-3;

/// An LSTM over the 28 rows of a picture, and a linear layer on its last state.
#[derive(Module)]
struct Network {
    lstm: Lstm,
    last: Linear,
}

impl Layer for Network {
    fn forward(&self, x: &Tensor) -> Tensor {
        let rows = x.reshape([x.shape()[0], 28, 28]);
        let (_, states) = self.lstm.forward(&rows);
        self.last.forward(&states[0].hidden)
    }
}

fn main() -> farad::Result<()> {
    let mut words = std::env::args().skip(1);
    let device = Device::named(&words.next().unwrap_or("best".into()))?;
    // Units, and the accuracy that a working network reaches; guessing has 0.1.
    let (train, test, epochs, units, threshold) = match words.next().as_deref() {
        Some("short") => (digits(50, 1), digits(50, 1), 40, 32, 0.4),
        Some(folder) => (mnist(folder, Split::Train)?, mnist(folder, Split::Test)?, 5, 128, 0.98),
        None => (digits(1500, 1), digits(300, 2), 6, 48, 0.8),
    };
    farad::seed(1);
    let model = Network { lstm: Lstm::new(28, units).batch_first(), last: Linear::new(units, 10) };
    let model = model.to_device(&device);
    let steps = (epochs * train.len() / BATCH) as u64;
    let adam = AdamW::new(model.parameters()).schedule(Cosine::new(RATE, steps)).clip(Clip::Norm(1.0));
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
