//! Logic networks as users train them: runs, circuits, exports, going on after any stop, and what is refused.

mod folder;

use std::io::Write;
use std::process::{Command, Stdio};

use farad::data::digits;
use farad_circuit::{Circuit, Simulator};
use folder::{Folder, events, results};
use serde_json::Value;

/// Drawn digits and a small network: seconds. Without time for simplification every run gives the same circuit.
const SHORT: &str = "train logic-mnist --data synthetic --device cpu --updates 90 --set layers=300,200 \
    --set checkpoint_every=25 --set evaluate_every=30 --set simplify_seconds=0 --set candidates=4 --quiet";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_circuit_is_trained_judged_inspected_and_exported() {
    let folder = Folder::new("classify");
    let trained = json(&folder.succeed(&format!("{SHORT} --out run --json")));
    assert!(trained["accuracy"].as_f64() > Some(0.3), "{trained}");
    assert_eq!((trained["samples"].as_u64(), trained["steps"].as_u64()), (Some(1000), Some(90)));
    assert_eq!(trained["learned_gates"].as_u64(), Some(500));
    let report = std::fs::read_to_string(folder.path("run/report.md")).unwrap();
    for text in
        ["# logic-mnist by small", "**Test accuracy of the circuit ", "| is \\ seen as |", "plots/gates.svg"]
    {
        assert!(report.contains(text), "{text} is not in {report}");
    }
    for file in
        ["loss.svg", "accuracy.svg", "gates.svg", "circuit.svg", "confusion.svg", "samples.svg", "reads.svg"]
    {
        assert!(folder.path("run/plots").join(file).exists(), "{file}");
    }
    let judged = json(&folder.succeed("eval run --json"));
    assert_eq!(judged, trained, "what eval says");
    assert!(folder.succeed("eval run").starts_with("test accuracy of the circuit "));
    let inspected = json(&folder.succeed("inspect run --json"));
    assert_eq!((inspected["kind"].as_str(), inspected["steps"].as_u64()), (Some("logic"), Some(90)));
    assert_eq!(inspected["layers"].as_array().unwrap().len(), 2, "{inspected}");
    let speed = folder.succeed("eval run --speed --json");
    let speed = json(speed.lines().nth(1).expect("a second line"));
    assert!(speed["nanoseconds"].as_f64() > Some(0.0) && speed["packed_nanoseconds"].as_f64() > Some(0.0));
    folder.succeed("export run --format verilog --out verilog");
    folder.succeed("export run --format html --out html");
    folder.succeed("export run --format c --out c");
    says_the_same_in_c(&folder, trained["accuracy"].as_f64().unwrap());
}

