//! A bad index on a device that several threads share: whoever ran the op hears of it.

mod devices;

use devices::{skip, turn};
use farad::prelude::*;
use std::sync::mpsc::channel;

fn bad(device: &Device) -> farad::Result<Tensor> {
    let table = Tensor::ones([10, 4], device);
    let picked = table.embedding(&Tensor::from_vec(vec![3, 12], [2], device));
    picked.compute()?;
    Ok(picked)
}

#[test]
fn the_thread_that_made_it_hears_of_it_whoever_reads_first() {
    let _turn = turn();
    let Ok(device) = Device::gpu(0) else { return skip("bad indices") };
    let (ran, has_run) = channel();
    let (read, has_read) = channel::<()>();
    let there = device.clone();
    let maker = std::thread::spawn(move || {
        let picked = bad(&there).expect("a bad index is found by a read");
        ran.send(()).expect("the reader waits");
        has_read.recv().expect("the reader reads");
        let error = picked.to_vec::<f32>().expect_err("clamped values would be wrong").to_string();
        // Heard once: what is sound can be read.
        let sound = Tensor::ones([2], &there).to_vec::<f32>();
        (error, sound)
    });
    has_run.recv().expect("the maker runs");
    let here = (Tensor::ones([3], &device) * 2.0).to_vec::<f32>();
    let error = here.expect_err("it may have read what the other computed").to_string();
    assert!(
        error.contains("(index 12 vs size 10)") && error.contains("another thread ran this op"),
        "{error}"
    );
    assert_eq!((Tensor::ones([3], &device) * 2.0).to_vec::<f32>().expect("sound"), [2.0; 3]);
    read.send(()).expect("the maker waits");
    let (error, sound) = maker.join().expect("the maker asserts nothing");
    assert!(error.contains("embedding") || error.contains("gather"), "{error}");
    assert!(error.contains("(index 12 vs size 10)"), "{error}");
    assert_eq!(sound.expect("heard once"), [1.0; 2]);
}

#[test]
fn a_thread_alone_is_told_nothing_of_others() {
    let _turn = turn();
    let Ok(device) = Device::gpu(0) else { return skip("bad indices") };
    let error = bad(&device).and_then(|picked| picked.to_vec::<f32>()).expect_err("clamped").to_string();
    assert!(error.contains("(index 12 vs size 10)") && !error.contains("thread"), "{error}");
}
