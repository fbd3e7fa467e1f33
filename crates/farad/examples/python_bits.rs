//! What a small training computes, bit for bit: `python/tests/test_training.py` compares Python's with it.

use farad::prelude::*;

fn hex(tensor: &Tensor) -> farad::Result<String> {
    Ok(tensor
        .to_vec::<f32>()?
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn main() -> farad::Result<()> {
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
