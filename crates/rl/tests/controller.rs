//! Controllers of logic gates, from training to Verilog in closed loop.

use std::path::{Path, PathBuf};
use std::process::Command;

use farad::run::{Run, Stop};
use farad::train::{Asked, Training, TrainingKind};
use farad_circuit::{Circuit, Format, Netlist, export};
use farad_rl::controller::{
    CircuitController, ControlTask, Controllers, KIND, ObservationCode, earned, survived,
};
use farad_rl::{CartPole, Pendulum, returns};

/// Tests of one process share the random numbers that teachers are made with.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

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
fn trained(subject: &str, set: &[String], folder: &Path) -> farad::Result<farad::train::Outcome> {
    let device = farad::Device::cpu();
    let asked = Asked { device: Some(device), set, ..Asked::new(subject) };
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
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = Folder::new("controller");
    let run = folder.0.join("run");
    let outcome = trained("cartpole-circuit", &[], &run)?;
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
    let starts = CartPole::starts(20, 5)?;
    if let Some(steps) = in_verilog(&folder.0, &netlist, &cart_pole(&starts)) {
        let wanted = survived(&netlist, &ObservationCode::of(&netlist).unwrap(), &starts, None);
        assert_eq!(steps, wanted.iter().map(|&steps| steps as f64).collect::<Vec<_>>());
        assert_eq!(steps, [500.0; 20]);
    }
    Ok(())
}

#[test]
fn a_circuit_swings_the_pendulum_up_and_so_does_its_verilog() -> farad::Result<()> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = Folder::new("pendulum");
    let run = folder.0.join("run");
    let outcome =
        trained("pendulum-circuit", &["updates=300", "repair=500", "search=400"].map(String::from), &run)?;
    let json = &outcome.json[0];
    println!("{json}");
    assert_eq!((json["world"].as_str(), json["episodes"].as_u64()), (Some("pendulum"), Some(1000)), "{json}");
    assert!(json["return_mean"].as_f64().unwrap() >= -250.0, "{json}");
    assert_eq!((&json["proved"], json.get("held")), (&true.into(), None), "{json}");
    let netlist = read(&run.join("circuits/simplified.json"));
    assert!(run.join("circuits/pendulum.v").exists() && run.join("circuits/pendulum.c").exists());

    // The same circuit gate by gate on tensors, in the world that agents train in.
    let device = farad::Device::cpu();
    device.seed(77);
    let controller = CircuitController::new(netlist.clone())?;
    let [totals, _] = returns(&*controller.world(&device)?, &controller, 256, &device);
    assert!(totals.mean().item()? >= -250.0);

    let task = ControlTask::of("pendulum")?;
    let starts = Pendulum::starts(10, 5)?;
    if let Some(found) = in_verilog(&folder.0, &netlist, &pendulum(&starts)) {
        let whole = (task.host.as_ref().expect("it runs on the host").starts)(10, 5)?;
        let wanted = earned(task, &netlist, &ObservationCode::of(&netlist).unwrap(), &whole, None);
        // Rounding decides what is above a threshold, so returns differ a little.
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        assert!((mean(&found) - mean(&wanted)).abs() < 10.0, "{found:?} {wanted:?}");
        assert_eq!(found.len(), 10);
    }
    Ok(())
}

/// Whether a tool is installed; fails if it is required.
fn have(tool: &str) -> bool {
    let there = Command::new(tool).arg("-V").output().is_ok();
    let required = std::env::var("FARAD_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
    assert!(there || !required, "{tool} is not installed, and FARAD_REQUIRE_TOOLS is 1");
    there
}

/// A world in Verilog's real numbers.
struct VerilogWorld {
    /// Its real variables, and those of them that the circuit sees.
    numbers: &'static str,
    seen: &'static [&'static str],
    /// A step from the outputs, which are one number `out`; it sets `over` at the end, and adds to `sum`.
    step: &'static str,
    longest: usize,
    /// What sets the variables of each start.
    starts: Vec<String>,
}

