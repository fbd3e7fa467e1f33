//! Fits a sine wave with a small network.
//!
//!     cargo run --release --example regression -p farad [device]

use farad::optim::Clip;
use farad::prelude::*;

/// Points on the curve.
const POINTS: usize = 256;
/// Hidden units in each of two layers.
const HIDDEN: usize = 32;
/// Updates, each on all points.
const UPDATES: usize = 1500;
/// Mean squared error that a working network reaches; a flat line has 0.5.
const THRESHOLD: f32 = 0.01;

fn main() -> farad::Result<()> {
    let name = std::env::args().nth(1).unwrap_or("best".into());
    let device = Device::named(&name)?;
    farad::seed(1);

    let x =
        (Tensor::arange(POINTS, &device).cast(DType::F32) * (2.0 / POINTS as f64) - 1.0).reshape([POINTS, 1]);
    let y = (&x * std::f64::consts::PI).sin();
    let layers = (
        Linear::new(1, HIDDEN),
        farad::nn::Tanh,
        Linear::new(HIDDEN, HIDDEN),
        farad::nn::Tanh,
        Linear::new(HIDDEN, 1),
    );
    let model = Sequential::new(layers).to_device(&device);
    let mut adam = AdamW::new(model.parameters()).learning_rate(3e-3).clip(Clip::Norm(1.0));

    for update in 0..UPDATES {
        let loss = model.forward(&x).mean_squared_error(&y);
        adam.set_learning_rate(3e-3 * (1.0 - update as f32 / UPDATES as f32));
        adam.step(&loss)?;
        if update % 300 == 0 {
            println!("update {update:4}  loss {:.5}", loss.item()?);
        }
    }
    let loss = model.forward(&x).mean_squared_error(&y).item()?;
    println!("after {UPDATES} updates on {device}: mean squared error {loss:.6}");
    assert!(loss < THRESHOLD, "the network did not learn: {loss} is not below {THRESHOLD}");
    Ok(())
}
