//! The node tests of the Python package `onnx`, on the CPU: `scripts/onnx` writes them into a folder, one folder per test.
//!
//! `tests/passed.txt` lists the tests that must pass. `FARAD_ONNX_SUITE` is the folder; without it the test is
//! skipped, unless `FARAD_REQUIRE_TOOLS` is set. `FARAD_ONNX_REPORT` is a file that receives one line per test.

use std::path::{Path, PathBuf};

use farad_onnx::proto::{Message, TensorProto};
use farad_onnx::{Kind, Model};

/// The allowed deviation from the expected result, as in the package's own runner.
const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-7;

fn read(path: &Path) -> Result<TensorProto, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    TensorProto::decode(&bytes).map_err(|error| format!("{}: {}", path.display(), error.what))
}

fn files(folder: &Path, start: &str) -> Vec<PathBuf> {
    (0..).map(|n| folder.join(format!("{start}_{n}.pb"))).take_while(|path| path.exists()).collect()
}

fn run(folder: &Path) -> Result<(), String> {
    if folder.join("other_values").exists() {
        return Err("lists and optional values are not given".to_string());
    }
    let model = Model::load(folder.join("model.onnx")).map_err(|error| error.to_string())?;
    let inputs = files(folder, "input").iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let wanted = files(folder, "output").iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let inputs: Vec<TensorProto> = inputs.into_iter().filter(|input| !input.name.is_empty()).collect();
    let results = model.run_protos(&inputs).map_err(|error| error.to_string())?;
    if results.len() != wanted.len() {
        return Err(format!("{} results instead of {}", results.len(), wanted.len()));
    }
    for (result, wanted) in results.iter().zip(&wanted) {
        compare(result, wanted)?;
    }
    Ok(())
}

fn compare(result: &TensorProto, wanted: &TensorProto) -> Result<(), String> {
    let kind = Kind::of(wanted.data_type).ok_or("an element type that is not known")?;
    if result.data_type != wanted.data_type || result.dims != wanted.dims {
        let shown =
            |tensor: &TensorProto| (Kind::of(tensor.data_type).map_or("?", Kind::name), tensor.dims.clone());
        return Err(format!("{:?} instead of {:?}", shown(result), shown(wanted)));
    }
    if kind == Kind::Text {
        let same = result.string_data == wanted.string_data;
        return if same { Ok(()) } else { Err("texts differ".to_string()) };
    }
    let numbers = |tensor: &TensorProto| farad_onnx::numbers(tensor).map_err(|error| error.to_string());
    for (place, (x, y)) in numbers(result)?.into_iter().zip(numbers(wanted)?).enumerate() {
        let close = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= ABSOLUTE + RELATIVE * y.abs();
        if !close {
            return Err(format!("{}: element {place} is {x} instead of {y}", result.name));
        }
    }
    Ok(())
}

#[test]
fn what_passed_passes() {
    let Some(suite) = std::env::var_os("FARAD_ONNX_SUITE").map(PathBuf::from) else {
        assert!(
            std::env::var_os("FARAD_REQUIRE_TOOLS").is_none(),
            "FARAD_ONNX_SUITE is not set: `scripts/onnx write FOLDER` makes the folder"
        );
        println!("skipped: FARAD_ONNX_SUITE is not set");
        return;
    };
    let mut names: Vec<String> = std::fs::read_dir(&suite)
        .expect("the suite is a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("test_"))
        .collect();
    names.sort();
    let results: Vec<(&String, Result<(), String>)> = names
        .iter()
        .map(|name| {
            let folder = suite.join(name);
            // A panic fails only its own test.
            let result =
                std::panic::catch_unwind(|| run(&folder)).unwrap_or_else(|_| Err("panicked".to_string()));
            (name, result)
        })
        .collect();
    let passed: Vec<&str> =
        results.iter().filter(|(_, result)| result.is_ok()).map(|(name, _)| name.as_str()).collect();
    println!("{} of {} node tests passed", passed.len(), names.len());
    if let Some(report) = std::env::var_os("FARAD_ONNX_REPORT") {
        let line = |(name, result): &(&String, Result<(), String>)| match result {
            Ok(()) => format!("{name}\tpassed\n"),
            Err(why) => format!("{name}\t{}\n", why.replace(['\n', '\t'], " ")),
        };
        std::fs::write(report, results.iter().map(line).collect::<String>())
            .expect("the report can be written");
    }
    let floor = include_str!("../passed.txt").lines().filter(|line| !line.is_empty());
    let lost: Vec<String> = floor
        .filter(|name| !passed.contains(name))
        .map(|name| {
            let why =
                results.iter().find(|(own, _)| *own == name).and_then(|(_, result)| result.as_ref().err());
            format!("{name}: {}", why.map_or("not in the suite", |why| why))
        })
        .collect();
    assert!(lost.is_empty(), "no longer passed:\n{}", lost.join("\n"));
}
