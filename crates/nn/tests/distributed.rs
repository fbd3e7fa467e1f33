//! Two ranks against one rank with the double batch: the same gradients, the same parameters.
//!
//! Ranks are threads, each with a device of its own. What they compute differs in rounding only, since sums over a batch
//! are made in another order.

use farad::Attention;
use farad::data::DataLoader;
use farad::group::{Combine, Group};
use farad::nn::{TransformerEncoderLayer, TransformerOptions};
use farad::optim::{AnyOptimizer, Clip};
use farad::prelude::*;

/// Samples of a batch of all ranks.
const BATCH: usize = 8;

/// A model and the loss of some samples, which are rows of one tensor.
struct Case {
    parameters: Vec<Parameter>,
    buffers: Vec<Buffer>,
    loss: Box<dyn Fn(&Tensor) -> Tensor + Send>,
    optimizer: Box<dyn AnyOptimizer>,
}

/// Makes a model: on a device, for a rank of a group, always with the same weights.
type Make = fn(&Device, &Group) -> Case;

/// Devices of their own, since ranks that are threads must not wait for each other's programs.
fn device() -> Device {
    Device::cpu_with(Default::default())
}

/// Weights are drawn from the CPU's numbers, which all threads share.
static DRAWING: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn mlp(device: &Device, _: &Group) -> Case {
    let model = Sequential::new((Linear::new(6, 16), Gelu, Linear::new(16, 16), Relu, Linear::new(16, 2)));
    let model = model.to_device(device);
    let parameters = model.parameters();
    let loss = move |rows: &Tensor| {
        let target = rows.narrow(1, 0, 2) * rows.narrow(1, 2, 2);
        model.forward(rows).mean_squared_error(&target)
    };
    let adam = AdamW::new(parameters.clone()).learning_rate(0.003).clip(Clip::Norm(0.05));
    Case { parameters, buffers: vec![], loss: Box::new(loss), optimizer: Box::new(adam) }
}

fn cnn(device: &Device, group: &Group) -> Case {
    let norm = |channels| BatchNorm2d::new(channels).synchronized(group);
    let model = Sequential::new((
        Conv2d::new(1, 4, 3).without_bias(),
        norm(4),
        Relu,
        Conv2d::new(4, 4, 2).without_bias(),
        norm(4),
        Relu,
        Flatten::new(),
        Linear::new(4, 3),
    ));
    let model = model.to_device(device);
    let (parameters, buffers) = (model.parameters(), model.named_buffers());
    let loss = move |rows: &Tensor| {
        let pictures = rows.reshape([rows.shape()[0], 1, 4, 4]);
        let target = rows.narrow(1, 0, 3).square();
        model.forward(&pictures).mean_squared_error(&target)
    };
    let buffers = buffers.into_iter().map(|(_, buffer)| buffer).collect();
    let sgd = Sgd::new(parameters.clone()).learning_rate(0.01).momentum(0.9);
    Case { parameters, buffers, loss: Box::new(loss), optimizer: Box::new(sgd) }
}

fn transformer(device: &Device, _: &Group) -> Case {
    let options = TransformerOptions::new(8, 2).hidden(16).norm_first(true).dropout(0.0);
    let block = TransformerEncoderLayer::new(&options).to_device(device);
    let head = Linear::new(8, 8).to_device(device);
    let parameters = [block.parameters(), head.parameters()].concat();
    let loss = move |rows: &Tensor| {
        let x = rows.reshape([rows.shape()[0], 5, 8]);
        let said = head.forward(&block.forward(&x, &Attention::new().causal()));
        said.mean_squared_error(&(&x * 0.5).tanh())
    };
    // Slopes at the keys' biases are zero, but for rounding, which AdamW would make steps of.
    let adam = AdamW::new(parameters.clone()).learning_rate(0.003).epsilon(1e-5).clip(Clip::Norm(1.0));
    Case { parameters, buffers: vec![], loss: Box::new(loss), optimizer: Box::new(adam) }
}

/// Rows of a batch, always the same numbers for the same step.
fn rows(step: usize, width: usize, device: &Device) -> Tensor {
    let number = |n: usize| {
        let mixed = ((n * 2 + 1) * 2_654_435_761usize + step * 40_503) % 65_536;
        mixed as f32 / 32_768.0 - 1.0
    };
    Tensor::from_vec((0..BATCH * width).map(number).collect::<Vec<f32>>(), [BATCH, width], device)
}

/// Every parameter after some steps, and the first gradients, as a rank has them.
struct Trained {
    first: Vec<f32>,
    parameters: Vec<f32>,
    buffers: Vec<f32>,
}

fn numbers<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> Vec<f32> {
    tensors.flat_map(|tensor| tensor.to_vec::<f32>().expect("numbers")).collect()
}

fn train(make: Make, width: usize, steps: usize, group: &Group) -> Trained {
    let device = device();
    let case = {
        let _drawing = DRAWING.lock().expect("nobody panicked");
        farad::seed(3);
        make(&device, group)
    };
    let mut optimizer = case.optimizer;
    optimizer.distribute(group);
    optimizer.synchronize().expect("ranks are there");
    let share = BATCH / group.size();
    let own = |step: usize| rows(step, width, &device).narrow(0, group.rank() * share, share);
    let gradients = optimizer.gradients(&(case.loss)(&own(0))).expect("gradients");
    let mut first = numbers(gradients.iter());
    group.all_reduce(&mut first, Combine::Mean).expect("all-reduce");
    for step in 0..steps {
        let loss = (case.loss)(&own(step));
        optimizer.step(&loss).expect("a step");
        assert!(loss.item().expect("a value").is_finite());
    }
    let values: Vec<Tensor> = case.parameters.iter().map(Parameter::value).collect();
    let buffers: Vec<Tensor> = case.buffers.iter().map(Buffer::value).collect();
    Trained { first, parameters: numbers(values.iter()), buffers: numbers(buffers.iter()) }
}

