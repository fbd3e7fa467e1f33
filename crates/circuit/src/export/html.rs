//! A page that runs the circuit: one self-contained HTML file for any browser, without network access.
//!
//! The parts in `page/` are complete files that also work as they are (on a half adder). Here each reference to
//! a part is replaced by the part, and the example circuit by ours. The policy in the page's head forbids
//! requests and `eval`.
//!
//! The page runs on WebGPU by the WGSL export, or in JavaScript by an interpreter. The interpreter decides once
//! per gate and then loops over the words of a tile. Cells that fire are drawn from the simulator's counters,
//! so both give the simulator's bits. Everything that the page knows about a circuit besides its gates comes
//! from the circuit's `meta`. Start at [`write`]; the page itself starts in `page/page.js`.

use farad_chart::{count, counted};
use serde_json::{Value, json};

use super::wgsl;
use crate::automaton::Automaton;
use crate::file::Circuit;
use crate::gate::Gate;
use crate::netlist::{Netlist, Wire};
use crate::statistics::Statistics;

const PAGE: &str = include_str!("page/page.html");
const STYLE: (&str, &str) = ("page.css", include_str!("page/page.css"));
const SCRIPTS: [(&str, &str); 11] = [
    ("circuit.js", include_str!("page/circuit.js")),
    ("engines.js", include_str!("page/engines.js")),
    ("board.js", include_str!("page/board.js")),
    ("gates.js", include_str!("page/gates.js")),
    ("gatemap.js", include_str!("page/gatemap.js")),
    ("automaton.js", include_str!("page/automaton.js")),
    ("controls.js", include_str!("page/controls.js")),
    ("digits.js", include_str!("page/digits.js")),
    ("netlist.js", include_str!("page/netlist.js")),
    ("table.js", include_str!("page/table.js")),
    ("page.js", include_str!("page/page.js")),
];
const FIRE: &str = include_str!("page/fire.wgsl");
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
    script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">";

pub(super) fn write(circuit: &Circuit, name: &str) -> String {
    let mut page = PAGE.to_string();
    let generator = "<meta name=\"generator\" content=\"farad\">";
    swap(&mut page, generator, generator, &format!("{generator}\n{POLICY}"));
    let title = format!("<title>{} · farad</title>", escaped(&title(circuit.name())));
    swap(&mut page, "<title>", "</title>", &title);
    let style = format!("<style>\n{}</style>", STYLE.1);
    let link = format!("<link rel=\"stylesheet\" href=\"{}\">", STYLE.0);
    swap(&mut page, &link, &link, &style);
    let data =
        format!("<script type=\"application/json\" id=\"circuit\">\n{}\n</script>", data(circuit, name));
    swap(&mut page, "<script type=\"application/json\" id=\"circuit\">", "</script>", &data);
    for (file, script) in SCRIPTS {
        let tag = format!("<script src=\"{file}\"></script>");
        swap(&mut page, &tag, &tag, &format!("<script>\n{script}</script>"));
    }
    page
}

/// Replaces the first part of the page that starts with one mark and ends with another.
fn swap(page: &mut String, from: &str, to: &str, by: &str) {
    let start = page.find(from).expect("the page has every part once");
    let end = start + page[start..].find(to).expect("parts end") + to.len();
    page.replace_range(start..end, by);
}

