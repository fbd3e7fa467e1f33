use farad::prelude::*;
use std::time::Instant;
fn main() -> farad::Result<()> {
    let device = Device::cpu();
    let x = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [1, 4], &device);
    let (w, b) = (Tensor::from_vec(vec![1.0; 4], [4], &device), Tensor::from_vec(vec![0.1; 4], [4], &device));
    for _ in 0..3 {
        let start = Instant::now();
        for _ in 0..20000 {
            x.layer_norm(&w, &b, 1e-5).compute()?;
        }
        println!("layernorm {:.2} us", start.elapsed().as_secs_f64() * 1e6 / 20000.0);
        let start = Instant::now();
        for _ in 0..20000 {
            std::hint::black_box(x.layer_norm(&w, &b, 1e-5));
        }
        println!("  recording {:.2} us", start.elapsed().as_secs_f64() * 1e6 / 20000.0);
    }
    Ok(())
}
