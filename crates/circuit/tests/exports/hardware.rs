//! Verilog simulated by Icarus, checked by Verilator, and proved equal to BLIF by Yosys.

use farad_circuit::{Automaton, Circuit, Netlist};

use crate::circuits::{self, exported};
use crate::tool::{Folder, have, have_by_chance};

/// Compiles and runs a module and its bench; returns whether the bench passed.
fn simulate(files: &[(String, String)]) -> bool {
    let folder = Folder::new();
    folder.write(files);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    folder.must("iverilog", &[&["-Wall", "-o", "bench"], names.as_slice()].concat(), &[]);
    let output = folder.run("vvp", &["-n", "bench"], &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let passed = output.status.success();
    assert_eq!(passed, text.contains("PASS") && !text.contains("FAIL"), "{}: {text}", output.status);
    passed
}

fn circuits() -> Vec<Circuit> {
    let netlists = circuits::combinational().into_iter().chain(circuits::sequential());
    let netlists = netlists.chain([circuits::straight_through()]).map(Circuit::from);
    netlists.chain(circuits::automata().into_iter().map(Circuit::from)).collect()
}

#[test]
fn benches_pass() {
    if have("iverilog") {
        for circuit in circuits() {
            assert!(simulate(&exported(circuit.clone(), "verilog")), "{}", circuit.name());
        }
    }
}

/// Votes, counts and comparison of a large classifier are separate modules, which together are the circuit. The
/// exported bench would take minutes, so a short one is used.
#[test]
fn a_large_classifier_is_a_module_for_each_part() {
    let votes = Netlist::random(8, 40, 2600, 240);
    let classes: Vec<usize> = (0..240).map(|n| n % 6).collect();
    let mut netlist = votes.with_class_head(&classes, 6).netlist;
    netlist.name = "digits".into();
    netlist.inputs = (0..40).map(|n| format!("x{n}")).collect();
    let samples = circuits::words(9, 40);
    let plane = |bit: usize| samples.iter().enumerate().map(|(n, word)| (word >> bit & 1) << n).sum::<u64>();
    let planes: Vec<[u64; 1]> = (0..40).map(|bit| [plane(bit)]).collect();
    let inputs: Vec<&[u64]> = planes.iter().map(|plane| &plane[..]).collect();
    let seen = farad_circuit::Simulator::new(&netlist).unwrap().run(&inputs);
    let mut bench = "module main;\n    reg [39:0] x;\n    wire [2:0] number;\n    integer wrong = 0;\n    \
                     digits tested (.x(x), .class_(number));\n    initial begin\n"
        .to_string();
    for (n, word) in samples.iter().enumerate() {
        let class: u64 = seen.iter().enumerate().map(|(bit, plane)| (plane[0] >> n & 1) << bit).sum();
        let x = word & ((1 << 40) - 1);
        bench += &format!("        x = 40'h{x:x}; #1; if (number !== {class}) wrong = wrong + 1;\n");
    }
    bench += "        $display(\"%0d wrong\", wrong);\n        $finish;\n    end\nendmodule\n";
    let files = exported(netlist, "verilog");
    let modules = files[0].1.lines().filter(|line| line.starts_with("module ")).count();
    assert_eq!(modules, 1 + 1 + 6 + 1, "the whole, the votes, six counts and the comparison");
    if !have("iverilog") {
        return;
    }
    let folder = Folder::new();
    folder.write(&[files[0].clone(), ("main.v".into(), bench)]);
    folder.must("iverilog", &["-o", "bench", "main.v", &files[0].0], &[]);
    let made = String::from_utf8(folder.must("vvp", &["-n", "bench"], &[])).unwrap();
    assert!(made.starts_with("0 wrong"), "{made}");
}

#[test]
fn benches_catch_a_wrong_gate() {
    if !have("iverilog") {
        return;
    }
    let netlist = Netlist::random(1, 8, 60, 5);
    let wide = Netlist::random(2, 70, 400, 9);
    let mut held = Netlist::random_with_registers(4, 3, 6, 80, 4);
    let right = exported(held.clone(), "verilog");
    held.registers[0].initial ^= true;
    held.outputs[0].wire = farad_circuit::Wire(held.wires() as u32 - 1);
    let mut life = Automaton::life(farad_circuit::Edge::Wrap);
    let life_right = exported(life.clone(), "verilog");
    life.cell.gates[3].gate = life.cell.gates[3].gate.negated();
    let cases = [
        (exported(circuits::with_a_wrong_gate(&netlist), "verilog"), exported(netlist, "verilog")),
        (exported(circuits::with_a_wrong_gate(&wide), "verilog"), exported(wide, "verilog")),
        (exported(held, "verilog"), right),
        (exported(life, "verilog"), life_right),
    ];
    for (wrong, right) in cases {
        assert!(simulate(&right));
        assert!(!simulate(&[wrong[0].clone(), right[1].clone()]), "{} passed with a wrong gate", right[0].0);
    }
}

#[test]
fn verilator_has_nothing_to_say() {
    if have_by_chance("verilator") {
        for circuit in circuits() {
            let folder = Folder::new();
            let files = exported(circuit.clone(), "verilog");
            folder.write(&files);
            let top = files[0].0.trim_end_matches(".v").to_string();
            folder.must("verilator", &["--lint-only", "--top-module", &top, &files[0].0], &[]);
        }
    }
}

/// Asks Yosys whether a Verilog and a BLIF file are equal for all inputs.
fn proved_equal(verilog: &(String, String), blif: &(String, String), module: &str) -> bool {
    let folder = Folder::new();
    folder.write(&[verilog.clone(), blif.clone()]);
    let script = format!(
        "read_verilog {}; prep -top {module}; rename {module} gold; read_blif -wideports {}; rename {} gate; \
         miter -equiv -flatten -make_outputs gold gate miter; \
         sat -verify -prove trigger 0 -set-init-undef miter",
        verilog.0,
        blif.0,
        blif.0.trim_end_matches(".blif"),
    );
    folder.run("yosys", &["-q", "-p", &script], &[]).status.success()
}

#[test]
fn yosys_proves_verilog_and_blif_equal() {
    if !have("yosys") {
        return;
    }
    for netlist in [circuits::every_gate(), Netlist::random(1, 8, 60, 5), circuits::straight_through()] {
        let (verilog, blif) = (exported(netlist.clone(), "verilog"), exported(netlist.clone(), "blif"));
        let module = verilog[0].0.trim_end_matches(".v").to_string();
        assert!(proved_equal(&verilog[0], &blif[0], &module), "{}", netlist.name);
        if netlist.gates.len() > 1 {
            let wrong = exported(circuits::with_a_wrong_gate(&netlist), "blif");
            assert!(
                !proved_equal(&verilog[0], &wrong[0], &module),
                "{}: a wrong gate was proved",
                netlist.name
            );
        }
    }
    let life = Automaton::life(farad_circuit::Edge::Wrap);
    let (verilog, blif) = (exported(life.clone(), "verilog"), exported(life, "blif"));
    assert!(proved_equal(&verilog[0], &blif[0], "life_cell"));
}

#[test]
fn yosys_synthesizes_registers_and_grids() {
    if !have("yosys") {
        return;
    }
    for circuit in
        [Circuit::from(circuits::sequential()[1].clone()), Circuit::from(circuits::automata()[3].clone())]
    {
        let folder = Folder::new();
        let verilog = exported(circuit.clone(), "verilog");
        let blif = exported(circuit, "blif");
        folder.write(&[verilog[0].clone(), blif[0].clone()]);
        let top = verilog[0].0.trim_end_matches(".v");
        let script = format!(
            "read_verilog {}; synth -top {top}; check -assert; design -reset; read_blif -wideports {}; synth",
            verilog[0].0, blif[0].0
        );
        folder.must("yosys", &["-q", "-p", &script], &[]);
    }
}
