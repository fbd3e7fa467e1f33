//! What a layer refuses: the layer is named, and the line is the caller's.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex};

use farad::nn::{LayerNorm, TransformerEncoderLayer, TransformerOptions, Upsample};
use farad::prelude::*;

/// The message and the place of a panic.
fn refused(work: impl FnOnce()) -> (String, String, u32) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = Arc::new(Mutex::new((String::new(), 0)));
    let (seen, before) = (place.clone(), panic::take_hook());
    panic::set_hook(Box::new(move |info| {
        let at = info.location().expect("panics have a place");
        *seen.lock().unwrap() = (at.file().to_string(), at.line());
    }));
    let payload = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(before);
    let payload = payload.expect_err("it is refused");
    let message = payload.downcast_ref::<String>().cloned().expect("a text");
    let (file, line) = place.lock().unwrap().clone();
    (message, file, line)
}

#[test]
fn the_layer_is_named_at_the_callers_line() {
    let x = Tensor::ones([4, 5], &Device::cpu());
    let linear = Linear::new(3, 2);
    let (message, file, line) = refused(|| drop(linear.forward(&x)));
    let wanted = "Linear: matmul: inner sizes differ: lhs [4, 5], rhs [3, 2] (5 vs 3)";
    assert_eq!((message.as_str(), file.ends_with("named.rs"), line), (wanted, true, line!() - 2));
}

#[test]
fn behind_a_pointer_too_with_the_position() {
    let x = Tensor::ones([4, 5], &Device::cpu());
    let inner = Sequential::new((Linear::new(8, 8), LayerNorm::new(3)));
    let model = Sequential::new((Linear::new(5, 8), Relu, inner));
    let (message, file, line) = refused(|| drop(model.forward(&x)));
    assert!(message.starts_with("Sequential[2] > Sequential[1] > LayerNorm: "), "{message}");
    assert_eq!((file.ends_with("named.rs"), line), (true, line!() - 2), "{file}");
    let boxed: Box<dyn Layer> = Box::new(Upsample::nearest(2));
    let (message, file, line) = refused(|| drop(boxed.forward(&x)));
    assert_eq!(message, "Upsample: upsample: images have four axes: [4, 5] (2 vs 4)");
    assert_eq!((file.ends_with("named.rs"), line), (true, line!() - 2), "{file}");
}

#[test]
fn layers_within_layers_are_all_named_and_none_stays() {
    let x = Tensor::ones([2, 3, 4], &Device::cpu());
    let block = TransformerEncoderLayer::new(&TransformerOptions::new(8, 2));
    let (message, ..) = refused(|| drop(block.forward(&x, &Default::default())));
    assert!(message.starts_with("TransformerEncoderLayer > "), "{message}");
    let (message, ..) = refused(|| drop(x.matmul(&x)));
    assert!(message.starts_with("matmul: "), "nothing is at work any more: {message}");
}

#[test]
fn what_a_list_of_layers_records_is_at_the_callers_line() {
    let device = Device::cpu_with(Default::default());
    let model = Sequential::new((Linear::new(2, 2), Relu)).to_device(&device);
    device.find_first_not_finite(true);
    let x = Tensor::from_vec(vec![f32::MAX, f32::MAX], [1, 2], &device);
    model.named_parameters().iter().for_each(|(_, p)| p.set(Tensor::full(8.0, p.value().shape(), &device)));
    let y = model.forward(&x);
    let error = y.to_vec::<f32>().unwrap_err().to_string();
    assert!(error.contains(&format!("named.rs:{}", line!() - 2)), "{error}");
}
