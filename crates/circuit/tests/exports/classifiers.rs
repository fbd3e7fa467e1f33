//! Classifiers used as their files describe: a program that includes the header, a crate with the module, a
//! module with vector ports, a page with sliders. Every sample must get the simulator's class.

use std::fmt::Write;

use farad_circuit::{Circuit, Netlist, Simulator};
use serde_json::json;

use crate::browser::Browser;
use crate::circuits::{exported, words};
use crate::tool::{Folder, have};

const COLUMNS: [&str; 3] = ["Petal length (cm)", "while", "x2"];
const CLASSES: [&str; 3] = ["setosa", "a \"wide\" one\\", "größer?"];
/// The names as programs print them.
const PRINTED: [&str; 3] = ["setosa", "a  wide  one ", "größer "];
const THRESHOLDS: [[f32; 2]; 3] = [[2.45, 4.9], [-1.0, 0.1], [0.0, 1e-3]];

/// Three numbers with two thresholds each, three classes.
fn table() -> Netlist {
    let votes = Netlist::random(5, 6, 60, 12);
    let classes: Vec<usize> = (0..12).map(|n| n % 3).collect();
    let mut netlist = votes.with_class_head(&classes, 3).netlist;
    netlist.name = "flowers".into();
    netlist.inputs = (0..6).map(|n| format!("x{n}")).collect();
    for (key, value) in
        [("columns", json!(COLUMNS)), ("classes", json!(CLASSES)), ("thresholds", json!(THRESHOLDS))]
    {
        netlist.meta.insert(key.into(), value);
    }
    netlist
}

/// Pictures of two by three bytes, with the same two thresholds everywhere.
fn pictures() -> Netlist {
    let votes = Netlist::random(6, 12, 90, 10);
    let classes: Vec<usize> = (0..10).map(|n| n % 5).collect();
    let mut netlist = votes.with_class_head(&classes, 5).netlist;
    netlist.name = "pictures".into();
    for (key, value) in [
        ("height", json!(2)),
        ("width", json!(3)),
        ("classes", json!(5)),
        ("thresholds", json!([63.5, 200.0])),
    ] {
        netlist.meta.insert(key.into(), value);
    }
    netlist
}

/// The simulator's class for the bits of one sample.
fn class(netlist: &Netlist, bits: &[bool]) -> usize {
    let planes: Vec<[u64; 1]> = bits.iter().map(|&bit| [u64::from(bit)]).collect();
    let inputs: Vec<&[u64]> = planes.iter().map(|plane| &plane[..]).collect();
    let outputs = Simulator::new(netlist).unwrap().run(&inputs);
    outputs.iter().enumerate().map(|(n, plane)| ((plane[0] & 1) as usize) << n).sum()
}

/// Rows on, below and above every threshold, with their classes.
fn rows() -> Vec<([f32; 3], usize)> {
    let netlist = table();
    let value = |column: usize, which: u64| {
        let [low, high] = THRESHOLDS[column];
        [low, high, low - 0.5, (low + high) / 2.0, high + 0.5, low.next_down(), high.next_down()]
            [which as usize % 7]
    };
    let row = |word: &u64| {
        let numbers: [f32; 3] = std::array::from_fn(|column| value(column, word >> (8 * column)));
        let bits: Vec<bool> = (0..6).map(|n| numbers[n / 2] >= THRESHOLDS[n / 2][n % 2]).collect();
        (numbers, class(&netlist, &bits))
    };
    words(3, 60).iter().map(row).collect()
}

fn pixel_rows() -> Vec<([u8; 6], usize)> {
    let netlist = pictures();
    let row = |word: &u64| {
        let pixels: [u8; 6] = std::array::from_fn(|n| (word >> (8 * n)) as u8);
        let bits: Vec<bool> = (0..12).map(|n| f32::from(pixels[n / 2]) >= [63.5, 200.0][n % 2]).collect();
        (pixels, class(&netlist, &bits))
    };
    words(4, 60).iter().map(row).collect()
}

/// Calls with the numbers of each row, and their expected output.
fn calls(call: impl Fn(&str) -> String) -> (String, String) {
    let (mut program, mut wanted) = (String::new(), String::new());
    for (numbers, class) in rows() {
        let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:?}f")).collect();
        writeln!(program, "    {}", call(&numbers.join(", "))).unwrap();
        writeln!(wanted, "{}", PRINTED[class]).unwrap();
    }
    (program, wanted)
}

