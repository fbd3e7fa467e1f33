//! A process may end while a driver still compiles what it was given.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use farad::prelude::*;

/// What the test gives to itself, so that it is the process that ends.
const LEAVES: &str = "FARAD_TEST_LEAVES";

/// A process that takes longer to end hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// Steps of different shapes, none of them waited for: each is kernels that a driver in software compiles on a thread of its own.
fn leave(device: &Device) -> farad::Result<()> {
    let x = Tensor::rand([64, 64], device);
    let w = Parameter::new(Tensor::rand([64, 64], device));
    // Drivers make more as they first compile, and clear it away before what was there earlier.
    (&x * 2.0).sum().item()?;
    let mut adam = AdamW::new(vec![w.clone()]).learning_rate(1e-3);
    for depth in 1..=6 {
        let mut y = w.value().matmul(&x);
        for _ in 0..depth {
            y = (y.sin() * 1.5).tanh().matmul(&x).exp().tanh();
        }
        adam.step(&y.sum())?;
    }
    std::process::exit(0);
}

#[test]
fn a_process_may_end_while_kernels_are_compiled() {
    let Ok(device) = Device::named("gpu") else {
        println!("skipped: there is no GPU here");
        return;
    };
    if std::env::var_os(LEAVES).is_some() {
        leave(&device).unwrap();
    }
    for turn in 0..3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_process_may_end_while_kernels_are_compiled"])
            .env(LEAVES, "1")
            .spawn()
            .unwrap();
        let began = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if began.elapsed() > LONGEST => {
                    child.kill().unwrap();
                    panic!("turn {turn}: the process did not end");
                }
                None => sleep(Duration::from_millis(10)),
            }
        };
        assert!(status.success(), "turn {turn}: {status}");
    }
}