/// The circuit as the page's scripts read it, escaped so that it cannot end the script element.
fn data(circuit: &Circuit, name: &str) -> String {
    let netlist = circuit.netlist();
    let mut data = match circuit {
        Circuit::Netlist(_) => json!({ "kind": "netlist" }),
        Circuit::Automaton(automaton) => json!({
            "kind": "automaton",
            "channels": automaton.channels,
            "visible": automaton.visible,
            "edge": automaton.edge.name(),
            "fireRate": automaton.fire_rate,
            "wgsl": { "step": step_text(automaton, name), "fire": FIRE },
        }),
    };
    let fields = data.as_object_mut().expect("an object");
    fields.extend(tape(netlist));
    fields.insert("title".into(), title(circuit.name()).into());
    fields.insert("tagline".into(), tagline(circuit).into());
    fields.insert("meta".into(), Value::Object(netlist.meta.clone()));
    // Inside of a string these escapes are the same characters, and outside of strings JSON has none of them.
    data.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// The shader of a step. The page decides which cells fire, even for automata that were trained synchronously.
fn step_text(automaton: &Automaton, name: &str) -> String {
    let fires_by_mask = Automaton { fire_rate: 0.5, ..automaton.clone() };
    wgsl::write(&Circuit::Automaton(fires_by_mask), name)
}

/// The live gates, renumbered: triples of function and operands, without copies.
fn tape(netlist: &Netlist) -> serde_json::Map<String, Value> {
    let live = netlist.live_wires();
    let mut place: Vec<usize> = (0..netlist.sources()).collect();
    let (mut gates, mut count): (Vec<usize>, usize) = (vec![], netlist.sources());
    for (n, node) in netlist.gates.iter().enumerate() {
        let at = |wire: Wire| place[wire.index()];
        let made = match node.gate {
            _ if !live[netlist.sources() + n] => usize::MAX,
            Gate::A => at(node.a),
            Gate::B => at(node.b),
            gate => {
                let (a, b) = (gate.reads_a().then(|| at(node.a)), gate.reads_b().then(|| at(node.b)));
                gates.extend([gate.number() as usize, a.or(b).unwrap_or(0), b.or(a).unwrap_or(0)]);
                count += 1;
                count - 1
            }
        };
        place.push(made);
    }
    let shown = netlist.outputs.iter();
    let outputs: Vec<Value> =
        shown.map(|output| json!({ "name": output.name, "wire": place[output.wire.index()] })).collect();
    let registers: Vec<Value> = netlist
        .registers
        .iter()
        .map(|r| json!({ "name": r.name, "initial": r.initial, "next": place[r.next.index()] }))
        .collect();
    let fields = [
        ("name", json!(netlist.name)),
        ("inputs", json!(netlist.inputs)),
        ("registers", json!(registers)),
        ("gates", json!(gates)),
        ("outputs", json!(outputs)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// A readable form of a name.
fn title(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut letters = words.trim().chars();
    letters.next().map_or("Circuit".into(), |first| first.to_uppercase().chain(letters).collect())
}

/// A one-line description.
fn tagline(circuit: &Circuit) -> String {
    let statistics = Statistics::of(circuit.netlist());
    let mut gates =
        format!("{}, {} in a row", counted(statistics.active_live, "gate"), count(statistics.depth));
    // As the report and the command count them.
    let known = |key: &str| circuit.netlist().meta.get("gates").and_then(|gates| gates[key].as_u64());
    if let (Some(learned), Some(active)) = (known("learned"), known("active")) {
        gates += &format!(" ({} learned, {} active)", count(learned), count(active));
    }
    match circuit {
        Circuit::Automaton(automaton) => {
            let channels = match automaton.channels {
                1 => "one bit per cell".to_string(),
                channels => format!("{channels} bits per cell"),
            };
            let firing = if automaton.fire_rate < 1.0 { ", firing at random" } else { "" };
            format!("An automaton of logic gates: {gates}; {channels}{firing}")
        }
        Circuit::Netlist(netlist) => {
            format!(
                "A circuit of {gates}; {}, {}",
                counted(netlist.inputs.len(), "input"),
                counted(netlist.outputs.len(), "output")
            )
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automaton::Edge;

    #[test]
    fn one_file_holds_everything_and_nothing_ends_it_early() {
        let mut life = Automaton::life(Edge::Wrap);
        life.cell.name = "</script><script>alert(1)</script>".into();
        life.cell.outputs[0].name = "</script>".into();
        life.cell.meta.insert("note".into(), "<!-- </script> \u{2028}".into());
        let page = write(&Circuit::Automaton(life), "life");
        // The parts, the circuit, and nothing else; each begins and ends once.
        assert_eq!(page.matches("<script").count(), SCRIPTS.len() + 1);
        assert_eq!(page.matches("</script").count(), SCRIPTS.len() + 1);
        assert!(!page.contains(" src=") && !page.contains("<link") && !page.contains("alert(1)</script>"));
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("eval("));
        assert!(page.contains("Content-Security-Policy"));
        let start = page.find("id=\"circuit\">").unwrap() + 13;
        let end = start + page[start..].find("</script>").unwrap();
        let data: Value = serde_json::from_str(&page[start..end]).unwrap();
        assert_eq!(data["meta"]["note"], "<!-- </script> \u{2028}");
        assert_eq!(data["gates"].as_array().unwrap().len(), 3 * 26);
    }

    #[test]
    fn copies_and_dead_gates_are_not_sent() {
        let mut netlist = Netlist::new("n");
        let (a, b) = (netlist.input("a"), netlist.input("b"));
        let dead = netlist.gate(Gate::OR, a, b);
        let copy = netlist.gate(Gate::B, Wire::NONE, b);
        let not = netlist.gate(Gate::NOT_B, dead, copy);
        let again = netlist.gate(Gate::A, not, Wire::NONE);
        netlist.output("y", again);
        netlist.output("b", copy);
        let tape = tape(&netlist);
        assert_eq!(tape["gates"], json!([10, 1, 1]));
        assert_eq!(tape["outputs"], json!([{ "name": "y", "wire": 2 }, { "name": "b", "wire": 1 }]));
    }
}