#[test]
fn a_program_in_c_asks_for_classes() {
    if !have("gcc") {
        return;
    }
    let folder = Folder::new();
    let (calls, mut wanted) = calls(|row| format!("puts(flowers_classes[flowers_class({row})]);"));
    let mut program = format!(
        "#include <stdio.h>\n#include \"flowers.h\"\n#include \"pictures.h\"\nint main(void)\n{{\n{calls}"
    );
    for (pixels, class) in pixel_rows() {
        writeln!(program, "    printf(\"%d\\n\", pictures_class((const uint8_t[]){{{}}}));", list(&pixels))
            .unwrap();
        writeln!(wanted, "{class}").unwrap();
    }
    program += "    return 0;\n}\n";
    folder.write(&[("main.c".into(), program)]);
    folder.write(&exported(table(), "c"));
    folder.write(&exported(pictures(), "c"));
    let files = ["main.c", "flowers.c", "pictures.c", "-o", "program"];
    folder.must("gcc", &[&["-std=c11", "-Wall", "-Wextra", "-Werror"][..], &files].concat(), &[]);
    let made = String::from_utf8(folder.must("./program", &[], &[])).unwrap();
    assert_eq!(made, wanted);
}

#[test]
fn a_program_in_rust_asks_for_classes() {
    if !have("rustc") {
        return;
    }
    let folder = Folder::new();
    let (calls, mut wanted) = calls(|row| {
        format!("println!(\"{{}}\", flowers::CLASSES[flowers::flowers_class({})]);", row.replace('f', ""))
    });
    let mut program = format!("mod flowers;\nmod pictures;\nfn main() {{\n{calls}");
    for (pixels, class) in pixel_rows() {
        writeln!(program, "    println!(\"{{}}\", pictures::pictures_class(&[{}]));", list(&pixels)).unwrap();
        writeln!(wanted, "{class}").unwrap();
    }
    program += "}\n";
    folder.write(&[("main.rs".into(), program)]);
    folder.write(&exported(table(), "rust"));
    folder.write(&exported(pictures(), "rust"));
    folder.must("rustc", &["--edition", "2021", "-o", "program", "main.rs"], &[]);
    let made = String::from_utf8(folder.must("./program", &[], &[])).unwrap();
    assert_eq!(made, wanted);
}

fn list(pixels: &[u8]) -> String {
    pixels.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
}

/// A separate bench that uses the ports and thresholds from the comments; with a clock if there is latency.
fn bench(latency: usize) -> (String, usize) {
    let (ports, clocks) = match latency {
        0 => (".x(x), .class_(number)", String::new()),
        _ => (".clk(clk), .rst(1'b0), .x(x), .class_(number)", "#1 clk = 1; #1 clk = 0; ".repeat(latency)),
    };
    let mut text = format!(
        "module main;\n    reg clk = 0;\n    reg [5:0] x;\n    wire [1:0] number;\n    integer wrong = 0;\n    \
         flowers tested ({ports});\n    initial begin\n"
    );
    let rows = rows();
    for (numbers, class) in &rows {
        let bit = |n: usize| if numbers[n / 2] >= THRESHOLDS[n / 2][n % 2] { '1' } else { '0' };
        let bits: String = (0..6).rev().map(bit).collect();
        writeln!(text, "        x = 6'b{bits}; #1; {clocks}if (number !== {class}) wrong = wrong + 1;")
            .unwrap();
    }
    text += "        $display(\"%0d wrong\", wrong);\n        $finish;\n    end\nendmodule\n";
    (text, rows.len())
}

