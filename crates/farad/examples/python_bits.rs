//! What a small training computes, bit for bit: `python/tests/test_training.py` compares Python's with it. With `time` it prints
//! the milliseconds of a step, which `scripts/python-figures` compares with Python's.

use std::time::Instant;

use farad::prelude::*;

fn hex(tensor: &Tensor) -> farad::Result<String> {
    Ok(tensor
        .to_vec::<f32>()?
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Steps of a timing.
const STEPS: u32 = 300;

/// Milliseconds per step of a network of 784, 128 and 10, with 64 samples.
fn step_time() -> farad::Result<f64> {
    let device = Device::cpu();
    let model = Sequential::new((Linear::new(784, 128), Relu, Linear::new(128, 10)));
    let mut adamw = AdamW::new(model.parameters()).learning_rate(0.001);
    let x = Tensor::rand([64, 784], &device).detach()?;
    let labels = (Tensor::rand([64], &device) * 10.0).cast(DType::I32).detach()?;
    let mut steps = |count: u32| -> farad::Result<f64> {
        let start = Instant::now();
        for _ in 0..count {
            adamw.step(&model.forward(&x).cross_entropy(&labels))?;
        }
        device.wait()?;
        Ok(start.elapsed().as_secs_f64() * 1e3 / f64::from(count))
    };
    steps(50)?;
    steps(STEPS)
}

fn main() -> farad::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("time") {
        println!("{}", step_time()?);
        return Ok(());
    }
    let device = Device::cpu();
    farad::seed(5);
    let model = Sequential::new((Linear::new(4, 16), Relu, Linear::new(16, 3)));
    device.seed(9);
    let x = Tensor::rand([32, 4], &device).detach()?;
    let labels = (x.sum_axes([1]) * 0.7).cast(DType::I32).detach()?;
    let mut adamw = AdamW::new(model.parameters()).learning_rate(0.02);
    let mut losses = Vec::new();
    for _ in 0..20 {
        let loss = model.forward(&x).cross_entropy(&labels);
        adamw.step(&loss)?;
        losses.push(hex(&loss)?);
    }
    let mut state = serde_json::Map::new();
    for (name, tensor) in model.state() {
        state.insert(name, hex(&tensor)?.into());
    }
    let key = hex(&Tensor::rand_at(7, 2, [3], &device))?;
    println!("{}", serde_json::json!({ "losses": losses, "state": state, "key": key }));
    Ok(())
}
