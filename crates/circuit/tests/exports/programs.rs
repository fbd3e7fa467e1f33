//! C and Rust, compiled and run.

use std::time::Instant;

use farad_circuit::{Automaton, Netlist};

use crate::circuits::{self, Game, exported, frames, in_sequence, planes};
use crate::tool::{Folder, have};

/// Compiles an export to a program called `program`.
fn compile(folder: &Folder, format: &str, files: &[(String, String)]) {
    let source = folder.write(files);
    let source = source.to_str().unwrap();
    match format {
        "c" => folder.must(
            "gcc",
            &["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-DFARAD_TEST", "-o", "program", source],
            &[],
        ),
        _ => folder.must(
            "rustc",
            &[
                "--edition",
                "2021",
                "-Copt-level=1",
                "-Dwarnings",
                "--cfg",
                "farad_test",
                "-o",
                "program",
                source,
            ],
            &[],
        ),
    };
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn check_netlist(format: &str, netlist: &Netlist) {
    let folder = Folder::new();
    compile(&folder, format, &exported(netlist.clone(), format));
    let (given, wanted) = if netlist.registers.is_empty() {
        let inputs = planes(netlist);
        (frames(&inputs), frames(&circuits::outputs(netlist, &inputs)))
    } else {
        let given = circuits::words(9, netlist.inputs.len() * 1000);
        let wanted = in_sequence(netlist, &given);
        (given, wanted)
    };
    let made = folder.must("./program", &[], &bytes(&given));
    assert!(made == bytes(&wanted), "{format} of {} differs from the simulator", netlist.name);
}

fn check_automaton(format: &str, automaton: &Automaton) {
    let folder = Folder::new();
    compile(&folder, format, &exported(automaton.clone(), format));
    for (width, height) in [(70, 9), (3, 1), (64, 5)] {
        let game = Game::play(automaton, width, height, 6);
        let mut given = game.start.clone();
        (0..game.fires.len()).for_each(|step| given.extend(game.fire_cells(step)));
        let text = |cells: &[bool]| -> Vec<u8> { cells.iter().map(|&cell| b'0' + cell as u8).collect() };
        let arguments = [width, height, game.steps].map(|number| number.to_string());
        let made = folder.must("./program", &arguments.each_ref().map(String::as_str), &text(&given));
        assert!(made == text(&game.end), "{format} of {} differs on {width}x{height}", automaton.cell.name);
    }
}

fn check(format: &str) {
    let netlists = circuits::combinational().into_iter().chain(circuits::sequential());
    netlists.chain([circuits::straight_through()]).for_each(|netlist| check_netlist(format, &netlist));
    circuits::automata().iter().for_each(|automaton| check_automaton(format, automaton));
}

#[test]
fn c_compiles_and_computes_the_same() {
    if have("gcc") {
        check("c");
    }
}

#[test]
fn rust_compiles_and_computes_the_same() {
    if have("rustc") {
        check("rust");
    }
}

#[test]
fn a_wrong_gate_makes_a_difference() {
    if have("gcc") {
        let netlist = Netlist::random(1, 8, 60, 5);
        let folder = Folder::new();
        compile(&folder, "c", &exported(circuits::with_a_wrong_gate(&netlist), "c"));
        let inputs = planes(&netlist);
        let made = folder.must("./program", &[], &bytes(&frames(&inputs)));
        assert!(made != bytes(&frames(&circuits::outputs(&netlist, &inputs))));
    }
}

#[test]
fn a_hundred_thousand_gates_export_in_seconds_and_compile_in_thirty() {
    let netlist = Netlist::random(11, 256, 100_000, 256);
    let start = Instant::now();
    let formats = farad_circuit::Format::ALL.map(|format| exported(netlist.clone(), format.name));
    assert!(start.elapsed().as_secs() < 10, "exports took {:?}", start.elapsed());
    assert!(formats.iter().all(|files| files[0].1.len() > 1_000_000));
    if !have("gcc") {
        return;
    }
    let folder = Folder::new();
    let source = folder.write(&exported(netlist.clone(), "c"));
    let command = format!("gcc -O1 -DFARAD_TEST -o program '{}' && times", source.display());
    let times = String::from_utf8(folder.must("sh", &["-c", &command], &[])).unwrap();
    // The last line has user and system time of the shell's children, because the machine may be busy.
    let (minutes, seconds) = times.lines().last().unwrap().split_once('m').unwrap();
    let seconds: f64 =
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.split_once('s').unwrap().0.parse::<f64>().unwrap();
    assert!(seconds < 30.0, "gcc took {seconds} s");
    let inputs: Vec<Vec<u64>> = (0..256).map(|input| circuits::words(input, 8)).collect();
    let made = folder.must("./program", &[], &bytes(&frames(&inputs)));
    assert!(made == bytes(&frames(&circuits::outputs(&netlist, &inputs))));
}
