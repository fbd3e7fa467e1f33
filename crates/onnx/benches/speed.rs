//! How long a prediction takes: a network in Farad, the same network exported and imported, and imported
//! PyTorch models.
//!
//!   cargo bench -p farad-onnx --bench speed -- FOLDER
//!
//! FOLDER receives the exported network; every `NAME.onnx` in it is timed as well. Prints one line of JSON per
//! model and batch size: microseconds of the fastest call, from the input in memory to the output in memory.
//! `scripts/onnx speed` compares with onnxruntime.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farad::prelude::*;
use farad_onnx::proto::Message;
use farad_onnx::{Kind, Model, Ports, export};

/// Sizes of the batch.
const BATCHES: [usize; 3] = [1, 32, 256];
/// How long each model is timed, and the least number of calls.
const PATIENCE: (Duration, usize) = (Duration::from_millis(1500), 10);
/// The name of the network's file.
const OWN: &str = "cnn";
/// The size of dynamic axes other than the batch.
const LENGTH: usize = 24;

/// The network that `farad train mnist` trains.
fn network() -> Box<dyn Layer> {
    Box::new(Sequential::new((
        Sequential::new((Conv2d::new(1, 16, 3).padding(1), Relu, MaxPool2d::new(2))),
        Sequential::new((Conv2d::new(16, 32, 3).padding(1), Relu, MaxPool2d::new(2))),
        Flatten::new(),
        Linear::new(32 * 49, 128),
        Relu,
        Linear::new(128, 10),
    )))
}

/// Microseconds of the fastest call of each; calls alternate.
fn fastest(calls: &mut [Box<dyn FnMut() -> Tensor + '_>]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; calls.len()];
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < PATIENCE.1 || start.elapsed() < PATIENCE.0 * calls.len() as u32 {
        for (call, best) in calls.iter_mut().zip(&mut best) {
            let start = Instant::now();
            let result = call().to_vec::<f32>().expect("it can be read");
            let micros = start.elapsed().as_secs_f64() * 1e6;
            assert!(result.iter().all(|x| x.is_finite()));
            // The first calls compile.
            if rounds >= 3 {
                *best = best.min(micros);
            }
        }
        rounds += 1;
    }
    best
}

/// An input of the shape and kind that a model declares, with this many samples.
fn input(model: &Model, batch: usize) -> Tensor {
    let port = &model.inputs()[0];
    let shape = port.shape.as_ref().expect("the model says its shape");
    let axis = |(axis, size): (usize, &Option<usize>)| match (axis, size) {
        (0, _) => batch,
        (_, size) => size.unwrap_or(LENGTH),
    };
    let shape: Vec<usize> = shape.iter().enumerate().map(axis).collect();
    let values = Tensor::rand(shape, &Device::cpu());
    let tokens = port.kind == Some(Kind::I64);
    let values = if tokens { (values * 20.0).floor().cast(DType::I32) } else { values };
    values.detach().expect("it can be computed")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "onnx"));
    files.sort();
    files
}

fn main() -> farad::Result<()> {
    let Some(folder) =
        std::env::args().skip(1).find(|argument| !argument.starts_with('-')).map(PathBuf::from)
    else {
        println!("speed: a folder for models is wanted");
        return Ok(());
    };
    farad::seed(1);
    let native = network();
    let ports = Ports { input: "x", shape: &[1, 28, 28], dtype: DType::F32, output: "y" };
    let file = export(&native.state(), &ports, |x| native.forward(x))?;
    std::fs::write(folder.join(OWN).with_extension("onnx"), file.encode()).expect("it can be written");
    for path in files(&folder) {
        let model = Model::load(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for batch in BATCHES {
            let x = input(&model, batch);
            let mut calls: Vec<Box<dyn FnMut() -> Tensor>> =
                vec![Box::new(|| model.apply(&x).expect("it runs"))];
            if name == OWN {
                calls.push(Box::new(|| native.forward(&x)));
            }
            let best = fastest(&mut calls);
            let native = best.get(1).map_or(String::new(), |micros| format!(", \"native\": {micros:.1}"));
            println!("{{\"model\": \"{name}\", \"batch\": {batch}, \"imported\": {:.1}{native}}}", best[0]);
        }
    }
    Ok(())
}
