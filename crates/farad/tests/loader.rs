//! The loader: order, positions, threads that know no device, errors that arrive, uploads that nobody waits for.

mod devices;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use devices::{devices, turn};
use farad::data::*;
use farad::prelude::*;
use farad::{Error, ProfileMode, ProfileOptions, Result};

/// Samples that are their own numbers.
#[derive(Default)]
struct Numbers {
    len: usize,
    /// How long it takes to make a sample.
    takes: Duration,
    /// The sample that cannot be read.
    broken: Option<usize>,
    /// The sample that panics.
    panics: Option<usize>,
    /// How many were read.
    read: Arc<AtomicUsize>,
}

impl Dataset for Numbers {
    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, index: usize) -> Result<Sample> {
        self.read.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(self.takes);
        assert_ne!(self.panics, Some(index), "sample {index} explodes");
        match self.broken == Some(index) {
            true => Err(DataError::NoSample { index, len: self.len }.into()),
            false => Ok(Sample { input: Array::new(vec![index as f32], [1]), target: Array::class(index) }),
        }
    }
}

fn numbers(len: usize) -> Numbers {
    Numbers { len, ..Numbers::default() }
}

/// The samples of what is left of an epoch, batch by batch.
fn rest(loader: &mut DataLoader) -> Vec<Vec<i32>> {
    loader.into_iter().map(|batch| batch.unwrap().1.to_vec::<i32>().unwrap()).collect()
}

#[test]
fn every_sample_comes_once_an_epoch_however_many_threads_there_are() {
    let mut orders = vec![];
    for workers in [0, 1, 2, 3, 40] {
        let mut loader = DataLoader::new(numbers(23), 5).shuffle(7).workers(workers).prefetch(3);
        assert_eq!(loader.batches().unwrap(), 5);
        let epochs = [rest(&mut loader), rest(&mut loader)];
        for epoch in &epochs {
            assert_eq!(epoch.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5, 5, 5, 3]);
            let mut all: Vec<i32> = epoch.concat();
            all.sort_unstable();
            assert_eq!(all, (0..23).collect::<Vec<_>>());
        }
        assert_ne!(epochs[0], epochs[1], "epochs have orders of their own");
        orders.push(epochs);
    }
    assert!(orders.windows(2).all(|pair| pair[0] == pair[1]));
    let in_order = rest(&mut DataLoader::new(numbers(5), 2));
    assert_eq!(in_order, [vec![0, 1], vec![2, 3], vec![4]]);
    assert_eq!(rest(&mut DataLoader::new(numbers(5), 2).drop_last(true)), [vec![0, 1], vec![2, 3]]);
    let by_value = DataLoader::new(numbers(4), 2).into_iter().map(|batch| batch.unwrap().0.item_count());
    assert_eq!(by_value.sum::<usize>(), 4);
}

trait ItemCount {
    fn item_count(&self) -> usize;
}

impl ItemCount for Tensor {
    fn item_count(&self) -> usize {
        self.shape()[0]
    }
}

