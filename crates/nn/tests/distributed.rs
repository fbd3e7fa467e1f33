//! Two ranks against one rank with the double batch: the same gradients, the same parameters.
//!
//! Ranks are threads, each with a device of its own. What they compute differs in rounding only, since sums over a batch
//! are made in another order.

use farad::Attention;
use farad::data::DataLoader;
use farad::group::{Combine, Group, WireFormat};
use farad::nn::{TransformerEncoderLayer, TransformerOptions};
use farad::optim::{AnyOptimizer, Clip, RankOptions};
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
    train_with(make, width, steps, group, RankOptions::default())
}

fn train_with(make: Make, width: usize, steps: usize, group: &Group, options: RankOptions) -> Trained {
    let device = device();
    let case = {
        let _drawing = DRAWING.lock().expect("nobody panicked");
        farad::seed(3);
        make(&device, group)
    };
    let mut optimizer = case.optimizer;
    optimizer.distribute(group, options).expect("these rules are elementwise");
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

/// Buckets of a few hundred bytes: many of them are under way at once.
const SMALL: RankOptions =
    RankOptions { wire: WireFormat::Full, sharded: false, overlaps: true, bucket_bytes: Some(300) };

/// Whether reductions run beside the backward pass changes no bit, and neither do the sizes of buckets.
#[test]
fn buckets_change_no_bit() {
    for (make, width) in [(mlp as Make, 6), (cnn, 16), (transformer, 40)] {
        let with =
            |options| ranks(2, |group| train_with(make, width, 20, group, options)).swap_remove(1).parameters;
        let whole = with(RankOptions { bucket_bytes: Some(1 << 30), overlaps: false, ..SMALL });
        assert_eq!(with(SMALL), whole, "beside the backward pass");
        assert_eq!(with(RankOptions { overlaps: false, ..SMALL }), whole, "after it");
    }
}

/// Moments that are sharded learn what whole ones learn; only the norm is added up in another order.
#[test]
fn shards_learn_what_whole_moments_learn() {
    for (make, width) in [(mlp as Make, 6), (cnn, 16), (transformer, 40)] {
        for size in [2, 3] {
            let with = |sharded| {
                ranks(size, |group| train_with(make, width, 100, group, RankOptions { sharded, ..SMALL }))
            };
            let (whole, found) = (with(false).swap_remove(0), with(true));
            assert!(found.iter().all(|rank| rank.parameters == found[0].parameters), "ranks differ");
            let apart = distance(&found[0].parameters, &whole.parameters);
            assert!(apart < 1e-5, "{size} ranks: parameters are {apart:e} apart");
        }
    }
}

/// As f16 on the wire, gradients are off by about 2^-11 of themselves.
#[test]
fn halves_on_the_wire_learn_nearly_the_same() {
    // One bucket of more than 4 KiB: less is sent as it is.
    let with = |wire, sharded| {
        let options = RankOptions { wire, sharded, bucket_bytes: Some(1 << 20), ..SMALL };
        ranks(2, |group| train_with(wide, 6, 20, group, options))
    };
    let exact = with(WireFormat::Full, false).swap_remove(0).parameters;
    for sharded in [false, true] {
        let found = with(WireFormat::Half, sharded);
        assert_eq!(found[0].parameters, found[1].parameters, "ranks differ");
        let apart = distance(&found[0].parameters, &exact);
        assert!(apart > 0.0 && apart < 1e-4, "parameters are {apart:e} apart");
    }
}

/// A network whose gradients have more bytes than are sent in one move.
fn wide(device: &Device, _: &Group) -> Case {
    let model = Sequential::new((Linear::new(6, 128), Gelu, Linear::new(128, 2))).to_device(device);
    let parameters = model.parameters();
    let loss = move |rows: &Tensor| model.forward(rows).mean_squared_error(&rows.narrow(1, 0, 2).square());
    let sgd = Sgd::new(parameters.clone()).learning_rate(0.05);
    Case { parameters, buffers: vec![], loss: Box::new(loss), optimizer: Box::new(sgd) }
}

/// What four ranks with shards have stored, two ranks, one rank and a rank without shards go on with.
#[test]
fn a_state_of_shards_knows_no_ranks() {
    let options = RankOptions { sharded: true, ..SMALL };
    let stored = ranks(4, |group| go_on(group, options, None, 10)).swap_remove(0);
    let whole = go_on(&Group::alone(), SMALL, None, 25);
    for (size, options) in [(4, options), (2, options), (2, SMALL), (1, SMALL)] {
        let found = ranks(size, |group| go_on(group, options, Some(&stored), 15));
        for rank in &found {
            let apart = distance(&rank.0, &whole.0);
            assert!(apart < 1e-4, "{size} ranks: parameters are {apart:e} apart");
            assert_eq!(rank.0, found[0].0, "ranks differ");
        }
        // What is not cut into shares again is the same tensor by tensor.
        let names =
            |state: &[(String, Tensor)]| state.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found[0].1), names(&whole.1));
        for ((name, one), (_, other)) in
            found[0].1.iter().zip(&whole.1).filter(|((name, _), _)| name != "progress")
        {
            let apart = distance(&numbers([one].into_iter()), &numbers([other].into_iter()));
            assert!(apart < 1e-3, "{name} of {size} ranks is {apart:e} apart");
        }
    }
}