/// All ranks of a group, each in its thread.
fn ranks<T: Send>(size: usize, of: impl Fn(&Group) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = Group::threads(size)
            .expect("ranks")
            .into_iter()
            .map(|group| {
                let of = &of;
                scope.spawn(move || of(&group))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |all: &mut dyn Iterator<Item = f64>| all.map(|x| x * x).sum::<f64>().sqrt();
    let apart = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(a - b)));
    apart / norm(&mut b.iter().map(|&b| f64::from(b))).max(1e-12)
}

/// Trains alone and in groups, and compares.
fn compare(make: Make, width: usize) {
    let alone = train(make, width, 100, &Group::alone());
    for size in [2, 4] {
        let trained = ranks(size, |group| train(make, width, 100, group));
        for (rank, found) in trained.iter().enumerate() {
            assert_eq!(found.parameters, trained[0].parameters, "rank {rank} has other bits than rank 0");
            let (first, last) =
                (distance(&found.first, &alone.first), distance(&found.parameters, &alone.parameters));
            assert!(first < 1e-6, "{size} ranks: the first gradients are {first:e} apart");
            assert!(last < 1e-4, "{size} ranks: parameters are {last:e} apart after 100 steps");
            if !alone.buffers.is_empty() {
                let statistics = distance(&found.buffers, &alone.buffers);
                assert!(statistics < 1e-4, "{size} ranks: running statistics are {statistics:e} apart");
            }
        }
    }
}

#[test]
fn an_mlp_with_clipping_learns_as_alone() {
    compare(mlp, 6);
}

#[test]
fn a_cnn_with_synchronized_batch_norm_learns_as_alone() {
    compare(cnn, 16);
}

#[test]
fn a_transformer_learns_as_alone() {
    compare(transformer, 40);
}

/// Local statistics are those of a rank's own share, so the test above would see their absence.
#[test]
fn batch_norm_is_local_unless_asked() {
    let own = ranks(2, |group| {
        let x = rows(group.rank(), 16, &device()).reshape([BATCH, 1, 4, 4]);
        let local = BatchNorm2d::new(1);
        let shared = BatchNorm2d::new(1).synchronized(group);
        [local.forward(&x), shared.forward(&x)].map(|y| y.to_vec::<f32>().expect("numbers"))
    });
    let mean = |all: &[f32]| all.iter().sum::<f32>() / all.len() as f32;
    assert!(own.iter().all(|[local, _]| mean(local).abs() < 1e-5));
    let together: Vec<f32> = own.iter().flat_map(|[_, shared]| shared.clone()).collect();
    assert!(mean(&together).abs() < 1e-5);
    assert!(own.iter().any(|[_, shared]| mean(shared).abs() > 1e-4), "each alone has another mean");
}

/// Ranks that begin with other weights have those of rank 0 from then on.
#[test]
fn all_ranks_take_the_weights_of_the_first() {
    let found = ranks(3, |group| {
        let weight = Parameter::new(Tensor::full(group.rank() as f32 + 1.0, [5], &device()));
        let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.5).distributed(group).expect("ranks");
        // The mean of 0, 1 and 2 is 1.
        sgd.step(&(weight.value().sum() * group.rank() as f64)).expect("a step");
        weight.value().to_vec::<f32>().expect("numbers")
    });
    assert!(found.iter().all(|weights| weights == &[0.5; 5]), "{found:?}");
}

/// A gradient that is not finite on one rank makes all ranks skip the step, and their scales stay the same.
#[test]
fn an_overflow_of_one_rank_skips_the_step_of_all() {
    let found = ranks(2, |group| {
        let weight = Parameter::new(Tensor::ones([3], &device()));
        let mut sgd = Sgd::new(vec![weight.clone()]).clip(Clip::Norm(1.0)).distributed(group).expect("ranks");
        let factor = if group.rank() == 1 { f64::INFINITY } else { 1.0 };
        sgd.step(&(weight.value().sum() * factor)).expect("a step");
        (weight.value().to_vec::<f32>().expect("numbers"), sgd.overflows().expect("counted"))
    });
    assert!(found.iter().all(|(weights, skipped)| weights == &[1.0; 3] && *skipped == 1), "{found:?}");
}

/// Shares of all batches together are the batches of one rank, in the same order, and weights make up for odd ones.
#[test]
fn shards_are_shares_of_the_same_batches() {
    let all = |group: &Group| {
        let mut loader = DataLoader::new(farad::data::digits(20, 1), 6).shuffle(5).shard(group);
        let mut batches = Vec::new();
        let mut given = (&mut loader).into_iter();
        while let Some(batch) = given.next() {
            let (_, labels) = batch.expect("a batch");
            batches.push((labels.to_vec::<i32>().expect("labels"), given.weight()));
        }
        (batches, loader.position())
    };
    let (alone, stands) = all(&Group::alone());
    for size in [2, 3, 4] {
        let shards = ranks(size, all);
        for (n, (labels, _)) in alone.iter().enumerate() {
            let counted = shards.iter().filter(|(batches, _)| batches[n].1 > 0.0);
            let together: Vec<i32> = counted.flat_map(|(batches, _)| batches[n].0.clone()).collect();
            assert_eq!(together, *labels, "batch {n} of {size} ranks");
            let weights: f64 = shards.iter().map(|(batches, _)| batches[n].1).sum();
            assert!((weights / size as f64 - 1.0).abs() < 1e-12, "weights of batch {n}: {weights}");
        }
        assert!(shards.iter().all(|(_, position)| *position == stands), "a position knows no ranks");
    }
}