#[test]
fn a_saved_position_gives_the_rest_of_the_epoch() {
    let random = |input: Array, random: &mut Random| {
        let noise = random.uniform();
        Ok(Array::new(input.to_f32().iter().map(|v| v + noise).collect::<Vec<f32>>(), input.shape()))
    };
    let new = || DataLoader::new(numbers(23), 4).transform(random).workers(2);
    let inputs = |loader: &mut DataLoader| -> Vec<Vec<u32>> {
        let bits = |x: Tensor| x.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect();
        loader.into_iter().map(|batch| bits(batch.unwrap().0)).collect()
    };
    let mut whole = new().shuffle(3);
    let epochs = [inputs(&mut whole), inputs(&mut whole), inputs(&mut whole)];
    let mut broken = new().shuffle(3);
    inputs(&mut broken);
    let head: Vec<Position> = broken.positions(2);
    let saved = serde_json::to_string(&head[1]).unwrap();
    let mut resumed = new();
    resumed.set_position(serde_json::from_str(&saved).unwrap()).unwrap();
    assert_eq!(inputs(&mut resumed), epochs[1][2..]);
    assert_eq!(inputs(&mut resumed), epochs[2]);
    // A loop that is left goes on where it was left.
    assert_eq!(inputs(&mut broken), epochs[1][2..]);

    // All batches and not one question more: the next loop is the next epoch.
    let mut counted = new().shuffle(3);
    assert_eq!((&mut counted).into_iter().take(6).count(), 6);
    assert_eq!((counted.position().epoch, counted.position().batch), (1, 0));
    assert_eq!(inputs(&mut counted), epochs[1]);
    let before = Position { epoch: 1, batch: 6, ..counted.position() };
    counted.set_position(before).unwrap();
    assert_eq!(inputs(&mut counted), epochs[2]);

    let position = whole.position();
    let error = DataLoader::new(numbers(23), 5).set_position(position).unwrap_err().to_string();
    assert_eq!(error, "loader: position does not fit: batch sizes differ (5 vs 4)");
    let error = DataLoader::new(numbers(22), 4).set_position(position).unwrap_err().to_string();
    assert_eq!(error, "loader: position does not fit: sets differ in length (22 vs 23)");
    let outside = Position { batch: 7, ..position };
    let refused = new().set_position(outside).unwrap_err();
    assert!(matches!(refused.part(), Some(DataError::Position { found: 7, wanted: 6, .. })));
}

trait Positions {
    fn positions(&mut self, batches: usize) -> Vec<Position>;
}

impl Positions for DataLoader {
    /// Takes some batches; the positions after each.
    fn positions(&mut self, batches: usize) -> Vec<Position> {
        let mut all = vec![];
        let mut running = self.into_iter();
        for _ in 0..batches {
            running.next().unwrap().unwrap();
            all.push(running.position());
        }
        all
    }
}

#[test]
fn errors_and_panics_of_threads_arrive_as_errors() {
    for workers in [0, 1, 3] {
        let loader = DataLoader::new(Numbers { broken: Some(11), ..numbers(20) }, 4).workers(workers);
        let found: Vec<Result<(Tensor, Tensor)>> = loader.into_iter().collect();
        assert_eq!(found.len(), 3, "two batches and an error");
        assert!(found[..2].iter().all(Result::is_ok));
        let refused = found[2].as_ref().err().and_then(Error::part);
        assert!(matches!(refused, Some(DataError::NoSample { index: 11, len: 20 })));
        let mut loader = DataLoader::new(Numbers { panics: Some(0), ..numbers(20) }, 4).workers(workers);
        let text = (&mut loader).into_iter().next().unwrap().unwrap_err().to_string();
        assert!(
            text.starts_with("loader: making batch 0 panicked: ") && text.contains("sample 0 explodes"),
            "{text}"
        );
    }
    let first = |mut loader: DataLoader| match (&mut loader).into_iter().next() {
        Some(Err(error)) => error.to_string(),
        _ => panic!("an error was wanted"),
    };
    assert_eq!(first(DataLoader::new(numbers(0), 4)), "loader: no samples: (0 vs at least 1)");
    assert_eq!(first(DataLoader::new(numbers(4), 0)), "loader: a batch needs samples: (0 vs at least 1)");
    assert!(
        first(DataLoader::new(numbers(3), 4).drop_last(true))
            .starts_with("loader: not one whole batch: (3 samples vs 4)")
    );
    let ragged = |input: Array, random: &mut Random| {
        let size = 1 + random.below(2);
        Ok(Array::new(vec![input.to_f32()[0]; size], [size]))
    };
    let text = first(DataLoader::new(numbers(30), 30).transform(ragged));
    assert!(text.starts_with("batch: shapes differ: sample "), "{text}");
}

#[test]
fn threads_end_with_the_loop() {
    let read = Arc::new(AtomicUsize::new(0));
    let set = Numbers { takes: Duration::from_millis(1), read: read.clone(), ..numbers(100_000) };
    let mut loader = DataLoader::new(set, 100).workers(2).prefetch(2);
    let start = Instant::now();
    (&mut loader).into_iter().next().unwrap().unwrap();
    // Not more than what was asked for, what may be ahead, and what was under way.
    assert!(start.elapsed() < Duration::from_secs(20));
    let ended = read.load(Ordering::SeqCst);
    assert!(ended <= 100 * 7, "{ended}");
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(read.load(Ordering::SeqCst), ended, "a thread goes on");
}

