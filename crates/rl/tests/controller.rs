//! Controllers of logic gates, from training to Verilog in closed loop.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use farad::run::{Run, Stop};
use farad::train::{Asked, Training, TrainingKind};
use farad_circuit::{Circuit, Format, Gate, Netlist, Wire, export};
use farad_rl::controller::{
    CircuitController, ControlTask, Controllers, DrivenStarts, KIND, ObservationCode, driven, earned,
    earned_from, survived,
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

/// A short form of the whole way, and a circuit that acts in the physics by its file in C as on the host.
#[test]
fn a_circuit_moves_the_crawler_and_so_do_its_c_and_its_verilog() -> farad::Result<()> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = Folder::new("crawler");
    let run = folder.0.join("run");
    let set = "teacher=0 rounds=2 steps=3 thresholds=3 tree=4 layers=48 updates=5 samples=64 episodes=2";
    let set: Vec<String> = set.split(' ').map(String::from).collect();
    let outcome = trained("crawler-circuit", &set, &run)?;
    let json = &outcome.json[0];
    println!("{json}");
    assert_eq!((json["world"].as_str(), &json["proved"]), (Some("crawler"), &true.into()), "{json}");
    assert!(json["body_lengths_mean"].as_f64().is_some_and(|lengths| lengths.abs() < 1.0), "{json}");
    assert!(run.join("circuits/crawler.v").exists() && run.join("circuits/crawler.c").exists());

    // Such a teacher says little, so another circuit acts: every output compares two of the bits.
    let mut netlist = read(&run.join("circuits/simplified.json"));
    let from = netlist.inputs.len();
    for output in 0..netlist.outputs.len() {
        let (a, b) = (Wire((output * 7 % from) as u32), Wire((output * 11 % from + 1) as u32 % from as u32));
        netlist.outputs[output].wire = netlist.gate(Gate::ALL[6 + output % 3], a, b);
    }
    let code = ObservationCode::of(&netlist).unwrap();

    let (task, device) = (ControlTask::of("crawler")?, farad::Device::cpu());
    let world = (task.world)(&device)?;
    assert_eq!(world.observations(), task.numbers.len());
    let starts = DrivenStarts { worlds: 2, steps: 8, seed: 5 };
    let wanted = earned_from(task, &netlist, &code, starts)?;
    if !have("gcc") {
        return Ok(());
    }
    for (name, text) in export(&Circuit::Netlist(netlist.clone()), Format::named("c").unwrap()).unwrap() {
        std::fs::write(folder.0.join(name), text).unwrap();
    }
    let (source, program) = (folder.0.join("crawler.c"), folder.0.join("crawler"));
    let made = Command::new("gcc").arg("-DFARAD_TEST").arg("-o").arg(&program).arg(source).status().unwrap();
    assert!(made.success());
    let mut course = vec![];
    let found = driven(task, &*world, starts, &device, |rows| {
        let rows: Vec<Vec<bool>> = rows
            .chunks(task.numbers.len())
            .map(|row| code.bits(&row.iter().map(|&x| f64::from(x)).collect::<Vec<_>>()))
            .collect();
        let word =
            |input: usize| rows.iter().enumerate().map(|(n, row)| u64::from(row[input]) << n).sum::<u64>();
        let words: Vec<u64> = (0..netlist.inputs.len()).map(word).collect();
        let said = in_c(&program, &words);
        let of = |n: usize| said.iter().enumerate().map(|(bit, word)| ((word >> n & 1) as u32) << bit).sum();
        let answers: Vec<u32> = (0..rows.len()).map(of).collect();
        course.push((rows[0].clone(), answers[0]));
        Ok(answers)
    })?;
    assert_eq!(found.returns, wanted.returns);
    assert_eq!(found.ahead, wanted.ahead);
    assert!(course.iter().any(|(_, said)| *said != course[0].1), "{course:?}");
    if let Some(said) = replayed(&folder.0, &netlist, &course) {
        assert_eq!(said, course.iter().map(|(_, said)| *said).collect::<Vec<_>>());
    }
    Ok(())
}

