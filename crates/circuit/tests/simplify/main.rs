//! Simplification and equivalence on circuits that are far too large for their function.

mod material;

use std::time::Duration;

use farad_circuit::equivalence::{Budget, Proof, Verdict, equivalent, equivalent_automata};
use farad_circuit::simplify::{Merged, SimplifyOptions, Start, simplify, simplify_automaton};
use farad_circuit::{Edge, Error, Gate, GateNode, Grid, Netlist, Wire};
use material::{Layout, Random, active, evaluate};

fn bits(pattern: usize, count: usize) -> Vec<bool> {
    (0..count).map(|bit| pattern >> bit & 1 == 1).collect()
}

#[test]
fn wasteful_life_becomes_a_few_dozen_gates() {
    let netlist = material::wasteful_life(2, 800);
    assert!(active(&netlist) > 800, "{}", active(&netlist));
    let simplified = simplify(&netlist, &SimplifyOptions::default()).unwrap();
    for pattern in 0..512 {
        assert_eq!(evaluate(&simplified.netlist, &bits(pattern, 9)), [material::life(pattern)]);
    }
    assert_eq!(simplified.report.equivalence.verdicts, [Verdict::Proved(Proof::Exhaustive)]);
    assert_eq!(simplified.report.gates_after(), active(&simplified.netlist));
    // By hand it takes 26 gates, and the passes get close to that; on a slow machine they stop earlier.
    let most = if simplified.report.out_of_time { 45 } else { 30 };
    assert!(active(&simplified.netlist) <= most, "{} gates", active(&simplified.netlist));
}

#[test]
fn a_table_of_life_becomes_a_few_dozen_gates() {
    let mut random = Random(3);
    let mut netlist = Netlist::new("table");
    for input in 0..9 {
        netlist.input(format!("cell_{input}"));
    }
    let order = material::shuffled(&mut random);
    let wire = material::decisions(&mut netlist, &material::life, &order, &mut random);
    netlist.output("next", wire);
    let simplified = simplify(&netlist, &SimplifyOptions::default()).unwrap();
    assert!(simplified.report.equivalence.is_proved());
    // By hand it takes 26 gates, and the passes get close to that; on a slow machine they stop earlier.
    let most = if simplified.report.out_of_time { 45 } else { 30 };
    assert!(active(&simplified.netlist) <= most, "{} gates", active(&simplified.netlist));
}

#[test]
fn the_same_netlist_gives_the_same_circuit() {
    let netlist = material::spoil(&Netlist::random(5, 8, 60, 3), 60, &mut Random(5));
    let options = SimplifyOptions { time: None, ..SimplifyOptions::default() };
    let run = || simplify(&netlist, &options).unwrap().netlist;
    assert_eq!(run(), run());
}

#[test]
fn checkerboard_loses_the_channels_that_nothing_visible_needs() {
    for seed in 0..3 {
        let automaton = material::checkerboard(seed);
        let simplified = simplify_automaton(&automaton, &SimplifyOptions::default()).unwrap();
        assert_eq!(simplified.kept, [0, 5]);
        assert!(simplified.equivalence.is_proved());
        assert_eq!(active(&simplified.automaton.cell), 2);
        assert_eq!(simplified.report.gates_before(), active(&automaton.cell));
        assert_eq!(simplified.report.gates_after(), 2);
        assert_eq!(simplified.automaton.cell.inputs[3], "in_1_5");
        let (mut large, mut small) =
            (Grid::new(&automaton, 16, 16).unwrap(), Grid::new(&simplified.automaton, 16, 16).unwrap());
        let mut random = Random(seed + 100);
        for cell in 0..256 {
            for channel in 0..8 {
                let bit = random.below(2) == 1;
                large.set(channel, cell % 16, cell / 16, bit);
                if let Ok(channel) = simplified.kept.binary_search(&channel) {
                    small.set(channel, cell % 16, cell / 16, bit);
                }
            }
        }
        for _ in 0..20 {
            large.step();
            small.step();
            for cell in 0..256 {
                assert_eq!(large.get(0, cell % 16, cell / 16), small.get(0, cell % 16, cell / 16));
            }
        }
    }
}

