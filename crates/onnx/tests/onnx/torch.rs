//! Models that PyTorch's two exporters wrote (`tools/fixtures/onnx_models.py`): they give onnxruntime's
//! results, learn, and are unchanged when they are written and read again.
//!
//! `FARAD_ONNX_MODELS` is a folder of further models in the same form, which are run on the CPU.

use std::path::{Path, PathBuf};

use farad::nn::Module;
use farad::prelude::*;
use farad_onnx::proto::{Message, TensorProto};
use farad_onnx::{Kind, Model, Ports, export, numbers};

/// The allowed deviation from onnxruntime's results, relative to the largest number.
const TOLERANCE: f64 = 1e-4;

fn folders(place: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.join("model.onnx").exists());
    folders.sort();
    folders
}

fn committed() -> Vec<PathBuf> {
    folders(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models"))
}

/// The tensors of one side (inputs or outputs) of a data set.
fn side(folder: &Path, set: usize, name: &str) -> Vec<TensorProto> {
    let place = folder.join(format!("test_data_set_{set}"));
    let files = (0..).map(|n| place.join(format!("{name}_{n}.pb"))).take_while(|path| path.exists());
    files.map(|path| TensorProto::decode(&std::fs::read(path).unwrap()).unwrap()).collect()
}

fn sets(folder: &Path) -> usize {
    (0..).take_while(|n| folder.join(format!("test_data_set_{n}")).exists()).count()
}

fn shape(proto: &TensorProto) -> Vec<usize> {
    proto.dims.iter().map(|&size| size as usize).collect()
}

/// A tensor of the file as programs hold it: tokens in 32 bits.
fn tensor(proto: &TensorProto, device: &Device) -> Tensor {
    let values = numbers(proto).unwrap();
    let shape = shape(proto);
    match Kind::of(proto.data_type).unwrap() {
        Kind::I64 => {
            let tokens: Vec<i32> = values.iter().map(|&x| x as i32).collect();
            Tensor::from_vec(tokens, shape, device)
        }
        Kind::Bool => {
            let truths: Vec<bool> = values.iter().map(|&x| x != 0.0).collect();
            Tensor::from_vec(truths, shape, device)
        }
        _ => {
            let floats: Vec<f32> = values.iter().map(|&x| x as f32).collect();
            Tensor::from_vec(floats, shape, device)
        }
    }
}

/// The largest difference, relative to the largest number.
fn apart(found: &[f64], wanted: &[f64]) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let largest = wanted.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
    let differences = found.iter().zip(wanted).map(|(&a, &b)| if same(a, b) { 0.0 } else { (a - b).abs() });
    differences.fold(0.0f64, |most, x| if x.is_nan() { f64::INFINITY } else { most.max(x) }) / largest
}

fn floats(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect()
}

fn run(model: &Model, inputs: &[TensorProto], device: &Device) -> Tensor {
    let given: Vec<Tensor> = inputs.iter().map(|proto| tensor(proto, device)).collect();
    let named: Vec<(&str, &Tensor)> =
        inputs.iter().zip(&given).map(|(proto, tensor)| (proto.name.as_str(), tensor)).collect();
    model.run(&named).unwrap_or_else(|error| panic!("{error}")).remove(0).1
}

/// The largest deviation over all data sets on a device.
fn worst(folder: &Path, device: &Device) -> f64 {
    let model = Model::load(folder.join("model.onnx")).unwrap().to_device(device);
    let errors = (0..sets(folder)).map(|set| {
        let (inputs, wanted) = (side(folder, set, "input"), side(folder, set, "output"));
        let found = run(&model, &inputs, device);
        assert_eq!(found.shape().to_vec(), shape(&wanted[0]), "{}", folder.display());
        apart(&floats(&found), &numbers(&wanted[0]).unwrap())
    });
    errors.fold(0.0, f64::max)
}

