use super::*;
use crate::automaton::Edge;
use crate::gate::Gate;
use crate::netlist::Wire;

fn sample() -> Netlist {
    let mut netlist = Netlist::new("a \"strange\" name");
    let (a, b) = (netlist.input("a"), netlist.input("b"));
    let held = netlist.register("held", true);
    let x = netlist.gate(Gate::XOR, a, b);
    let y = netlist.gate(Gate::NOT_B, Wire::NONE, x);
    let one = netlist.gate(Gate::TRUE, Wire::NONE, Wire::NONE);
    let z = netlist.gate(Gate::A, y, held);
    netlist.output("z", z);
    netlist.output("one", one);
    netlist.set_next(0, x);
    netlist
}

fn file_with(gates: &str, wires: usize) -> String {
    format!(
        r#"{{"format":"farad-circuit","version":1,"kind":"netlist","name":"n","wires":{wires},"inputs":["a","b"],
            "registers":[],"gates":{gates},"outputs":[{{"name":"y","wire":2}}]}}"#
    )
}

fn error(text: &str) -> String {
    Circuit::from_json(text).unwrap_err().to_string()
}

#[test]
fn files_come_back_as_they_were() {
    let netlist = Circuit::from(sample());
    assert_eq!(Circuit::from_json(&netlist.to_json()).unwrap(), netlist);
    for edge in [Edge::Zero, Edge::Wrap] {
        let cell = Netlist::random(3, 18, 40, 2);
        let automaton = Automaton { cell, channels: 2, visible: vec![0], edge, fire_rate: 0.6 };
        let circuit = Circuit::from(automaton);
        assert_eq!(Circuit::from_json(&circuit.to_json()).unwrap(), circuit);
    }
}

#[test]
fn what_is_known_of_a_circuit_stays_with_it() {
    let mut netlist = sample();
    netlist.meta.insert("kind".into(), "image-classifier".into());
    netlist.meta.insert("thresholds".into(), vec![0.25, 0.5].into());
    let circuit = Circuit::from(netlist.clone());
    assert_eq!(Circuit::from_json(&circuit.to_json()).unwrap(), circuit);
    let simplified = crate::simplify::simplify(&netlist, &Default::default()).unwrap().netlist;
    assert!(simplified.gates.len() < netlist.gates.len());
    assert_eq!(simplified.meta, netlist.meta);
    let mut cell = Netlist::random(3, 18, 40, 2);
    cell.meta.insert("start".into(), "random".into());
    let automaton = Automaton { cell, channels: 2, visible: vec![0], edge: Edge::Wrap, fire_rate: 1.0 };
    let smaller = crate::simplify::simplify_automaton(&automaton, &Default::default()).unwrap().automaton;
    assert_eq!(smaller.cell.meta, automaton.cell.meta);
}

