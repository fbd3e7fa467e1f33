//! A controller of logic gates, from training to Verilog in closed loop.

use std::path::{Path, PathBuf};
use std::process::Command;

use farad::run::{Run, Stop};
use farad::train::{Asked, Training, TrainingKind};
use farad_circuit::{Circuit, Format, Netlist, export};
use farad_rl::controller::{CircuitController, Controllers, KIND, ObservationCode, survived};
use farad_rl::{CartPole, returns};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("farad-rl-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Trains as the command does.
fn trained(folder: &Path) -> farad::Result<farad::train::Outcome> {
    let device = farad::Device::cpu();
    let asked = Asked { device: Some(device), ..Asked::new("cartpole-circuit") };
    let prepared = Controllers.prepare(&asked)?;
    let run = Run::create(folder, KIND, prepared.config())?;
    let trainee = prepared.begin(&run)?;
    let mut training: Training = Training::open(run, trainee)?;
    let summary = training.train(&Stop::new(), &())?;
    training.conclude(&summary, &())
}

fn read(path: &Path) -> Netlist {
    match Circuit::read(path).unwrap() {
        Circuit::Netlist(netlist) => netlist,
        Circuit::Automaton(_) => panic!("an automaton"),
    }
}

#[test]
fn a_circuit_holds_the_pole_and_so_does_its_verilog() -> farad::Result<()> {
    let folder = Folder::new("controller");
    let run = folder.0.join("run");
    let outcome = trained(&run)?;
    let json = &outcome.json[0];
    println!("{json}");
    assert_eq!((json["episodes"].as_u64(), json["held"].as_u64()), (Some(1000), Some(1000)), "{json}");
    assert_eq!(json["return_min"].as_u64(), Some(500));
    assert_eq!(json["proved"], true);
    assert!(json["simplified_gates"].as_u64().unwrap() <= 40, "{json}");
    let netlist = read(&run.join("circuits/simplified.json"));

    // The same circuit gate by gate on tensors, in the world that agents train in.
    let device = farad::Device::cpu();
    device.seed(77);
    let [totals, _] = returns(&CartPole, &CircuitController::new(netlist.clone())?, 256, &device);
    assert_eq!(totals.min().item()?, 500.0);

    // Judging the run again gives the same result.
    let run = Run::open(&run)?;
    let again = Controllers.judge(&run, &Asked::new(""), &device)?;
    assert_eq!(&again.json[0], json);
    verilog_holds_it(&folder.0, &netlist);
    Ok(())
}

/// Whether a tool is installed; fails if it is required.
fn have(tool: &str) -> bool {
    let there = Command::new(tool).arg("-V").output().is_ok();
    let required = std::env::var("FARAD_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
    assert!(there || !required, "{tool} is not installed, and FARAD_REQUIRE_TOOLS is 1");
    there
}

/// Icarus simulates the exported module in a test bench whose physics uses Verilog's real numbers.
fn verilog_holds_it(folder: &Path, netlist: &Netlist) {
    if !have("iverilog") {
        eprintln!("skipped: iverilog is not installed");
        return;
    }
    let files = export(&Circuit::Netlist(netlist.clone()), Format::named("verilog").unwrap()).unwrap();
    std::fs::write(folder.join("cartpole.v"), &files[0].1).unwrap();
    let starts = CartPole::starts(20, 5).unwrap();
    std::fs::write(folder.join("loop.v"), bench(netlist, &starts, &files[0].1)).unwrap();
    let compiled = Command::new("iverilog")
        .args(["-g2012", "-o", "loop", "cartpole.v", "loop.v"])
        .current_dir(folder)
        .output();
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new("vvp").args(["-n", "loop"]).current_dir(folder).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let steps: Vec<u64> =
        text.lines().filter_map(|line| line.strip_prefix("steps ")?.trim().parse().ok()).collect();
    let code = ObservationCode::of(netlist).unwrap();
    assert_eq!(steps, survived(netlist, &code, &starts, None), "{text}");
    assert_eq!(steps, [500; 20]);
}

/// A test bench that closes the loop: thresholds, the module, and the equations of the cart-pole.
fn bench(netlist: &Netlist, starts: &[[f64; 4]], module: &str) -> String {
    let code = ObservationCode::of(netlist).unwrap();
    let numbers = ["x", "v", "a", "w"];
    let name = module.lines().find_map(|line| line.strip_prefix("module ")).unwrap();
    let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
    let mut text =
        "module main;\n    real x, v, a, w, temp, acc, pull, push;\n    integer n, t, over;\n".to_string();
    for input in &netlist.inputs {
        text += &format!("    reg {input};\n");
    }
    // The bits of one number form a bus, highest first.
    let port = |(number, levels): (&str, &Vec<f64>)| {
        let bits: Vec<String> = (0..levels.len()).rev().map(|n| format!("{number}_{n}")).collect();
        format!(".{number}({{{}}})", bits.join(", "))
    };
    let ports: Vec<String> =
        ["place", "speed", "angle", "turning"].into_iter().zip(&code.levels).map(port).collect();
    text += &format!("    wire right;\n    {name} tested ({}, .right(right));\n", ports.join(", "));
    text += "    task steps; begin\n        over = 0; t = 0;\n        while (!over && t < 500) begin\n";
    for (input, (number, level)) in netlist.inputs.iter().zip(code.all()) {
        text += &format!("            {input} = {} > {level:?};\n", numbers[number]);
    }
    text += "            #1;\n            push = right ? 10.0 : -10.0;\n\
             \x20           temp = (push + 0.05 * w * w * $sin(a)) / 1.1;\n\
             \x20           acc = (9.8 * $sin(a) - $cos(a) * temp) / (0.5 * (4.0 / 3.0 - 0.1 * $cos(a) * $cos(a) / 1.1));\n\
             \x20           pull = temp - 0.05 * acc * $cos(a) / 1.1;\n\
             \x20           x = x + 0.02 * v; v = v + 0.02 * pull; a = a + 0.02 * w; w = w + 0.02 * acc;\n\
             \x20           t = t + 1;\n\
             \x20           over = x > 2.4 || x < -2.4 || a > 0.20943951023931953 || a < -0.20943951023931953;\n\
             \x20       end\n        $display(\"steps %0d\", t);\n    end endtask\n    initial begin\n";
    for [x, v, a, w] in starts {
        text += &format!("        x = {x:?}; v = {v:?}; a = {a:?}; w = {w:?}; steps;\n");
    }
    text + "        $finish;\n    end\nendmodule\n"
}