/// Compiles the exported C with the class head and runs it on the very test pictures: every class must be that of the
/// circuit file, and the accuracy that of the report.
fn says_the_same_in_c(folder: &Folder, accuracy: f64) {
    let Ok(gcc) = Command::new("gcc").arg("--version").output() else {
        assert!(std::env::var_os("FARAD_REQUIRE_TOOLS").is_none(), "gcc is not there");
        return;
    };
    assert!(gcc.status.success());
    let source = folder.path("c/logic_mnist.c");
    let compiled = Command::new("gcc")
        .args(["-O1", "-DFARAD_TEST", "-o"])
        .arg(folder.path("program"))
        .arg(source)
        .status()
        .unwrap();
    assert!(compiled.success());
    let set = digits(1000, 2);
    let pixels = set.inputs().to_f32();
    let Circuit::Netlist(netlist) = Circuit::read(folder.path("run/circuits/circuit.json")).unwrap() else {
        panic!("a netlist")
    };
    assert_eq!(
        (netlist.meta["kind"].as_str(), &netlist.meta["thresholds"][0]),
        (Some("image-classifier"), &Value::from(63.75))
    );
    // Bytes from 64 on are set; as numbers they are parts of 255.
    let plane = |n: usize| {
        let mut plane = vec![0u64; 1000usize.div_ceil(64)];
        for sample in 0..1000 {
            plane[sample / 64] |= u64::from(pixels[sample * 784 + n] * 255.0 > 63.75) << (sample % 64);
        }
        plane
    };
    let planes: Vec<Vec<u64>> = (0..784).map(plane).collect();
    let wanted = Simulator::new(&netlist).unwrap().run(&planes.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let words = planes[0].len();
    let frames = |planes: &[Vec<u64>]| -> Vec<u8> {
        (0..words).flat_map(|word| planes.iter().flat_map(move |plane| plane[word].to_ne_bytes())).collect()
    };
    let mut program =
        Command::new(folder.path("program")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = program.stdin.take().unwrap();
    let given = frames(&planes);
    let writer = std::thread::spawn(move || stdin.write_all(&given).unwrap());
    let made = program.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    assert!(made == frames(&wanted), "the compiled circuit differs from the learned one");
    let class = |n: usize| {
        let bit = |(bit, plane): (usize, &Vec<u64>)| ((plane[n / 64] >> (n % 64) & 1) as usize) << bit;
        wanted.iter().enumerate().map(bit).sum::<usize>()
    };
    let right = (0..1000).filter(|&n| class(n) == n % 10).count();
    assert_eq!(right as f64 / 1000.0, accuracy);
}

/// Ctrl-C, then on to the end; and killed without a word: nothing shows that a run was broken off.
#[cfg(unix)]
#[test]
fn a_run_that_was_stopped_ends_as_an_unbroken_one() {
    use std::time::{Duration, Instant};
    let folder = Folder::new("classify-resumed");
    let whole = json(&folder.succeed(&format!("{SHORT} --set shift=1 --out whole --json")));
    let patience = Instant::now() + Duration::from_secs(120);
    for (name, signal) in [("broken", "-INT"), ("killed", "-KILL")] {
        let mut child = folder.command(&format!("{SHORT} --set shift=1 --out {name}")).spawn().unwrap();
        let saved = folder.path(name).join("checkpoint.safetensors");
        while !saved.exists() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        child.wait().unwrap();
        let resumed = json(&folder.succeed(&format!("train --resume {name} --quiet --json")));
        assert_eq!(resumed, whole, "{name}");
        assert!(results(&folder.path("whole")) == results(&folder.path(name)), "{name}");
        assert!(events(&folder.path(name)).iter().any(|event| event["event"] == "end"));
    }
    let more = json(&folder.succeed("train --resume killed --updates 100 --quiet --json"));
    assert_eq!(more["steps"].as_u64(), Some(100));
    let fewer = folder.fail("train --resume killed --updates 50");
    assert!(fewer.contains("settings: updates: more were made already (50 vs 100)"), "{fewer}");
    // What was refused left nothing behind.
    folder.moves_to_the_cpu("killed");
}

#[test]
fn tables_and_trees_become_circuits() {
    let folder = Folder::new("classify-kinds");
    let mut table = String::from("number,width,height,kind\n");
    for n in 0..400 {
        let (width, height) = ((n * 13 % 97) as f32 / 10.0, (n * 7 % 50) as f32 / 5.0);
        let kind = if width > 5.0 && height > 4.0 { "large" } else { "small" };
        table += &format!("{n},{width},{height},{kind}\n");
    }
    std::fs::write(folder.path("shapes.csv"), table).unwrap();
    let common = "--device cpu --quiet --json --set simplify_seconds=5";
    let shapes = json(&folder.succeed(&format!(
        "train logic-table --data shapes.csv --set ignore=number --set layers=60,40 {common} --out table"
    )));
    assert!(shapes["accuracy"].as_f64() > Some(0.9), "{shapes}");
    let left = json(&folder.succeed(&format!(
        "train logic-table --data shapes.csv --set ignore=number --set layers=60,40 {common} --out left --set repair=never"
    )));
    assert!(left["repair"].is_null(), "{left}");
    assert!(shapes["gates"].as_u64() <= left["gates"].as_u64(), "repaired {shapes}, left as it was {left}");
    assert!(shapes["circuit_validation_accuracy"].as_f64() >= left["circuit_validation_accuracy"].as_f64());
    assert!(shapes["gates"].as_u64() < Some(100) && shapes["depth"].as_u64() < Some(30), "{shapes}");
    assert_eq!(
        (shapes["head"].as_str(), shapes["gates"].as_u64()),
        (Some("cut"), shapes["simplified_gates"].as_u64())
    );
    let inspected = folder.succeed("inspect table");
    assert!(inspected.contains("lut4") && inspected.contains("class0 = "), "{inspected}");
    a_program_asks_for_the_class_of_rows(&folder);
    let refused = folder.fail("eval table --speed");
    assert!(refused.contains("this one reads a table") && refused.contains("leave --speed out"), "{refused}");
    let learned = json(&folder.succeed(&format!(
        "train logic-table --data shapes.csv --set ignore=number --set layers=60,40 --set encoding=learned \
         --set thresholds=3 {common} --out thresholds"
    )));
    assert!(learned["accuracy"].as_f64() > Some(0.9), "{learned}");
    let trees = json(&folder.succeed(&format!(
        "train logic-cifar10 --data synthetic --set model=conv --set kernels=4,6 --set layers=200,100 \
         --set batch=16 --updates 4 --set thresholds=2 {common} --set simplify_seconds=0 --out trees"
    )));
    assert_eq!((trees["model"].as_str(), trees["steps"].as_u64()), (Some("conv"), Some(4)));
}

/// The search keeps only what is better on the validation part, and everything speaks of the repaired circuit from then on.
#[test]
fn a_repaired_classifier_is_better_and_stays_so_until_it_learns_again() {
    let folder = Folder::new("classify-repair");
    let wide = SHORT.replace("layers=300,200", "layers=400,400");
    let before = json(&folder.succeed(&format!("{wide} --out run --json")));
    assert!(before["repair"].is_null() && before["gates"].as_u64() > Some(1500), "{before}");
    let after = json(&folder.succeed("repair run --candidates 6000 --quiet --json"));
    let [old, new] = [&before, &after].map(|of| of["circuit_validation_accuracy"].as_f64().unwrap());
    assert!(new > old, "validation {old} became {new}");
    let note = &after["repair"];
    assert_eq!((&note["validation"][0], &note["validation"][1]), (&old.into(), &new.into()));
    assert_eq!((&note["test"][0], &note["test"][1]), (&before["accuracy"], &after["accuracy"]));
    assert_eq!((&note["gates"][0], &note["gates"][1]), (&before["gates"], &after["gates"]));
    assert_eq!((note["candidates"].as_u64(), note["cut"].as_bool()), (Some(6000), Some(false)));
    assert!(after["depth"].as_u64() <= before["depth"].as_u64().map(|depth| depth + 4), "{after}");
    assert_eq!(json(&folder.succeed("eval run --json")), after, "what eval says");
    let report = std::fs::read_to_string(folder.path("run/report.md")).unwrap();
    assert!(report.contains("repaired: ") && report.contains("6,000 candidates"), "{report}");
    for flag in ["--inexact", "--again", "--device gpu"] {
        let text = folder.fail(&format!("repair run {flag}"));
        assert!(text.contains("is for runs of automata\nhelp: leave it out"), "{text}");
    }
    // Whoever goes on begins with what is there.
    let again = json(&folder.succeed("repair run --candidates 500 --quiet --json"));
    assert!(again["circuit_validation_accuracy"].as_f64() >= Some(new), "{again}");
    assert_eq!(again["repair"]["gates"][0], before["gates"]);
    // It was made of another circuit than the one that is learned now.
    let learned = json(&folder.succeed("train --resume run --updates 120 --quiet --json"));
    assert!(learned["repair"].is_null(), "{learned}");
}

/// The exported function of a table, called as its header says on the rows that it learned from.
fn a_program_asks_for_the_class_of_rows(folder: &Folder) {
    if Command::new("gcc").arg("--version").output().is_err() {
        assert!(std::env::var_os("FARAD_REQUIRE_TOOLS").is_none(), "gcc is not there");
        return;
    }
    folder.succeed("export table --format c --out table-c");
    let program = "#include <stdio.h>\n#include \"table-c/shapes.h\"\nint main(void)\n{\n    float width, height;\n    \
        while (scanf(\"%f %f\", &width, &height) == 2)\n        puts(shapes_classes[shapes_class(width, height)]);\n}\n";
    std::fs::write(folder.path("rows.c"), program).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-Wall", "-Werror", "-o"]).arg(folder.path("rows"));
    assert!(gcc.args([folder.path("rows.c"), folder.path("table-c/shapes.c")]).status().unwrap().success());
    let table = std::fs::read_to_string(folder.path("shapes.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let given: String = rows.iter().map(|row| format!("{} {}\n", row[1], row[2])).collect();
    let mut child =
        Command::new(folder.path("rows")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(given.as_bytes()).unwrap());
    let made = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    writer.join().unwrap();
    assert_eq!(made.lines().count(), rows.len());
    let right = made.lines().zip(&rows).filter(|(name, row)| *name == row[3]).count();
    assert!(right >= rows.len() * 9 / 10, "{right} of {} rows are right", rows.len());
}

/// The defaults suit the data, however many classes they have.
#[test]
fn any_number_of_classes_trains() {
    let folder = Folder::new("classify-counts");
    for (model, counts) in
        [("small", &[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 17, 37, 150][..]), ("medium", &[7])]
    {
        for &classes in counts {
            let row = |n: usize| format!("{},{},k{}\n", n % classes, n * 7 % 13, n % classes);
            let rows: String = (0..(6 * classes).max(60)).map(row).collect();
            std::fs::write(folder.path("table.csv"), format!("x,y,kind\n{rows}")).unwrap();
            let out = format!("{model}-{classes}");
            let trained = json(&folder.succeed(&format!(
                "train logic-table --data table.csv --device cpu --updates 1 --set model={model} \
                 --set simplify_seconds=0 --quiet --json --out {out}"
            )));
            assert!(trained["accuracy"].is_number(), "{classes}: {trained}");
        }
    }
}

#[test]
fn what_cannot_be_done_says_why_and_what_to_do() {
    let folder = Folder::new("classify-refused");
    let refused = |arguments: &str, texts: &[&str]| {
        let output = folder.command(arguments).env_remove("FARAD_DATA").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.status.code() != Some(101), "{error}");
        texts.iter().for_each(|text| assert!(error.contains(text), "{text} is not in {error}"));
    };
    let short = "train logic-mnist --data synthetic --device cpu";
    refused(
        "train logic-mnist",
        &["error: train: no data: mnist is in none of data/mnist", "--data synthetic"],
    );
    refused("train logic-table", &["train: logic-table needs --data"]);
    refused("train logic-mnits", &["did you mean `logic-mnist`?"]);
    refused(
        &format!("{short} --model mlp"),
        &["there is no model `mlp`", "small, medium, wired, tree-s, tree-m, compact-s, compact-m, conv"],
    );
    refused(
        &format!("{short} --set model=giant"),
        &["there is no model `giant`", "small, medium, wired, tree-s"],
    );
    refused(&format!("{short} --set layer=10"), &["there is no key `layer`; did you mean `layers`?"]);
    refused(
        &format!("{short} --set layers=400,25"),
        &[
            "group sum: outputs cannot be divided equally among the classes",
            "(25 vs a multiple of 10 classes)",
        ],
    );
    refused(&format!("{short} --set layers=5"), &["(5 vs a multiple of 10 classes)"]);
    refused(
        &format!("{short} --set layers=100,50 --set wiring=unique"),
        &["wiring: too few gates to read every input once: 784 inputs, 100 gates (100 vs 392)"],
    );
    refused(
        &format!("{short} --set layers=20,20,20 --set candidates=30"),
        &["wiring: a wire cannot choose among more candidates than inputs: 20 inputs, 20 gates (30 vs 20)"],
    );
    refused(
        &format!("{short} --set kernels=4 --set windows=29"),
        &["wiring: the window of a tree is larger than the picture", "(29 vs 28)"],
    );
    std::fs::write(folder.path("one.csv"), "a,b\n1,yes\n2,yes\n3,yes\n4,yes\n5,yes\n").unwrap();
    refused(
        "train logic-table --data one.csv --device cpu",
        &["classify: too few classes (1 class vs at least 2)"],
    );
    let measured: String = (0..60).map(|n| format!("{n},{}.5\n", n * 3)).collect();
    std::fs::write(folder.path("measured.csv"), format!("a,price\n{measured}")).unwrap();
    refused(
        "train logic-table --data measured.csv --device cpu",
        &[
            "classify: the last column is a number, not a class",
            "(60 values vs 60 samples)",
            "help: ",
            "farad train csv",
        ],
    );
    std::fs::write(folder.path("few.csv"), "a,b\n1,yes\n2,no\n").unwrap();
    refused(
        "train logic-table --data few.csv --device cpu",
        &["classify: too few samples", "(2 vs at least 4)"],
    );
    assert!(folder.succeed("train --list").contains("logic-cifar10"));
    assert!(folder.succeed("train logic-mnist --list").contains("candidates"));
    assert!(!folder.path("runs").exists(), "a refusal leaves no run");
}

/// Words and empty fields of a table are inputs of a circuit, too, and mean the same in use.
#[test]
fn words_of_a_table_become_bits_of_a_circuit() {
    let folder = Folder::new("classify-words");
    let mut table = String::from("color,size,light\n");
    for n in 0..400 {
        let color = ["red", "green", "blue"][n * 7 % 3];
        let size = if n % 9 == 4 { String::new() } else { (n * 13 % 17).to_string() };
        table += &format!("{color},{size},{}\n", if color == "red" { "stop" } else { "go" });
    }
    std::fs::write(folder.path("light.csv"), table).unwrap();
    let learned = json(&folder.succeed(
        "train logic-table --data light.csv --device cpu --set layers=40,20 --set simplify_seconds=5 --quiet --json --out run",
    ));
    assert!(learned["accuracy"].as_f64() > Some(0.98), "{learned}");
    std::fs::write(folder.path("new.csv"), "size,color\n3,red\n,blue\n5,purple\n").unwrap();
    let said = folder.succeed("predict run --data new.csv --json --quiet");
    let classes: Vec<Value> = said.lines().filter_map(|line| json(line).get("class").cloned()).collect();
    assert_eq!(classes[..2], [Value::from("stop"), Value::from("go")], "{said}");
    let config = std::fs::read_to_string(folder.path("run/config.toml")).unwrap();
    assert!(config.contains("\\\"words\\\"") || config.contains("\"words\""), "{config}");
    assert_eq!(json(&folder.succeed("eval run --json"))["accuracy"], learned["accuracy"]);
    // Names such as `color=red` are none in C.
    folder.succeed("export run --format c --out c");
    if Command::new("gcc").arg("--version").output().is_ok() {
        let mut gcc = Command::new("gcc");
        gcc.args(["-Wall", "-Werror", "-c", "-o"]).arg(folder.path("light.o"));
        assert!(gcc.arg(folder.path("c/light.c")).status().unwrap().success());
    }
}