#[test]
fn writing_replaces_a_file_whole_and_leaves_no_draft() {
    let folder = std::env::temp_dir().join(format!("farad-circuit-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("circuit.json");
    std::fs::write(&path, "old").unwrap();
    let circuit = Circuit::from(sample());
    circuit.write(&path).unwrap();
    assert_eq!(Circuit::read(&path).unwrap(), circuit);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    let nowhere = circuit.write(folder.join("missing").join("x.json")).unwrap_err().to_string();
    assert!(nowhere.starts_with("write ") && nowhere.contains("missing"), "{nowhere}");
    std::fs::write(&path, "{").unwrap();
    let cut = Circuit::read(&path).unwrap_err().to_string();
    assert!(cut.contains("circuit.json: circuit file: unexpected end"), "{cut}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn gates_may_come_in_any_order() {
    let text = file_with(r#"[["and", 3, 4], ["xor", 0, 1], ["not_b", null, 3]]"#, 5);
    let Circuit::Netlist(netlist) = Circuit::from_json(&text).unwrap() else { panic!("a netlist") };
    netlist.check().unwrap();
    assert_eq!(
        netlist.gates.iter().map(|node| node.gate).collect::<Vec<_>>(),
        [Gate::XOR, Gate::NOT_B, Gate::AND]
    );
    assert_eq!(
        (netlist.gates[2].a, netlist.gates[2].b, netlist.outputs[0].wire),
        (Wire(2), Wire(3), Wire(4))
    );
}

#[test]
fn a_long_chain_in_reverse_is_sorted() {
    let n = 50_000;
    let chain: Vec<String> =
        (0..n).map(|k| format!("[\"not_a\",{}]", if k + 1 < n { 3 + k } else { 0 })).collect();
    let text = file_with(&format!("[{}]", chain.join(",")), n + 2);
    Circuit::from_json(&text).unwrap().check().unwrap();
}

#[test]
fn a_cycle_names_its_gates() {
    let text = file_with(r#"[["or", 0, 3], ["and", 1, 4], ["not_a", 3], ["xor", 0, 1]]"#, 6);
    assert_eq!(
        error(&text),
        "circuit file: gates form a cycle: gate 2 (not_a, wire 4) -> gate 1 (and, wire 3) -> gate 2"
    );
    assert!(error(&file_with(r#"[["or", 0, 2]]"#, 3)).ends_with("gate 0 (or, wire 2) -> gate 0"));
}

#[test]
fn wrong_files_say_what_is_wrong() {
    assert_eq!(
        error(&file_with(r#"[["or", 0, 1], ["and", 9, 1]]"#, 4)),
        "netlist: gate 1 (and), which makes wire 3, reads wire 9, which does not exist (9 vs 4 wires that it may read)"
    );
    assert_eq!(
        error(&file_with(r#"[["or", 0]]"#, 3)),
        "circuit file: gate 0 (or), which makes wire 2, lacks an operand (1 vs 2)"
    );
    let unknown = error(&file_with(r#"[["nope", 0, 1]]"#, 3));
    assert!(
        unknown
            .starts_with("circuit file: gate 0, which makes wire 2, has an unknown name: \"nope\"\nhelp: ")
    );
    assert_eq!(
        error(&file_with(r#"[["or", 0, 1]]"#, 7)),
        "circuit file: inputs, registers and gates do not add up to the wires stated (3 vs 7)"
    );
    assert!(
        error(&file_with("[]", 2))
            .starts_with("netlist: output y reads wire 2, which does not exist (2 vs 2")
    );
    let whole = Circuit::from(sample()).to_json();
    for end in [1, whole.len() / 2, whole.trim_end().len() - 1] {
        let cut = Circuit::from_json(&whole[..end]).unwrap_err();
        assert!(matches!(cut, Error::Truncated { .. }), "{end}: {cut}");
    }
    assert!(error(&whole.replace("\"version\":1", "\"version\":2")).contains("newer version (2 vs 1)"));
    assert!(error(&whole.replace("farad-circuit", "else")).contains("another format: \"else\""));
    assert!(error(&whole.replace("\"wires\":7", "\"wires\":true")).contains("invalid"));
    assert!(error("[1, 2]").contains("invalid"));
}

#[test]
fn a_cell_must_fit_its_channels() {
    let cell = Netlist::random(3, 18, 40, 2);
    let automaton = Automaton { cell, channels: 2, visible: vec![1], edge: Edge::Wrap, fire_rate: 1.0 };
    let text = Circuit::from(automaton).to_json();
    let wrong = |from: &str, to: &str| error(&text.replace(from, to));
    assert!(
        wrong("\"channels\":2", "\"channels\":3")
            .contains("inputs of the cell do not match 3 channels (18 vs 27)")
    );
    assert!(wrong("\"channels\":2", "\"channels\":18446744073709551615").contains("do not match"));
    assert!(
        wrong("\"visible\":[1]", "\"visible\":[2]").contains("no such visible channel (2 vs 2 channels)")
    );
    assert!(wrong("\"fire_rate\":1.0", "\"fire_rate\":1.5").contains("fire rate is not a probability"));
    assert!(wrong("\"edge\":\"wrap\"", "\"edge\":\"mirror\"").contains("mirror"));
}

#[test]
fn a_hundred_thousand_gates_read_and_write_quickly() {
    let circuit = Circuit::from(Netlist::random(1, 64, 100_000, 64));
    let start = std::time::Instant::now();
    let text = circuit.to_json();
    assert_eq!(Circuit::from_json(&text).unwrap(), circuit);
    assert!(start.elapsed().as_secs_f64() < 2.0, "{:?}", start.elapsed());
}