#[test]
fn exported_models_say_what_onnxruntime_says() {
    let mut devices = vec![Device::cpu()];
    match Device::gpu(0) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => {
            assert!(std::env::var_os("FARAD_REQUIRE_TOOLS").is_none(), "{error}");
            println!("skipped: {error}");
        }
    }
    let all = committed();
    assert!(all.len() >= 10, "{all:?}");
    for folder in all {
        for device in &devices {
            let error = worst(&folder, device);
            println!("{} on {device}: {error:.1e}", folder.display());
            assert!(error <= TOLERANCE, "{} on {device}: {error}", folder.display());
        }
    }
}

#[test]
fn exported_models_learn() {
    for folder in committed() {
        let model = Model::load(folder.join("model.onnx")).unwrap();
        let inputs = side(&folder, 1, "input");
        let start = run(&model, &inputs, &Device::cpu());
        let target = start.flip(&[0]) * 0.5 + 0.3;
        let target = Tensor::from_vec(target.to_vec::<f32>().unwrap(), start.shape(), &Device::cpu());
        let loss = || (run(&model, &inputs, &Device::cpu()) - &target).square().mean();
        let before = loss().item().unwrap();
        let mut adam = AdamW::new(model.parameters()).learning_rate(3e-3);
        for _ in 0..8 {
            adam.step(&loss()).unwrap();
        }
        let after = loss().item().unwrap();
        assert!(after < 0.8 * before, "{}: {after} vs {before}", folder.display());
    }
}

#[test]
fn imported_models_are_the_same_when_exported() {
    let mut count = 0;
    for folder in committed() {
        let model = Model::load(folder.join("model.onnx")).unwrap();
        let inputs = side(&folder, 1, "input");
        let [input] = &inputs[..] else { continue };
        let tokens = Kind::of(input.data_type) == Some(Kind::I64);
        let dtype = if tokens { DType::I32 } else { DType::F32 };
        let sample = shape(input);
        let ports = Ports { input: "x", shape: &sample[1..], dtype, output: "y" };
        let file = export(&model.state(), &ports, |x| model.apply(x).unwrap());
        let file = file.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let again = Model::from_proto(&file).unwrap();
        let x = tensor(input, &Device::cpu());
        let error = apart(&floats(&again.apply(&x).unwrap()), &floats(&model.apply(&x).unwrap()));
        assert!(error <= 1e-5, "{}: {error}", folder.display());
        count += 1;
    }
    assert!(count >= 8, "{count}");
}

#[test]
fn other_models() {
    let Some(place) = std::env::var_os("FARAD_ONNX_MODELS").map(PathBuf::from) else { return };
    let mut failed = Vec::new();
    let all = folders(&place);
    for folder in &all {
        let tried = std::panic::catch_unwind(|| -> Result<f64, String> {
            let start = std::time::Instant::now();
            let model = Model::load(folder.join("model.onnx")).map_err(|error| error.to_string())?;
            let mut worst: f64 = 0.0;
            for set in 0..sets(folder) {
                let (inputs, wanted) = (side(folder, set, "input"), side(folder, set, "output"));
                let results = model.run_protos(&inputs).map_err(|error| format!("set {set}: {error}"))?;
                for (result, wanted) in results.iter().zip(&wanted) {
                    if result.dims != wanted.dims || result.data_type != wanted.data_type {
                        return Err(format!(
                            "{}: {:?} instead of {:?}",
                            wanted.name, result.dims, wanted.dims
                        ));
                    }
                    worst = worst.max(apart(&numbers(result).unwrap(), &numbers(wanted).unwrap()));
                }
            }
            println!("{}: {worst:.1e}, {:.2?}", folder.file_name().unwrap().display(), start.elapsed());
            // With eight bits, a value between two numbers may round either way.
            let few = folder.to_string_lossy().contains("quantized");
            if worst <= if few { 1e-2 } else { TOLERANCE } {
                Ok(worst)
            } else {
                Err(format!("off by {worst:.1e}"))
            }
        });
        match tried {
            Ok(Ok(_)) => {}
            Ok(Err(why)) => failed.push(format!("{}: {why}", folder.file_name().unwrap().display())),
            Err(_) => failed.push(format!("{}: panicked", folder.file_name().unwrap().display())),
        }
    }
    println!("{} of {} models", all.len() - failed.len(), all.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