#[test]
fn channels_that_carry_the_same_bit_from_the_start_are_merged() {
    // Channels 1 and 2 follow the same rule and channel 3 stays at zero, but only if they start that way.
    let mut cell = Netlist::new("twins");
    for input in 0..36 {
        cell.input(format!("in_{}_{}", input / 4, input % 4));
    }
    let at = |position: u32, channel: u32| Wire(position * 4 + channel);
    let one = cell.gate(Gate::XOR, at(4, 1), at(3, 0));
    let two = cell.gate(Gate::XOR, at(4, 2), at(3, 0));
    let zero = cell.gate(Gate::AND, at(4, 3), at(1, 0));
    let differ = cell.gate(Gate::XOR, at(5, 1), at(5, 2));
    let shown = cell.gate(Gate::OR, differ, at(4, 1));
    let shown = cell.gate(Gate::XOR, shown, at(4, 3));
    for (channel, wire) in [shown, one, two, zero].into_iter().enumerate() {
        cell.output(format!("next_{channel}"), wire);
    }
    let automaton =
        farad_circuit::Automaton { cell, channels: 4, visible: vec![0], edge: Edge::Zero, fire_rate: 1.0 };
    let run = |start: Start| {
        simplify_automaton(&automaton, &SimplifyOptions { start, ..SimplifyOptions::default() }).unwrap()
    };
    let any = run(Start::Any);
    assert_eq!((any.kept.clone(), any.merged.len()), (vec![0, 1, 2, 3], 0));
    let equal = run(Start::EqualChannels);
    assert_eq!(
        (equal.kept.clone(), equal.merged.clone()),
        (vec![0, 1, 3], vec![Merged { channel: 2, with: Some(1) }])
    );
    let zero = run(Start::Zero);
    // Channel 0 shows only channel 1, and both stay at zero.
    assert_eq!((zero.kept.clone(), active(&zero.automaton.cell)), (vec![0], 0));
    for simplified in [&any, &equal, &zero] {
        assert!(simplified.equivalence.is_proved());
    }
    let mut grids = [Grid::new(&automaton, 8, 8).unwrap(), Grid::new(&equal.automaton, 8, 8).unwrap()];
    for channel in 0..4 {
        grids[0].set(channel, 4, 4, true);
    }
    for channel in 0..3 {
        grids[1].set(channel, 4, 4, true);
    }
    for _ in 0..12 {
        grids.iter_mut().for_each(Grid::step);
        for cell in 0..64 {
            assert_eq!(grids[0].get(0, cell % 8, cell / 8), grids[1].get(0, cell % 8, cell / 8));
        }
    }
}

#[test]
fn planted_redundancy_is_found_in_random_circuits() {
    for seed in 0..6 {
        let netlist = Netlist::random_with_registers(seed, 20, 4, 120, 12);
        let plain = simplify(&netlist, &SimplifyOptions::default()).unwrap();
        let spoiled = material::spoil(&netlist, 600, &mut Random(seed));
        assert!(active(&spoiled) > 200);
        let simplified = simplify(&spoiled, &SimplifyOptions::default()).unwrap();
        assert!(simplified.report.equivalence.is_proved() && plain.report.equivalence.is_proved());
        assert!(equivalent(&plain.netlist, &simplified.netlist, &Budget::default()).unwrap().is_proved());
        let (plain, spoiled) = (active(&plain.netlist), active(&simplified.netlist));
        assert!(
            spoiled <= plain + plain / 8 + 2,
            "seed {seed}: {spoiled} gates, {plain} without the redundancy"
        );
    }
}