#[test]
fn modules_have_vectors_comments_and_registers_if_wanted() {
    let files = exported(table(), "verilog");
    let text = &files[0].1;
    for line in [
        "// Use: flowers my_flowers (.x(x), .class_(class_));",
        "//   x[0]: Petal length (cm) >= 2.45",
        "//   x[5]: x2 >= 0.001",
        "//   0: setosa",
        "    input wire [5:0] x,",
        "    output wire [1:0] class_",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    let pipelined = table().pipelined(3).unwrap();
    let latency = pipelined.latency().unwrap();
    let clocked = exported(pipelined, "verilog");
    let said = format!("// Pipelined: outputs belong to the inputs of {latency} clocks before.");
    assert!(latency > 1 && clocked[0].1.lines().any(|line| line == said), "{said}: {}", clocked[0].1);
    if !have("iverilog") {
        return;
    }
    for (files, latency) in [(files, 0), (clocked, latency)] {
        let folder = Folder::new();
        folder.write(&files);
        folder.write(&[("main.v".into(), bench(latency).0)]);
        folder.must("iverilog", &["-o", "bench", "main.v", &files[0].0], &[]);
        let made = String::from_utf8(folder.must("vvp", &["-n", "bench"], &[])).unwrap();
        assert!(made.starts_with("0 wrong"), "latency {latency}: {made}");
        // The exported bench agrees.
        folder.must("iverilog", &["-o", "own", &files[0].0, &files[1].0], &[]);
        folder.must("vvp", &["-n", "own"], &[]);
    }
}

#[test]
fn a_page_has_a_slider_per_column() {
    if !have("chromium") {
        return;
    }
    let folder = Folder::new();
    let path = folder.write(&exported(table(), "html"));
    let mut browser = Browser::start("chromium");
    browser.open(&path, "", (1280, 960));
    assert_eq!(browser.evaluate("document.querySelectorAll('#columns input').length"), json!(3));
    assert_eq!(browser.evaluate("document.querySelector('#columns span').textContent"), json!(COLUMNS[0]));
    for (numbers, class) in rows() {
        // As the page's numbers have them: a float is exact there.
        let numbers = numbers.map(f64::from);
        let made = browser.evaluate(&format!("farad.classify({numbers:?})"));
        assert_eq!(made, json!(CLASSES[class]), "{numbers:?}");
        assert_eq!(browser.evaluate("farad.guess()"), json!(CLASSES[class]), "{numbers:?}");
    }
}

/// For every gate with two operands: its symbol, with circles at operands and result, shows what it computes.
const DRAWN_AS_COMPUTED: &str = "[...Array(16).keys()].filter((kind) => '∧∨⊕'.includes(Farad.GATES[kind].sign)).map((kind) => {
    for (const [a, b] of [[0, 0], [0, 1], [1, 0], [1, 1]]) {
        const memory = Int32Array.of(-a, -b, 0);
        Farad.apply(kind, memory, 2, 0, 1, 1);
        const [x, y] = [a ^ (Farad.INVERTED.get(kind) === 0), b ^ (Farad.INVERTED.get(kind) === 1)];
        const drawn = { '∧': x & y, '∨': x | y, '⊕': x ^ y }[Farad.GATES[kind].sign] ^ Farad.NEGATED.has(kind);
        if (drawn !== (memory[2] & 1)) return kind;
    }
    return 'right';
}).join(' ')";

#[test]
fn gates_are_drawn_as_they_compute() {
    if !have("chromium") {
        return;
    }
    let folder = Folder::new();
    let path = folder.write(&exported(table(), "html"));
    let mut browser = Browser::start("chromium");
    browser.open(&path, "", (1280, 960));
    assert_eq!(browser.evaluate(DRAWN_AS_COMPUTED), json!(["right"; 10].join(" ")));
}

#[test]
fn shaders_and_sheets_say_what_inputs_mean() {
    let shader = &exported(table(), "wgsl")[0].1;
    for line in ["//   inputs[0]: Petal length (cm) >= 2.45", "//   0: setosa"] {
        assert!(shader.lines().any(|found| found == line), "{line} is not in {shader}");
    }
    assert!(shader.contains("// Use: a compute pipeline of `main`"), "{shader}");
    let sheet: serde_json::Value = serde_json::from_str(&exported(table(), "digitaljs")[0].1).unwrap();
    assert_eq!(sheet["devices"]["d5"]["label"], "x2 >= 0.001");
    assert_eq!(sheet["devices"]["d5"]["net"], "x5_");
}

#[test]
fn what_does_not_fit_is_a_plain_netlist() {
    let mut netlist = table();
    netlist.meta.insert("thresholds".into(), json!([[1.0], [2.0]]));
    let text = &exported(Circuit::from(netlist), "c")[0].1;
    assert!(!text.contains("flowers_class(") && text.contains("inputs[5]"), "{text}");
}
