//! Learns exclusive or: the smallest network that needs a hidden layer.
//!
//!     cargo run --release --example xor -p farad [device]

use std::time::Instant;

use farad::prelude::*;

/// Hidden units.
const HIDDEN: usize = 8;
/// Passes over the four rows.
const EPOCHS: usize = 200;
/// Step size of AdamW.
const RATE: f32 = 0.05;
/// The loss that a working network reaches.
const THRESHOLD: f32 = 0.02;

fn main() -> farad::Result<()> {
    let name = std::env::args().nth(1).unwrap_or("best".into());
    let device = Device::named(&name)?;
    farad::seed(3);

    let x = Tensor::from_vec(vec![0.0f32, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], [4, 2], &device);
    let y = Tensor::from_vec(vec![0.0f32, 1.0, 1.0, 0.0], [4, 1], &device);
    let model =
        Sequential::new((Linear::new(2, HIDDEN), farad::nn::Tanh, Linear::new(HIDDEN, 1))).to_device(&device);
    let mut adam = AdamW::new(model.parameters()).learning_rate(RATE).weight_decay(0.0);

    let mut loss = f32::NAN;
    let mut start = Instant::now();
    for epoch in 0..=EPOCHS {
        let error = model.forward(&x).mean_squared_error(&y);
        adam.step(&error)?;
        if epoch == 0 {
            // The first step compiles; the others replay.
            error.item()?;
            start = Instant::now();
        }
        if epoch == EPOCHS {
            loss = error.item()?;
        }
    }
    println!("{EPOCHS} epochs on {device}: {:.1} ms, loss {loss:.6}", start.elapsed().as_secs_f64() * 1e3);
    println!("{}", model.forward(&x));
    assert!(loss < THRESHOLD, "the network did not learn: loss {loss} is not below {THRESHOLD}");
    Ok(())
}