#[test]
fn a_flipped_gate_is_told_or_proved_harmless() {
    let (mut told, mut harmless) = (0, 0);
    for seed in 0..4 {
        let netlist = Netlist::random_with_registers(seed, 24, 2, 200, 10);
        let simplified = simplify(&netlist, &SimplifyOptions::default()).unwrap().netlist;
        // In the spoiled circuit some gates are redundant, so some flips change nothing.
        for victim in [simplified.clone(), material::spoil(&netlist, 300, &mut Random(seed))] {
            let mut random = Random(seed + 7);
            for _ in 0..12 {
                let mut flipped = victim.clone();
                let place = random.below(flipped.gates.len());
                let gate = flipped.gates[place].gate;
                let other = Gate::new(gate.number() ^ 1 << random.below(4)).unwrap();
                if (other.reads_a() && !gate.reads_a()) || (other.reads_b() && !gate.reads_b()) {
                    continue;
                }
                flipped.gates[place].gate = other;
                let verdicts = equivalent(&netlist, &flipped, &Budget::default()).unwrap().verdicts;
                for (root, verdict) in verdicts.into_iter().enumerate() {
                    match verdict {
                        Verdict::Proved(_) => harmless += 1,
                        Verdict::Different(inputs) => {
                            assert_ne!(evaluate(&netlist, &inputs)[root], evaluate(&flipped, &inputs)[root]);
                            told += 1;
                        }
                        Verdict::Unknown => panic!("seed {seed}: a circuit of 300 gates is not decided"),
                    }
                }
            }
        }
    }
    assert!(told > 100 && harmless > 100, "{told} told, {harmless} harmless");
}

#[test]
fn a_rare_difference_is_found_by_the_solver() {
    // Equal except for one of 2^40 inputs, which random patterns never hit.
    let build = |gate: Gate| {
        let mut netlist = Netlist::new("needle");
        let inputs: Vec<Wire> = (0..40).map(|n| netlist.input(format!("x{n}"))).collect();
        let all = inputs[1..].iter().fold(inputs[0], |all, &input| netlist.gate(Gate::AND, all, input));
        let odd = inputs[1..].iter().fold(inputs[0], |odd, &input| netlist.gate(Gate::XOR, odd, input));
        let output = netlist.gate(gate, all, odd);
        netlist.output("out", output);
        netlist
    };
    let (lhs, rhs) = (build(Gate::B), build(Gate::XOR));
    let verdict = equivalent(&lhs, &rhs, &Budget::default()).unwrap();
    assert_eq!(verdict.verdicts, [Verdict::Different(vec![true; 40])]);
    assert!(equivalent(&rhs, &build(Gate::XOR), &Budget::default()).unwrap().is_proved());
}

#[test]
fn adders_of_different_form_are_proved_equal() {
    let adder = |forwards: bool| {
        let mut netlist = Netlist::new("adder");
        let x: Vec<Wire> = (0..24).map(|n| netlist.input(format!("x{n}"))).collect();
        let y: Vec<Wire> = (0..24).map(|n| netlist.input(format!("y{n}"))).collect();
        let mut carry = netlist.gate(Gate::FALSE, Wire::NONE, Wire::NONE);
        for n in 0..24 {
            let differ = netlist.gate(Gate::XOR, x[n], y[n]);
            let sum = netlist.gate(Gate::XOR, differ, carry);
            carry = if forwards {
                let (both, passed) =
                    (netlist.gate(Gate::AND, x[n], y[n]), netlist.gate(Gate::AND, differ, carry));
                netlist.gate(Gate::OR, both, passed)
            } else {
                let (either, both) =
                    (netlist.gate(Gate::OR, x[n], y[n]), netlist.gate(Gate::AND, x[n], y[n]));
                let passed = netlist.gate(Gate::AND, either, carry);
                netlist.gate(Gate::XNOR, both, passed);
                netlist.gate(Gate::OR, passed, both)
            };
            netlist.output(format!("sum{n}"), sum);
        }
        netlist.output("carry", carry);
        netlist
    };
    let equivalence = equivalent(&adder(true), &adder(false), &Budget::default()).unwrap();
    assert!(equivalence.is_proved());
    assert!(equivalence.proved_by(Proof::Sat) > 10 && equivalence.proved_by(Proof::Exhaustive) > 3);
}

