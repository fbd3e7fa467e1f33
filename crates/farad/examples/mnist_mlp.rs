//! Classifies handwritten digits with fully connected layers.
//!
//!     cargo run --release --example mnist_mlp -p farad [device] [folder of MNIST, or short]
//!
//! Without a folder it learns digits that are drawn on the spot; with `short`, fewer of them and less well.

use farad::data::{Flatten, Normalize, Split, digits, mnist};
use farad::optim::schedule::Cosine;
use farad::prelude::*;

/// Samples a step.
const BATCH: usize = 100;
/// Widths of the two hidden layers.
const HIDDEN: [usize; 2] = [256, 128];
/// The largest step size of AdamW; it falls along a cosine.
const RATE: f64 = 2e-3;

fn main() -> farad::Result<()> {
    let mut words = std::env::args().skip(1);
    let device = Device::named(&words.next().unwrap_or("best".into()))?;
    // The accuracy that a working network reaches; guessing has 0.1.
    let (train, test, epochs, threshold) = match words.next().as_deref() {
        Some("short") => (digits(400, 1), digits(200, 2), 4, 0.5),
        Some(folder) => (mnist(folder, Split::Train)?, mnist(folder, Split::Test)?, 10, 0.98),
        None => (digits(3000, 1), digits(500, 2), 5, 0.93),
    };
    farad::seed(1);
    let [a, b] = HIDDEN;
    let layers = (Linear::new(784, a), Relu, Linear::new(a, b), Relu, Linear::new(b, 10));
    let model = Sequential::new(layers).to_device(&device);
    let steps = (epochs * train.len() / BATCH) as u64;
    let mut adam = AdamW::new(model.parameters()).schedule(Cosine::new(RATE, steps));

    let loader = |set| {
        DataLoader::new(set, BATCH)
            .transform(Flatten)
            .transform(Normalize::new([0.13], [0.31]))
            .device(&device)
    };
    let mut batches = loader(train).shuffle(1).drop_last(true);
    for epoch in 1..=epochs {
        let mut last = None;
        for batch in &mut batches {
            let (images, labels) = batch?;
            let loss = model.forward(&images).cross_entropy(&labels);
            adam.step(&loss)?;
            last = Some(loss);
        }
        println!("epoch {epoch:2}  loss {:.4}", last.expect("an epoch has batches").item()?);
    }

    let (mut right, mut all) = (0, 0);
    for batch in loader(test) {
        let (images, labels) = batch?;
        let (seen, labels) = (model.forward(&images).argmax(1).to_vec::<i32>()?, labels.to_vec::<i32>()?);
        right += seen.iter().zip(&labels).filter(|(a, b)| a == b).count();
        all += labels.len();
    }
    let accuracy = right as f64 / all as f64;
    println!("on {device}: test accuracy {accuracy:.4} ({right} of {all})");
    assert!(accuracy > threshold, "the network did not learn: {accuracy} is not above {threshold}");
    Ok(())
}
