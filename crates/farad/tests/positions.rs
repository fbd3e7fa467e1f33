//! Places in a sequence, and sequences taken piece by piece: what comes before is the same either way.

mod devices;

use devices::devices;
use farad::Attention;
use farad::nn::{
    LearnedPositions, MultiHeadAttention, Rotary, SinusoidalPositions, TransformerEncoderLayer,
    TransformerOptions,
};
use farad::prelude::*;

fn close(a: &Tensor, b: &Tensor, what: &str) {
    assert_eq!(a.shape(), b.shape(), "{what}");
    let (a, b) = (a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap());
    for (n, (a, b)) in a.iter().zip(&b).enumerate() {
        assert!((a - b).abs() < 2e-6 * b.abs().max(1.0), "{what}: element {n} is {a}, wanted {b}");
    }
}

fn signed(shape: &[usize], seed: u64, device: &Device) -> Tensor {
    Tensor::rand_at(seed, 0, shape, device) * 2.0 - 1.0
}

#[test]
fn products_of_turned_rows_depend_on_their_distance() {
    for device in devices() {
        let (q, k) = (signed(&[1, 8], 1, &device), signed(&[1, 8], 2, &device));
        for interleaved in [false, true] {
            let rotary = Rotary::new(8).interleaved(interleaved).base(100.0);
            let product = |at: usize, from: usize| {
                rotary.forward_from(&q, at).matmul(&rotary.forward_from(&k, from).transpose(0, 1))
            };
            close(&product(7, 4), &product(303, 300), "far away");
            let [near, far] = [product(7, 4), product(8, 4)].map(|t| t.item().unwrap());
            assert!((near - far).abs() > 1e-4, "{near} {far}");
        }
    }
}

#[test]
fn pairs_are_halves_or_neighbors() {
    for device in devices() {
        let x = signed(&[2, 3, 5, 6], 1, &device);
        // Columns 0 1 2 3 4 5 as 0 2 4 1 3 5: neighbors become halves.
        let order = Tensor::from_vec(vec![0, 2, 4, 1, 3, 5], [6], &device);
        let halves = Rotary::new(6).forward(&x.index_select(-1, &order));
        let neighbors = Rotary::new(6).interleaved(true).forward(&x).index_select(-1, &order);
        close(&halves, &neighbors, "halves");
    }
}

#[test]
fn places_go_on_from_an_offset() {
    for device in devices() {
        let x = signed(&[2, 300, 6], 1, &device);
        let rest = x.narrow(1, 290, 10);
        let rotary = Rotary::new(6);
        close(&rotary.forward_from(&rest, 290), &rotary.forward(&x).narrow(1, 290, 10), "rotary");
        let places = Tensor::arange(10, &device) + 290;
        close(&rotary.forward_at(&rest, &places, 300), &rotary.forward_from(&rest, 290), "rotary at places");
        let waves = SinusoidalPositions::new(6);
        close(&waves.forward_from(&rest, 290), &waves.forward(&x).narrow(1, 290, 10), "waves");
        let learned = LearnedPositions::new(300, 6).to_device(&device);
        close(&learned.forward_from(&rest, 290), &learned.forward(&x).narrow(1, 290, 10), "learned");
    }
}

#[test]
fn waves_of_an_odd_width() {
    let y = SinusoidalPositions::new(3).forward(&Tensor::zeros([2, 3], &Device::cpu()));
    let frequency = 10_000f32.powf(-2.0 / 4.0);
    let wanted = [0.0, 1.0, 0.0, 1f32.sin(), 1f32.cos(), frequency.sin()];
    close(&y, &Tensor::from_vec(wanted.to_vec(), [2, 3], &Device::cpu()), "three columns");
}

#[test]
fn a_sequence_may_come_piece_by_piece() {
    for device in devices() {
        let layer = MultiHeadAttention::new(12, 3).to_device(&device);
        let x = signed(&[2, 9, 12], 1, &device);
        let rotary = Rotary::new(4);
        let turned = |x: &Tensor, offset: usize| {
            let [q, k, v] = layer.project(x, x, x);
            [rotary.forward_from(&q, offset), rotary.forward_from(&k, offset), v]
        };
        let [q, k, v] = turned(&x, 0);
        let whole = layer.attend(&q, &k, &v, &Attention::new().causal());
        let [_, old_k, old_v] = turned(&x.narrow(1, 0, 6), 0);
        let [q, k, v] = turned(&x.narrow(1, 6, 3), 6);
        let (k, v) = (Tensor::concat(&[&old_k, &k], 2), Tensor::concat(&[&old_v, &v], 2));
        let rest = layer.attend(&q, &k, &v, &Attention::new().offset(6));
        close(&rest, &whole.narrow(1, 6, 3), "the last three");
    }
}

#[test]
fn dropout_is_for_training() {
    let device = Device::cpu();
    let block = TransformerEncoderLayer::new(&TransformerOptions::new(8, 2).hidden(16).dropout(0.5));
    let x = signed(&[2, 5, 8], 1, &device);
    let run = || block.forward(&x, &Attention::new()).to_vec::<f32>().unwrap();
    assert_ne!(run(), run());
    block.eval();
    assert_eq!(run(), run());
    block.train();
    assert_ne!(run(), run());
}

#[test]
fn blocks_have_the_names_of_pytorch() {
    let block = TransformerEncoderLayer::new(&TransformerOptions::new(8, 2).hidden(16));
    let names: Vec<String> = block.named_parameters().into_iter().map(|(name, _)| name).collect();
    let wanted = [
        "self_attn.in_proj_weight",
        "self_attn.in_proj_bias",
        "self_attn.out_proj.weight",
        "self_attn.out_proj.bias",
        "linear1.weight",
        "linear1.bias",
        "linear2.weight",
        "linear2.bias",
        "norm1.weight",
        "norm1.bias",
        "norm2.weight",
        "norm2.bias",
    ];
    assert_eq!(names, wanted);
    let bare = TransformerEncoderLayer::new(&TransformerOptions::new(8, 2).hidden(16).bias(false));
    assert_eq!(bare.named_parameters().len(), 6);
}

#[test]
#[should_panic(expected = "multi_head_attention: heads do not divide the width (10 vs 3)")]
fn heads_divide_the_width() {
    MultiHeadAttention::new(10, 3);
}
