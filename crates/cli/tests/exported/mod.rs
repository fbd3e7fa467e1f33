//! `farad export --format onnx`: what onnxruntime makes of exported networks is what Farad says.

use std::path::Path;
use std::process::Command;

use farad::data::digits;
use farad::train::{Prediction, Predictor};
use farad::{Device, Tensor, write_npy};
use serde_json::Value;

use crate::folder::Folder;

/// A Python that has onnx and onnxruntime; `scripts/test` sets it up.
fn python() -> Option<String> {
    let python = std::env::var("FARAD_PYTHON").ok();
    let found = python.filter(|python| {
        let imports = Command::new(python).args(["-c", "import onnx, onnxruntime, numpy"]).output();
        imports.is_ok_and(|output| output.status.success())
    });
    assert!(
        found.is_some() || std::env::var_os("FARAD_REQUIRE_TOOLS").is_none(),
        "FARAD_PYTHON names no Python with onnx and onnxruntime"
    );
    found
}

fn tensor(values: Vec<f32>, shape: &[usize]) -> Tensor {
    Tensor::from_vec(values, shape, &Device::cpu())
}

/// Exports a run among the models.
fn exported(folder: &Folder, run: &str) {
    let exported = folder.succeed(&format!("export {run} --format onnx --out onnx/{run} --json --quiet"));
    let exported: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(exported["format"], "onnx");
    let file = folder.path(exported["file"].as_str().unwrap());
    std::fs::rename(file, folder.path(&format!("models/{run}.onnx"))).unwrap();
}

/// Exports a network, and writes down what it says of samples.
fn export(folder: &Folder, run: &str, samples: &Tensor) {
    exported(folder, run);
    let said = farad::load_run(folder.path(run)).unwrap().predict(samples).unwrap();
    let rows: Vec<Vec<f32>> = said
        .into_iter()
        .map(|said| match said {
            Prediction::Class { probabilities, .. } => probabilities.unwrap(),
            Prediction::Numbers(numbers) => numbers.into_iter().map(|number| number as f32).collect(),
        })
        .collect();
    let shape = [rows.len(), rows[0].len()];
    write(folder, run, samples, &tensor(rows.concat(), &shape));
}

fn write(folder: &Folder, run: &str, samples: &Tensor, said: &Tensor) {
    write_npy(folder.path(&format!("models/{run}.input.npy")), samples).unwrap();
    write_npy(folder.path(&format!("models/{run}.output.npy")), said).unwrap();
}

#[test]
fn networks_say_the_same_in_onnxruntime() {
    let folder = Folder::new("exported");
    std::fs::create_dir(folder.path("models")).unwrap();
    let common = "--data synthetic --device cpu --quiet --epochs 1";
    let pixels = digits(5, 2).inputs().to_f32();
    for (model, sizes) in [("mlp", "16"), ("cnn", "4,6"), ("rnn", "12")] {
        folder.succeed(&format!("train mnist {common} --model {model} --set sizes={sizes} --out {model}"));
        export(&folder, model, &tensor(pixels.clone(), &[5, 1, 28, 28]));
    }
    let rows: String =
        (0..60).map(|n| format!("{n},{},{},{}\n", n * 7 % 13, 1000 * n, ["a", "b", "c"][n % 3])).collect();
    std::fs::write(folder.path("table.csv"), format!("x,y,price,kind\n{rows}")).unwrap();
    let csv = "train csv --data table.csv --device cpu --quiet --epochs 4";
    folder.succeed(&format!("{csv} --out classes"));
    folder.succeed(&format!("{csv} --set target=price --set ignore=kind --out prices"));
    export(&folder, "classes", &tensor((0..12).map(|n| n as f32 * 9.0).collect(), &[4, 3]));
    export(&folder, "prices", &tensor((0..8).map(|n| n as f32 * 3.0).collect(), &[4, 2]));
    language_model(&folder);
    circuits(&folder, &tensor(pixels, &[5, 1, 28, 28]));
    refusals(&folder);
    models_are_asked(&folder);
    check(&folder.path("models"));
}