/// A set that counts what is read of it.
struct Counted<D>(D, Arc<AtomicUsize>);

impl<D: Dataset> Dataset for Counted<D> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, index: usize) -> Result<Sample> {
        let sample = self.0.get(index);
        self.1.fetch_add(1, Ordering::SeqCst);
        sample
    }
}

/// Batches of the epoch that is looked at: a device that is slower than the host lets it be four submissions ahead,
/// and then waits for its own work.
const BATCHES: usize = 4;

#[test]
fn batches_are_uploaded_before_they_are_asked_for_and_nothing_waits() {
    let _turn = turn();
    for device in devices() {
        let model = Sequential::new((Linear::new(784, 32), Relu, Linear::new(32, 10))).to_device(&device);
        let mut sgd = Sgd::new(model.parameters()).learning_rate(0.01);
        let read = Arc::new(AtomicUsize::new(0));
        let mut loader = DataLoader::new(Counted(digits(16 * BATCHES, 1), read.clone()), 16)
            .workers(2)
            .prefetch(BATCHES)
            .transform(Flatten)
            .device(&device);
        let mut step = |images: &Tensor, labels: &Tensor| {
            sgd.step(&model.forward(images).cross_entropy(labels)).unwrap()
        };
        // The first epoch compiles.
        for batch in &mut loader {
            let (images, labels) = batch.unwrap();
            step(&images, &labels);
        }
        device.wait().unwrap();
        let before = device.counters();
        let uploads = || device.counters().since(&before).uploads;
        let options = ProfileOptions { mode: ProfileMode::Host, peaks: false };
        let (_, profile) = device.profile_with(options, || {
            let mut running = (&mut loader).into_iter();
            for number in 1..=BATCHES {
                // So that the threads have made what they may, which is all of this second epoch.
                let patience = Instant::now() + Duration::from_secs(20);
                while read.load(Ordering::SeqCst) < 2 * 16 * BATCHES && Instant::now() < patience {
                    std::thread::sleep(Duration::from_millis(1));
                }
                std::thread::sleep(Duration::from_millis(20));
                let (images, labels) = running.next().unwrap().unwrap();
                assert_eq!(uploads(), 2 * (number + 1).min(BATCHES), "the next batch is on its way");
                step(&images, &labels);
                assert_eq!(uploads(), 2 * (number + 1).min(BATCHES), "a step uploads nothing");
            }
        });
        let counted = device.counters().since(&before);
        assert_eq!((counted.reads, counted.plans_compiled, counted.operands_moved), (0, 0, 0), "{profile}");
        assert_eq!(profile.phase("reading"), Duration::ZERO, "{profile}");
        let waits = profile.host.iter().find(|phase| phase.phase == "waiting").map_or(0, |phase| phase.count);
        assert!(waits <= 1, "only the profile waits, at its end: {profile}");
        let elsewhere: u64 = profile.host.iter().map(|phase| phase.elsewhere_nanoseconds).sum();
        assert_eq!(elsewhere, 0, "the loader's threads touched the device: {profile}");
    }
}

#[test]
fn batches_are_made_while_others_are_in_use() {
    let read = Arc::new(AtomicUsize::new(0));
    let mut loader = DataLoader::new(Numbers { read: read.clone(), ..numbers(100) }, 5).prefetch(3);
    let mut running = (&mut loader).into_iter();
    running.next().unwrap().unwrap();
    // Nobody asks for more: one batch may be uploaded, three wait, and one more is ready to join them.
    let patience = Instant::now() + Duration::from_secs(20);
    while read.load(Ordering::SeqCst) < 5 * 5 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(20));
    let made = read.load(Ordering::SeqCst);
    assert!((5 * 5..=6 * 5).contains(&made), "{made} samples were read");
}