/// What a compiled circuit answers to words of inputs.
fn in_c(program: &Path, words: &[u64]) -> Vec<u64> {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let said = child.wait_with_output().unwrap().stdout;
    said.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// What the exported module answers to these inputs one after the other, by Icarus, if it is installed.
fn replayed(folder: &Path, netlist: &Netlist, course: &[(Vec<bool>, u32)]) -> Option<Vec<u32>> {
    let code = ObservationCode::of(netlist).unwrap();
    let task = ControlTask::of_circuit(netlist).unwrap();
    let mut steps = String::new();
    for (bits, _) in course {
        netlist
            .inputs
            .iter()
            .zip(bits)
            .for_each(|(name, &bit)| steps += &format!("{name} = {}; ", u8::from(bit)));
        steps += "#1; $display(\"said %b\", out);\n";
    }
    let (mut wires, mut ports) = (String::new(), ports(task, &code));
    netlist.inputs.iter().for_each(|input| wires += &format!("    reg {input};\n"));
    let motors: Vec<&str> = task.outputs.iter().filter_map(|name| name.strip_suffix("_0")).collect();
    let of = |(n, motor): (usize, &&str)| {
        format!(".{motor}(out[{}:{}])", n * task.group + task.group - 1, n * task.group)
    };
    ports.extend(motors.iter().enumerate().map(of));
    let last = task.outputs.len() - 1;
    let text = simulated(folder, netlist, |name| {
        format!(
            "module main;\n{wires}    wire [{last}:0] out;\n    {name} tested ({});\n    initial begin\n{steps}    $finish;\n    end\nendmodule\n",
            ports.join(", ")
        )
    })?;
    let said = text.lines().filter_map(|line| line.strip_prefix("said "));
    Some(said.map(|bits| u32::from_str_radix(bits.trim(), 2).unwrap()).collect())
}

/// The ports of observed numbers: several bits of one number form a bus, highest first.
fn ports(task: &ControlTask, code: &ObservationCode) -> Vec<String> {
    let port = |(number, levels): (&&str, &Vec<f64>)| {
        let bits: Vec<String> = (0..levels.len()).rev().map(|n| format!("{number}_{n}")).collect();
        match &bits[..] {
            [] => None,
            [bit] => Some(format!(".{bit}({bit})")),
            bits => Some(format!(".{number}({{{}}})", bits.join(", "))),
        }
    };
    task.numbers.iter().zip(&code.levels).filter_map(port).collect()
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
    let text = simulated(folder, netlist, |name| bench(netlist, world, name))?;
    Some(text.lines().filter_map(|line| line.strip_prefix("sum ")?.trim().parse().ok()).collect())
}

/// What Icarus prints of a test bench for the exported module, if it is installed.
fn simulated(folder: &Path, netlist: &Netlist, bench: impl FnOnce(&str) -> String) -> Option<String> {
    if !have("iverilog") {
        eprintln!("skipped: iverilog is not installed");
        return None;
    }
    let files = export(&Circuit::Netlist(netlist.clone()), Format::named("verilog").unwrap()).unwrap();
    let name = files[0].1.lines().find_map(|line| line.strip_prefix("module ")).unwrap();
    let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
    std::fs::write(folder.join("circuit.v"), &files[0].1).unwrap();
    std::fs::write(folder.join("loop.v"), bench(name)).unwrap();
    let compiled = Command::new("iverilog")
        .args(["-g2012", "-o", "loop", "circuit.v", "loop.v"])
        .current_dir(folder)
        .output();
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new("vvp").args(["-n", "loop"]).current_dir(folder).output().unwrap();
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// A test bench that closes the loop: thresholds, the module, and the equations of the world.
fn bench(netlist: &Netlist, world: &VerilogWorld, name: &str) -> String {
    let code = ObservationCode::of(netlist).unwrap();
    let task = ControlTask::of_circuit(netlist).unwrap();
    let mut text = format!("module main;\n    real {}, sum;\n    integer t, over;\n", world.numbers);
    for input in &netlist.inputs {
        text += &format!("    reg {input};\n");
    }
    let mut ports = ports(task, &code);
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