/// Parameters and the optimizer's state after some steps, from a stored one or from the start.
fn go_on(
    group: &Group,
    options: RankOptions,
    from: Option<&(Vec<f32>, Vec<(String, Tensor)>)>,
    steps: usize,
) -> (Vec<f32>, Vec<(String, Tensor)>) {
    let device = device();
    let Case { parameters, loss, mut optimizer, .. } = {
        let _drawing = DRAWING.lock().expect("nobody panicked");
        farad::seed(3);
        mlp(&device, group)
    };
    optimizer.distribute(group, options).expect("a rule of elements");
    let mut begun = 0;
    if let Some((weights, state)) = from {
        let mut rest = &weights[..];
        for parameter in &parameters {
            let shape = parameter.value().shape();
            let (own, more) = rest.split_at(shape.numel());
            parameter.set(Tensor::from_vec(own.to_vec(), shape, &device));
            rest = more;
        }
        optimizer.restore(state).expect("it fits");
        begun = 10;
    }
    let share = BATCH / group.size();
    for step in begun..begun + steps {
        let own = rows(step, 6, &device).narrow(0, group.rank() * share, share);
        optimizer.step(&loss(&own)).expect("a step");
    }
    assert!(!options.sharded || group.is_alone() || optimizer.state().is_err(), "nothing was gathered");
    optimizer.gather().expect("all ranks gather");
    let values: Vec<Tensor> = parameters.iter().map(Parameter::value).collect();
    (numbers(values.iter()), optimizer.state().expect("gathered"))
}

/// Every rank has its share of the moments, and no more.
#[test]
fn shards_take_their_share_of_the_memory() {
    let bytes = |sharded: bool| {
        let options = RankOptions { sharded, ..RankOptions::default() };
        let found = ranks(4, |group| {
            let device = device();
            let weight = Parameter::new(Tensor::ones([1 << 16], &device));
            let mut adam = AdamW::new(vec![weight.clone()]).distributed_with(group, options).expect("ranks");
            adam.step(&weight.value().square().sum()).expect("a step");
            device.counters().bytes_live
        });
        found[0]
    };
    let (whole, sharded) = (bytes(false), bytes(true));
    // Two moments of a quarter each and a quarter of the parameters, in place of two whole moments.
    let saved = whole.saturating_sub(sharded);
    assert!(saved > 4 << 16, "{whole} bytes with whole moments, {sharded} with shards");
}

#[test]
fn rules_of_whole_matrices_are_not_sharded() {
    let found = ranks(2, |group| {
        let weight = Parameter::new(Tensor::ones([4, 4], &device()));
        let options = RankOptions { sharded: true, ..RankOptions::default() };
        Muon::new(vec![weight])
            .distributed_with(group, options)
            .map(drop)
            .expect_err("whole matrices")
            .to_string()
    });
    assert!(found[0].starts_with("distributed: this optimizer updates whole matrices"), "{}", found[0]);
}

/// A rank that is gone while buckets are under way is an error for the others, and nobody waits.
#[test]
fn a_rank_that_is_gone_ends_the_step_of_all() {
    for sharded in [false, true] {
        let found = ranks(3, |group| {
            let Case { loss, mut optimizer, .. } = {
                let _drawing = DRAWING.lock().expect("nobody panicked");
                mlp(&device(), group)
            };
            optimizer.distribute(group, RankOptions { sharded, ..SMALL }).expect("a rule of elements");
            for step in 0..3 {
                if step == 2 && group.rank() == 1 {
                    return None;
                }
                let own = rows(step, 6, &device_of(&*optimizer)).narrow(0, group.rank() * 2, 2);
                if let Err(error) = optimizer.step(&loss(&own)) {
                    return Some(error.to_string());
                }
            }
            unreachable!("rank 1 is gone")
        });
        assert!(found[1].is_none());
        for text in [&found[0], &found[2]] {
            let text = text.as_ref().expect("an error");
            assert!(text.starts_with("group: rank 1 is gone"), "{text}");
        }
    }
}

fn device_of(optimizer: &dyn AnyOptimizer) -> Device {
    optimizer.parameters()[0].value().device().clone()
}

/// Ranks that are threads may share a GPU, each with a handle of its own. Needs a GPU, also a software one.
#[test]
fn two_handles_of_one_gpu_learn_as_alone() {
    let Ok(gpu) = Device::gpu(0) else { return eprintln!("skipped: there is no GPU") };
    let train = |group: &Group, device: &Device, options: RankOptions| {
        let Case { parameters, loss, mut optimizer, .. } = {
            let _drawing = DRAWING.lock().expect("nobody panicked");
            farad::seed(3);
            mlp(device, group)
        };
        optimizer.distribute(group, options).expect("a rule of elements");
        optimizer.synchronize().expect("ranks are there");
        let share = BATCH / group.size();
        for step in 0..20 {
            let own = rows(step, 6, device).narrow(0, group.rank() * share, share);
            optimizer.step(&loss(&own)).expect("a step");
        }
        let values: Vec<Tensor> = parameters.iter().map(Parameter::value).collect();
        numbers(values.iter())
    };
    let alone = train(&Group::alone(), &gpu, SMALL);
    for options in [SMALL, RankOptions { sharded: true, ..SMALL }] {
        let found = ranks(2, |group| train(group, &gpu.another().expect("another handle"), options));
        assert_eq!(found[0], found[1], "ranks differ");
        let apart = distance(&found[0], &alone);
        assert!(apart < 1e-4, "parameters are {apart:e} apart");
    }
}

/// Waiting for others is a phase of its own.
#[test]
fn profiles_show_waiting_for_others() {
    let waited = ranks(2, |group| {
        let device = device();
        let weight = Parameter::new(Tensor::ones([8], &device));
        let mut sgd = Sgd::new(vec![weight.clone()]).distributed(group).expect("ranks");
        let profile = device.profile(|| {
            if group.rank() == 1 {
                std::thread::sleep(std::time::Duration::from_millis(30));
            }
            sgd.step(&weight.value().sum()).expect("a step");
        });
        profile.1.phase("waiting for others").as_millis()
    });
    assert!(waited[0] > 20, "rank 0 waited {} ms", waited[0]);
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