fn circuits(folder: &Folder, pictures: &Tensor) {
    let quick = "--device cpu --quiet --set simplify_seconds=0";
    folder.succeed(&format!(
        "train logic-mnist --data synthetic {quick} --updates 30 --set layers=200,100 --out gates"
    ));
    folder.succeed(&format!("train logic-table --data table.csv --set ignore=price {quick} --set repair=never --updates 30 --set layers=30,30 --out rows"));
    let rows = tensor((0..8).map(|n| n as f32 * 3.0).collect(), &[4, 2]);
    for (run, samples) in [("gates", pictures), ("rows", &rows)] {
        exported(folder, run);
        let run_folder = farad::run::Run::open(folder.path(run)).unwrap();
        let said = farad_logic::classify::CircuitInUse::of(&run_folder).unwrap().predict(samples).unwrap();
        let class = |said: &Prediction| said.ranked()[0].0 as f32;
        write(folder, run, samples, &tensor(said.iter().map(class).collect(), &[said.len()]));
    }
    std::fs::write(folder.path("adder.csv"), "a,b,sum,carry\n0,0,0,0\n0,1,1,0\n1,0,1,0\n1,1,0,1\n").unwrap();
    folder.succeed(&format!(
        "train table --data adder.csv --set target=sum,carry {quick} --updates 30 --out adder"
    ));
    exported(folder, "adder");
    let bits = tensor(vec![0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], &[4, 2]);
    write(folder, "adder", &bits, &tensor(vec![0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0], &[4, 2]));
}

fn language_model(folder: &Folder) {
    std::fs::write(folder.path("text.txt"), "the cat sat on the mat. ".repeat(60)).unwrap();
    for (positions, run) in [("learned", "lm"), ("rotary", "turned")] {
        folder.succeed(&format!(
            "train lm --data text.txt --device cpu --layers 1 --heads 2 --width 16 --context 12 --batch 4 --updates 8 \
             --set positions={positions} --set sample=0 --quiet --out {run}"
        ));
        exported(folder, run);
        let run_folder = farad::run::Run::open(folder.path(run)).unwrap();
        let learned = farad_lm::train::Learned::of(&run_folder, &Device::cpu()).unwrap();
        let tokens: Vec<i32> = (0..5 * 12).map(|n| n * 5 % 11).collect();
        let tokens = Tensor::from_vec(tokens, [5, 12], &Device::cpu());
        write(folder, run, &tokens, &learned.model.forward(&tokens));
    }
}

/// `farad predict MODEL.onnx` says what `farad predict RUN` says.
fn models_are_asked(folder: &Folder) {
    std::fs::write(folder.path("new.csv"), "kind,price,y,x\na,500,3,9\nb,70,1,50\n").unwrap();
    std::fs::write(folder.path("bits.csv"), "b,a\nyes,no\n1,1\n").unwrap();
    let same = |run: &str, data: &str| {
        let said = [run.to_string(), format!("models/{run}.onnx")].map(|source| {
            let out = folder.succeed(&format!("predict {source} --data {data} --device cpu --json --quiet"));
            out.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
        });
        assert_eq!(said[0].len(), said[1].len(), "{run}");
        for (a, b) in said[0].iter().zip(&said[1]) {
            assert_eq!(
                (&a["row"], &a["class"], &a["target"]),
                (&b["row"], &b["class"], &b["target"]),
                "{run}"
            );
            let numbers = |one: &Value| match &one["probabilities"] {
                Value::Object(all) => all.values().filter_map(Value::as_f64).collect(),
                _ => one["value"].as_f64().into_iter().collect::<Vec<f64>>(),
            };
            // Circuits say the class alone when they are models.
            for (a, b) in numbers(a).into_iter().zip(numbers(b)) {
                assert!((a - b).abs() <= 1e-4 * a.abs().max(1.0), "{run}: {a} vs {b}");
            }
        }
    };
    for run in ["mlp", "cnn", "rnn", "gates"] {
        same(run, &format!("models/{run}.input.npy"));
    }
    ["classes", "prices", "rows"].iter().for_each(|run| same(run, "new.csv"));
    same("adder", "bits.csv");
    let odd = folder.fail("predict models/lm.onnx --data new.csv");
    assert!(
        odd.contains("predict: cannot be asked: models/lm.onnx: its input tokens is no batch of numbers"),
        "{odd}"
    );
    std::fs::write(folder.path("broken.onnx"), "no model").unwrap();
    assert!(folder.fail("predict broken.onnx --data new.csv").contains("onnx: "));
}

fn refusals(folder: &Folder) {
    for (arguments, code, words) in [
        ("export mlp --format onnx --raw --out x", 2, "export: --raw is for runs of automata"),
        (
            "export mlp --format onnx --pipeline 3 --out x",
            2,
            "--pipeline does not go with this: onnx has no clock",
        ),
        ("export mlp --format onnx --out onnx/again", 0, ""),
        (
            "export mlp --format onnx --out onnx/again",
            1,
            "export: a file is there already: onnx/again/mnist.onnx",
        ),
        ("export mlp --format verilog --out x", 1, "networks are exported with --format onnx"),
        ("export text.txt --format onnx --out x", 1, "text.txt"),
    ] {
        let output = folder.farad(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {error}");
        assert!(error.contains(words), "{arguments}: {error}");
    }
}

/// Has Python compare all models of a folder.
fn check(models: &Path) {
    let Some(python) = python() else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_exports.py");
    let output = Command::new(python).arg(script).arg(models).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains("error ")).count(), 10, "{said}");
}
