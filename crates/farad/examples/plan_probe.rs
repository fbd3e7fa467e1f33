use farad::prelude::*;
fn main() -> farad::Result<()> {
    tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).init();
    let device = Device::named(&std::env::args().nth(1).unwrap_or("cpu".into()))?;
    let model = Sequential::new((Linear::new(784, 128), Relu, Linear::new(128, 10))).to_device(&device);
    let mut adam = AdamW::new(model.parameters());
    let x = Tensor::rand([64, 784], &device);
    let y = Tensor::from_vec((0..64).map(|i| i % 10).collect::<Vec<i32>>(), [64], &device);
    Tensor::compute_all(&[&x])?;
    for _ in 0..2 {
        eprintln!("=== step");
        let loss = model.forward(&x).cross_entropy(&y);
        adam.step(&loss)?;
    }
    Ok(())
}