#[test]
fn what_cannot_be_proved_in_time_keeps_its_gates() {
    let netlist = material::spoil(&Netlist::random(4, 60, 400, 10), 400, &mut Random(4));
    let proof = Budget { time: Some(Duration::ZERO), ..Budget::default() };
    let simplified = simplify(&netlist, &SimplifyOptions { proof, ..SimplifyOptions::default() }).unwrap();
    assert!(!simplified.report.unproved.is_empty());
    assert!(simplified.report.equivalence.is_proved());
    assert!(equivalent(&netlist, &simplified.netlist, &Budget::default()).unwrap().is_proved());
    let proved = simplify(&netlist, &SimplifyOptions::default()).unwrap();
    assert_eq!(proved.report.unproved, [""; 0]);
    assert!(active(&proved.netlist) < active(&simplified.netlist));
}

#[test]
fn a_cell_with_the_wiring_of_a_large_automaton_is_simplified_and_proved() {
    let layout =
        Layout { channels: 32, update: &[128, 128, 128, 128, 64, 32], active: 220, ..material::LIZARD };
    let netlist = material::learned(&layout, 11);
    let before = active(&netlist);
    let simplified = simplify(&netlist, &SimplifyOptions::default()).unwrap();
    assert!(simplified.report.equivalence.is_proved() && !simplified.report.out_of_time);
    assert!(2 * active(&simplified.netlist) < before, "{} of {before} gates", active(&simplified.netlist));
}

#[test]
fn constants_copies_and_negations_cost_what_they_must() {
    let mut netlist = Netlist::new("trivial");
    let (a, b) = (netlist.input("a"), netlist.input("b"));
    let not_a = netlist.gate(Gate::NOT_A, a, Wire::NONE);
    let never = netlist.gate(Gate::AND, a, not_a);
    let copy = netlist.gate(Gate::OR, b, never);
    let always = netlist.gate(Gate::NAND, copy, never);
    let both = netlist.gate(Gate::AND, a, b);
    let not_both = netlist.gate(Gate::NAND, b, a);
    for (name, wire) in [
        ("never", never),
        ("copy", copy),
        ("always", always),
        ("not_a", not_a),
        ("both", both),
        ("not_both", not_both),
    ] {
        netlist.output(name, wire);
    }
    let simplified = simplify(&netlist, &SimplifyOptions::default()).unwrap();
    assert_eq!(simplified.netlist.outputs[1].wire, b);
    let gate = |output: usize| {
        let wire = simplified.netlist.outputs[output].wire;
        simplified.netlist.gates[wire.index() - 2].gate
    };
    assert_eq!([gate(0), gate(2), gate(3)], [Gate::FALSE, Gate::TRUE, Gate::NOT_A]);
    // `both` and its negation: one gate and one negation.
    assert_eq!(active(&simplified.netlist), 3);
}

#[test]
fn circuits_that_do_not_correspond_are_refused() {
    let (lhs, rhs) = (Netlist::random(1, 4, 10, 2), Netlist::random(1, 5, 10, 2));
    let error = equivalent(&lhs, &rhs, &Budget::default()).unwrap_err();
    assert_eq!(error.to_string(), "equivalence: inputs do not correspond: 4 and 5");
    let mut other = Netlist::random_with_registers(1, 2, 1, 5, 1);
    let same = other.clone();
    other.registers[0].initial ^= true;
    assert!(matches!(equivalent(&other, &same, &Budget::default()), Err(Error::Incomparable { .. })));
    let automaton = material::checkerboard(1);
    let wrong = equivalent_automata(&automaton, &automaton, &[0, 1, 2], &Budget::default());
    assert!(matches!(wrong, Err(Error::Incomparable { what: "kept channels", .. })));
    let mut cut = lhs.clone();
    cut.gates.push(GateNode { gate: Gate::AND, a: Wire(99), b: Wire(0) });
    assert!(matches!(simplify(&cut, &SimplifyOptions::default()), Err(Error::MissingWire { .. })));
}
