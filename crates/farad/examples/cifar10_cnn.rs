//! Classifies small color pictures with convolutions, shifted at random while it learns.
//!
//!     cargo run --release --example cifar10_cnn -p farad [device] [folder of CIFAR-10's binary files, or short]
//!
//! Without a folder it learns colored digits that are drawn on the spot; with `short`, a few of them by heart.

use farad::data::{HorizontalFlip, Normalize, RandomCrop, Split, cifar10, colored_digits};
use farad::fit::{Fit, Task};
use farad::optim::schedule::OneCycle;
use farad::prelude::*;

/// Samples a step.
const BATCH: usize = 50;
/// The largest step size of AdamW.
const RATE: f64 = 3e-3;

/// Convolutions, each with a pooling that halves the picture, then two linear layers.
#[derive(Module)]
struct Network {
    stages: Vec<Conv2d>,
    hidden: Linear,
    last: Linear,
}

impl Layer for Network {
    fn forward(&self, x: &Tensor) -> Tensor {
        let pool = MaxPool2d::new(2);
        let x = self.stages.iter().fold(x.clone(), |x, stage| pool.forward(&stage.forward(&x)).relu());
        let x = x.reshape([x.shape()[0], x.shape()[1..].iter().product()]);
        self.last.forward(&self.hidden.forward(&x).relu())
    }
}

fn main() -> farad::Result<()> {
    let mut words = std::env::args().skip(1);
    let device = Device::named(&words.next().unwrap_or("best".into()))?;
    let source = words.next();
    let folder = source.as_deref().filter(|folder| *folder != "short");
    // Channels, and the accuracy that a working network reaches; guessing has 0.1.
    let (train, test, epochs, channels, threshold) = match (source.as_deref(), folder) {
        (_, Some(folder)) => {
            (cifar10(folder, Split::Train)?, cifar10(folder, Split::Test)?, 20, vec![3, 64, 128, 256], 0.75)
        }
        (Some(_), None) => (colored_digits(50, 1), colored_digits(50, 1), 16, vec![3, 6, 8], 0.25),
        (None, None) => (colored_digits(1000, 1), colored_digits(200, 2), 4, vec![3, 8, 16], 0.5),
    };
    farad::seed(1);
    let stages: Vec<Conv2d> =
        channels.windows(2).map(|pair| Conv2d::new(pair[0], pair[1], 3).padding(1)).collect();
    let area = (32 >> stages.len()) * (32 >> stages.len());
    let hidden = Linear::new(channels[channels.len() - 1] * area, 64);
    let model = Network { stages, hidden, last: Linear::new(64, 10) }.to_device(&device);
    let steps = (epochs * train.len() / BATCH) as u64;
    let adam = AdamW::new(model.parameters()).schedule(OneCycle::new(RATE, steps));
    let mut fit = Fit::new(model, adam, Task::Classify);

    let loader = |set| DataLoader::new(set, BATCH).transform(Normalize::new([0.48], [0.25])).device(&device);
    let mut batches =
        loader(train).shuffle(1).drop_last(true).workers(2).transform(RandomCrop { padding: 2 });
    if folder.is_some() {
        batches = batches.transform(HorizontalFlip); // a mirrored digit is none
    }
    let mut judged = loader(test);
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
