//! The training step that `ARCHITECTURE.md` shows is the one that runs: its lines of Rust, and its kernels by name.

use farad::prelude::*;
use farad_guide::Chapter;

/// The lines that the document shows, as they stand below.
const SHOWN: [&str; 3] = [
    "let y = x.matmul(&w.value()).tanh();",
    "let loss = (&y - &target).square().mean();",
    "sgd.step(&loss)?;",
];

#[test]
fn the_step_that_is_shown_has_the_kernels_that_are_shown() -> farad::Result<()> {
    let device = Device::cpu_with(Default::default());
    let x = Tensor::rand([64, 32], &device).detach()?;
    let target = Tensor::rand([64, 16], &device).detach()?;
    let w = Parameter::new(Tensor::rand([32, 16], &device).detach()?);
    let mut sgd = Sgd::new(vec![w.clone()]);
    let mut step = || -> farad::Result<()> {
        let y = x.matmul(&w.value()).tanh();
        let loss = (&y - &target).square().mean();
        drop(y); // what nobody holds is not kept
        sgd.step(&loss)?;
        Ok(())
    };
    step()?; // the first moves the parameter into the optimizer's array
    let (stepped, profile) = device.profile(step);
    stepped?;

    let text = std::fs::read_to_string(Chapter::root().join("ARCHITECTURE.md")).unwrap();
    let (_, section) = text.split_once("## One training step").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("the next section");
    assert!(SHOWN.iter().all(|line| section.contains(line)), "the lines of Rust differ");
    let shown = section.lines().filter(|line| line.trim_start().starts_with("wave ")).count();
    assert_eq!(profile.launches(), shown as u64, "the document shows {shown} kernels");
    for kernel in &profile.kernels {
        assert!(section.contains(&format!(" {}: ", kernel.label)), "{} is not shown", kernel.label);
    }
    Ok(())
}
