//! A small decoder made of tensor ops only: everything together, on every device, with one result.

mod devices;

use devices::skip;
use farad::prelude::*;

/// Layers, width, context, batch, heads, vocabulary.
const SIZES: [usize; 6] = [2, 16, 8, 2, 2, 32];

struct Block {
    norms: [Parameter; 4],
    qkv: Parameter,
    out: Parameter,
    up: Parameter,
    bias: Parameter,
    down: Parameter,
}

struct Decoder {
    tokens: Parameter,
    blocks: Vec<Block>,
    head: Parameter,
    all: Vec<Parameter>,
}

impl Decoder {
    fn new(device: &Device) -> Decoder {
        let [layers, width, _, _, _, vocabulary] = SIZES;
        device.seed(5);
        let mut all = Vec::new();
        let mut parameter = |shape: &[usize], around: f64| {
            let made = Parameter::new((Tensor::rand(shape, device) - 0.5) * 0.4 + around);
            all.push(made.clone());
            made
        };
        let tokens = parameter(&[vocabulary, width], 0.0);
        let blocks = (0..layers)
            .map(|_| Block {
                norms: [1.0, 0.0, 1.0, 0.0].map(|around| parameter(&[width], around)),
                qkv: parameter(&[width, 3 * width], 0.0),
                out: parameter(&[width, width], 0.0),
                up: parameter(&[width, 4 * width], 0.0),
                bias: parameter(&[4 * width], 0.0),
                down: parameter(&[4 * width, width], 0.0),
            })
            .collect();
        let head = parameter(&[width, vocabulary], 0.0);
        Decoder { tokens, blocks, head, all }
    }

    /// Logits `[batch · context, vocabulary]` of token ids `[batch, context]`.
    fn forward(&self, ids: &Tensor) -> Tensor {
        let [_, width, context, batch, heads, vocabulary] = SIZES;
        let device = ids.device();
        let row = Tensor::arange(context, device);
        let future = row.reshape([context, 1]).less(row.reshape([1, context]));
        let mut x = self.tokens.value().embedding(ids);
        for block in &self.blocks {
            let norm = x.layer_norm(&block.norms[0].value(), &block.norms[1].value(), 1e-5);
            let qkv = norm.matmul(&block.qkv.value()).reshape([batch, context, 3, heads, width / heads]);
            let qkv = qkv.permute(&[2, 0, 3, 1, 4]);
            let (q, k, v) = (qkv.slice(0), qkv.slice(1), qkv.slice(2));
            let scores = q.matmul(&k.transpose(-1, -2)) * (1.0 / ((width / heads) as f64).sqrt());
            let scores = future.select(&Tensor::full(-1e9, [], device), &scores);
            let mixed = scores.softmax(-1).matmul(&v).permute(&[0, 2, 1, 3]).reshape([batch, context, width]);
            x = x + mixed.matmul(&block.out.value());
            let norm = x.layer_norm(&block.norms[2].value(), &block.norms[3].value(), 1e-5);
            let hidden = (norm.matmul(&block.up.value()) + block.bias.value()).gelu();
            x = &x + hidden.matmul(&block.down.value());
        }
        x.matmul(&self.head.value()).reshape([batch * context, vocabulary])
    }
}

fn losses(device: &Device, steps: usize, precision: Precision) -> Vec<f32> {
    let [_, _, context, batch, _, vocabulary] = SIZES;
    let model = Decoder::new(device);
    let mut adam = AdamW::new(model.all.clone()).learning_rate(0.01);
    let count = batch * context;
    let ids: Vec<i32> = (0..count).map(|i| (i * 7 % vocabulary) as i32).collect();
    let next: Vec<i32> = (0..count).map(|i| ((i + 1) * 7 % vocabulary) as i32).collect();
    let ids = Tensor::from_vec(ids, [batch, context], device);
    let next = Tensor::from_vec(next, [count], device);
    let mut losses = Vec::new();
    for _ in 0..steps {
        let loss = precision.scope(|| model.forward(&ids).cross_entropy(&next));
        adam.step(&loss).unwrap();
        losses.push(loss.item().unwrap());
    }
    losses
}

#[test]
fn a_decoder_learns_the_same_on_every_device_fused_or_not() {
    let apart = farad::DeviceOptions { fuse: false, ..Default::default() };
    let mut devices = vec![Device::cpu_with(Default::default()), Device::cpu_with(apart)];
    match Device::gpu(0) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => skip(&error.to_string()),
    }
    let expected = losses(&devices[0], 12, Precision::Single);
    // Knowing nothing costs about ln(vocabulary).
    assert!((expected[0] - (SIZES[5] as f32).ln()).abs() < 0.3, "{expected:?}");
    assert!(expected[11] < expected[0] * 0.7, "nothing was learned: {expected:?}");
    for device in &devices[1..] {
        let got = losses(device, 12, Precision::Single);
        for (a, b) in got.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-3, "{device}: {got:?} instead of {expected:?}");
        }
    }
    // f16 has eleven bits: a step's loss moves by about 1e-3, and later steps by what came before.
    for device in &devices {
        let got = losses(device, 12, Precision::Mixed);
        for (a, b) in got.iter().zip(&expected) {
            assert!((a - b).abs() < 2e-2, "{device}, mixed: {got:?} instead of {expected:?}");
        }
        assert!(got.iter().zip(&expected).any(|(a, b)| a != b), "{device}: nothing was rounded");
    }
}
