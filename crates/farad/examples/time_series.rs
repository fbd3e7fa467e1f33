//! Predicts the next value of a noisy series with an LSTM, better than "as before" does.
//!
//!     cargo run --release --example time_series -p farad [device] [short]
//!
//! With `short` it learns for a shorter time, and less well.

use farad::data::{Subset, TensorSet, sine};
use farad::optim::Clip;
use farad::prelude::*;

/// Values that are seen before each prediction.
const WINDOW: usize = 24;
/// Units of the LSTM.
const UNITS: usize = 16;
/// The standard deviation of the noise: its square is the error that nobody can avoid.
const NOISE: f64 = 0.05;

#[derive(Module)]
struct Network {
    lstm: Lstm,
    last: Linear,
}

impl Network {
    /// `[batch, WINDOW, 1] -> [batch, 1]`
    fn forward(&self, x: &Tensor) -> Tensor {
        let (_, states) = self.lstm.forward(x);
        self.last.forward(&states[0].hidden)
    }
}

fn main() -> farad::Result<()> {
    let mut words = std::env::args().skip(1);
    let device = Device::named(&words.next().unwrap_or("best".into()))?;
    // Passes over the series, and the error of a working network in shares of that of repeating the last value.
    let (epochs, threshold) = if words.next().is_some() { (4, 0.6) } else { (12, 0.25) };
    farad::seed(1);

    // The end of the series is not seen in training.
    let series: TensorSet = sine(1200, WINDOW, NOISE, 1);
    let part =
        |from: usize, to: usize| DataLoader::new(Subset::new(series.clone(), (from..to).collect()), 50);
    let mut train = part(0, 1000).shuffle(1).device(&device);
    let model =
        Network { lstm: Lstm::new(1, UNITS).batch_first(), last: Linear::new(UNITS, 1) }.to_device(&device);
    let mut adam = AdamW::new(model.parameters()).learning_rate(1e-2).clip(Clip::Norm(1.0));
    for epoch in 1..=epochs {
        let mut last = None;
        for batch in &mut train {
            let (x, y) = batch?;
            let loss = model.forward(&x).mean_squared_error(&y);
            adam.step(&loss)?;
            last = Some(loss);
        }
        println!("epoch {epoch:2}  loss {:.5}", last.expect("an epoch has batches").item()?);
    }

    let (mut error, mut naive) = (0.0, 0.0);
    for batch in part(1000, 1200).device(&device) {
        let (x, y) = batch?;
        error += model.forward(&x).mean_squared_error(&y).item()?;
        naive += x.narrow(1, WINDOW - 1, 1).reshape([x.shape()[0], 1]).mean_squared_error(&y).item()?;
    }
    let share = error / naive;
    println!(
        "on {device}: mean squared error {:.5}, repeating the last value {:.5}",
        error / 4.0,
        naive / 4.0
    );
    assert!(share < threshold, "the network did not learn: {share} is not below {threshold}");
    Ok(())
}