fn cart_pole(starts: &[[f64; 4]]) -> VerilogWorld {
    let start = |[x, v, a, w]: &[f64; 4]| format!("x = {x:?}; v = {v:?}; a = {a:?}; w = {w:?};");
    VerilogWorld {
        numbers: "x, v, a, w, temp, acc, pull, push",
        seen: &["x", "v", "a", "w"],
        step: "push = out ? 10.0 : -10.0;
            temp = (push + 0.05 * w * w * $sin(a)) / 1.1;
            acc = (9.8 * $sin(a) - $cos(a) * temp) / (0.5 * (4.0 / 3.0 - 0.1 * $cos(a) * $cos(a) / 1.1));
            pull = temp - 0.05 * acc * $cos(a) / 1.1;
            x = x + 0.02 * v; v = v + 0.02 * pull; a = a + 0.02 * w; w = w + 0.02 * acc;
            sum = sum + 1;
            over = x > 2.4 || x < -2.4 || a > 0.20943951023931953 || a < -0.20943951023931953;",
        longest: 500,
        starts: starts.iter().map(start).collect(),
    }
}

fn pendulum(starts: &[[f64; 2]]) -> VerilogWorld {
    let start = |[a, w]: &[f64; 2]| format!("a = {a:?}; w = {w:?}; c = $cos(a); s = $sin(a);");
    VerilogWorld {
        numbers: "a, w, c, s, u",
        seen: &["c", "s", "w"],
        step: "u = -2.0 + (out[0] ? 1.0 : 0.0) + (out[1] ? 1.0 : 0.0) + (out[2] ? 1.0 : 0.0) + (out[3] ? 1.0 : 0.0);
            sum = sum - (a * a + 0.1 * w * w + 0.001 * u * u);
            w = w + (15.0 * $sin(a) + 3.0 * u) * 0.05;
            w = w > 8.0 ? 8.0 : w < -8.0 ? -8.0 : w;
            a = a + 0.05 * w;
            a = a - 6.283185307179586 * $floor((a + 3.141592653589793) / 6.283185307179586);
            c = $cos(a); s = $sin(a);",
        longest: 200,
        starts: starts.iter().map(start).collect(),
    }
}

/// What the exported module earns from each start in a test bench that Icarus simulates, if it is installed.
fn in_verilog(folder: &Path, netlist: &Netlist, world: &VerilogWorld) -> Option<Vec<f64>> {
    if !have("iverilog") {
        eprintln!("skipped: iverilog is not installed");
        return None;
    }
    let files = export(&Circuit::Netlist(netlist.clone()), Format::named("verilog").unwrap()).unwrap();
    std::fs::write(folder.join("circuit.v"), &files[0].1).unwrap();
    std::fs::write(folder.join("loop.v"), bench(netlist, world, &files[0].1)).unwrap();
    let compiled = Command::new("iverilog")
        .args(["-g2012", "-o", "loop", "circuit.v", "loop.v"])
        .current_dir(folder)
        .output();
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new("vvp").args(["-n", "loop"]).current_dir(folder).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    Some(text.lines().filter_map(|line| line.strip_prefix("sum ")?.trim().parse().ok()).collect())
}

/// A test bench that closes the loop: thresholds, the module, and the equations of the world.
fn bench(netlist: &Netlist, world: &VerilogWorld, module: &str) -> String {
    let code = ObservationCode::of(netlist).unwrap();
    let task = ControlTask::of_circuit(netlist).unwrap();
    let name = module.lines().find_map(|line| line.strip_prefix("module ")).unwrap();
    let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
    let mut text = format!("module main;\n    real {}, sum;\n    integer t, over;\n", world.numbers);
    for input in &netlist.inputs {
        text += &format!("    reg {input};\n");
    }
    // The bits of one number form a bus, highest first.
    let port = |(number, levels): (&&str, &Vec<f64>)| {
        let bits: Vec<String> = (0..levels.len()).rev().map(|n| format!("{number}_{n}")).collect();
        format!(".{number}({{{}}})", bits.join(", "))
    };
    let mut ports: Vec<String> = task.numbers.iter().zip(&code.levels).map(port).collect();
    let last = task.outputs.len() - 1;
    ports.push(format!(".{}(out)", task.outputs[0].trim_end_matches("_0")));
    text += &format!("    wire [{last}:0] out;\n    {name} tested ({});\n", ports.join(", "));
    text += "    task run; begin\n        over = 0; sum = 0.0;\n";
    text += &format!("        for (t = 0; !over && t < {}; t = t + 1) begin\n", world.longest);
    for (input, (number, level)) in netlist.inputs.iter().zip(code.all()) {
        text += &format!("            {input} = {} > {level:?};\n", world.seen[number]);
    }
    text += &format!("            #1;\n            {}\n        end\n", world.step);
    text += "        $display(\"sum %.9f\", sum);\n    end endtask\n    initial begin\n";
    for start in &world.starts {
        text += &format!("        {start} run;\n");
    }
    text + "        $finish;\n    end\nendmodule\n"
}
