//! The HTML export in a browser: the page computes and draws what the simulator does.

use farad_circuit::{Automaton, Edge, Gate, Grid, Netlist, Simulator, Wire};
use serde_json::json;

use crate::browser::Browser;
use crate::circuits::{exported, slices, words};
use crate::tool::{Folder, have};

const WINDOW: (u32, u32) = (1280, 960);

/// Eight channels with zeros beyond the rim, like a learned checkerboard before it is simplified.
fn eight_channels(fire_rate: f32) -> Automaton {
    let cell = Netlist::random(11, 72, 300, 8);
    Automaton { cell, channels: 8, visible: vec![0], edge: Edge::Zero, fire_rate }
}

fn text(cells: &[bool]) -> String {
    cells.iter().map(|&cell| if cell { '1' } else { '0' }).collect()
}

/// Sets a random grid in the page, runs 20 steps, and compares with the simulator.
fn compare(browser: &mut Browser, automaton: &Automaton, (width, height): (usize, usize)) {
    let mut grid = Grid::new(automaton, width, height).unwrap();
    grid.randomize(5);
    grid.set_seed(1234567);
    browser.evaluate(&format!("farad.setGrid({width}, {height}, '{}')", text(&grid.cells())));
    browser.evaluate("farad.setSeed(1234567)");
    browser.evaluate("farad.step(20)");
    grid.steps(20);
    let found = browser.evaluate("farad.grid()");
    assert!(found == text(&grid.cells()), "{} at {width}x{height}", automaton.cell.name);
}

/// Draws with the mouse, runs 20 steps, and compares with the simulator.
fn draw(browser: &mut Browser, automaton: &Automaton) {
    browser.evaluate(&format!("farad.setGrid(40, 24, '0'.repeat({}))", 960 * automaton.channels));
    let mut grid = Grid::new(automaton, 40, 24).unwrap();
    let cells = [(10, 10), (11, 10), (12, 10), (12, 9), (11, 8)];
    let mut points = vec![];
    for (x, y) in cells {
        let point = browser.evaluate(&format!("farad.place({x}, {y})"));
        points.push((point["x"].as_f64().unwrap(), point["y"].as_f64().unwrap()));
        (0..automaton.channels).for_each(|channel| grid.set(channel, x, y, true));
    }
    browser.drag(&points);
    assert_eq!(browser.evaluate("farad.grid()"), json!(text(&grid.cells())), "drawn cells");
    browser.evaluate("farad.setSeed(9)");
    grid.set_seed(9);
    browser.evaluate("farad.step(20)");
    grid.steps(20);
    assert!(browser.evaluate("farad.grid()") == text(&grid.cells()), "20 steps after drawing");
}

#[test]
fn pages_run_automata_as_the_simulator_does() {
    if !have("chromium") {
        return;
    }
    let folder = Folder::new();
    let mut browser = Browser::start("chromium");
    let automata = [Automaton::life(Edge::Wrap), eight_channels(1.0), eight_channels(0.6)];
    for automaton in automata {
        let path = folder.write(&exported(automaton.clone(), "html"));
        for engine in ["js", "webgpu"] {
            browser.open(&path, &format!("engine={engine}&paused"), WINDOW);
            assert_eq!(
                browser.evaluate("farad.engine"),
                json!(engine),
                "{}",
                browser.evaluate("document.getElementById('note').textContent")
            );
            for size in [(64, 64), (37, 23), (100, 8), (3, 3)] {
                compare(&mut browser, &automaton, size);
            }
            draw(&mut browser, &automaton);
        }
    }
    controls(&mut browser, &folder);
    networks(&mut browser, &folder);
    pictures(&mut browser, &folder);
}

/// Buttons, keys, and the gate view.
fn controls(browser: &mut Browser, folder: &Folder) {
    let life = Automaton::life(Edge::Wrap);
    let path = folder.write(&exported(life.clone(), "html"));
    browser.open(&path, "engine=js", WINDOW);
    // It plays by itself, and stops on request.
    let step = "Number(document.getElementById('count').textContent.replace(',', ''))";
    let playing = format!("new Promise((done) => setInterval(() => {step} > 3 && done(true), 20))");
    assert_eq!(browser.evaluate(&playing), json!(true));
    browser.evaluate("farad.pause()");
    let before = browser.evaluate(&format!("farad.grid().then(() => {step})")).as_u64().unwrap();
    browser.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: 's', bubbles: true }))");
    let after = browser.evaluate(&format!("farad.grid().then(() => {step})"));
    assert_eq!(after, json!(before + 1));
    // A glider always has five cells; damage and clearing remove cells.
    let alive = "farad.grid().then((bits) => [...bits].filter((bit) => bit === '1').length)";
    let choose =
        "document.getElementById('start').value = 'glider'; document.getElementById('restart').click()";
    browser.evaluate(choose);
    browser.evaluate("farad.step(64)");
    assert_eq!(browser.evaluate(alive), json!(5));
    browser.evaluate("document.getElementById('size').value = '128'; document.getElementById('size').dispatchEvent(new Event('change'))");
    assert_eq!(browser.evaluate(alive), json!(5), "the picture stays when the size changes");
    browser.evaluate("document.getElementById('clear').click()");
    assert_eq!(browser.evaluate(alive), json!(0));
    // A cell with three living neighbors: the output of its circuit is one.
    let bits = "000000000011100000000000000000000000000000000000";
    browser.evaluate(&format!("farad.setGrid(8, 6, '{bits}')"));
    browser.evaluate("farad.inspect(3, 2)");
    let lit = browser.evaluate("farad.grid().then(() => farad.values())");
    let lit: Vec<u64> = lit.as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect();
    let mut expected: Vec<bool> = [1, 1, 1, 0, 0, 0, 0, 0, 0].map(|bit| bit == 1).to_vec();
    for node in &life.cell.gates {
        expected.push(node.gate.output(expected[node.a.index()], expected[node.b.index()]));
    }
    assert_eq!(lit, expected.iter().map(|&bit| bit as u64).collect::<Vec<_>>());
}

/// A plain netlist with switches.
fn networks(browser: &mut Browser, folder: &Folder) {
    let netlist = Netlist::random(8, 7, 40, 5);
    let path = folder.write(&exported(netlist.clone(), "html"));
    browser.open(&path, "", WINDOW);
    let table = Simulator::new(&netlist).unwrap().truth_table();
    for number in [0usize, 5, 77, 127] {
        let bits: String = (0..7).map(|n| if number >> n & 1 == 1 { '1' } else { '0' }).collect();
        let expected: String = table
            .iter()
            .map(|words| if words[number / 64] >> (number % 64) & 1 == 1 { '1' } else { '0' })
            .collect();
        assert_eq!(browser.evaluate(&format!("farad.evaluate('{bits}')")), json!(expected));
    }
}

/// Distinguishes tall drawings from wide ones by counting ink in two columns and two rows of 28x28 pixels.
fn tall_or_wide() -> Netlist {
    let mut netlist = Netlist::new("tall_or_wide");
    let pixels: Vec<Wire> = (0..28 * 28).map(|n| netlist.input(format!("pixel_{n}"))).collect();
    let column: Vec<Wire> = (0..28).flat_map(|n| [pixels[n * 28 + 13], pixels[n * 28 + 14]]).collect();
    let row = pixels[13 * 28..15 * 28].to_vec();
    let counts = [column, row].map(|bits| count(&mut netlist, &bits));
    let wide = less(&mut netlist, &counts[0], &counts[1]);
    netlist.output("class0", wide);
    for (class, bits) in counts.iter().enumerate() {
        bits.iter().enumerate().for_each(|(n, &bit)| netlist.output(format!("count_{class}_{n}"), bit));
    }
    let meta = json!({ "kind": "image-classifier", "height": 28, "width": 28, "classes": ["tall", "wide"], "thresholds": [102], "brightest": 255 });
    netlist.meta = meta.as_object().unwrap().clone();
    netlist
}

/// The number of set bits, in six bits: each is added to the sum so far.
fn count(netlist: &mut Netlist, bits: &[Wire]) -> Vec<Wire> {
    let zero = netlist.gate(Gate::FALSE, Wire::NONE, Wire::NONE);
    let mut sum = vec![zero; 6];
    for &bit in bits {
        let mut carry = bit;
        for place in &mut sum {
            let next = netlist.gate(Gate::AND, *place, carry);
            *place = netlist.gate(Gate::XOR, *place, carry);
            carry = next;
        }
    }
    sum
}

/// Whether the first number is less than the second.
fn less(netlist: &mut Netlist, first: &[Wire], second: &[Wire]) -> Wire {
    let mut less = netlist.gate(Gate::FALSE, Wire::NONE, Wire::NONE);
    for (&a, &b) in first.iter().zip(second) {
        let (below, equal) = (netlist.gate(Gate::NOT_A_AND_B, a, b), netlist.gate(Gate::XNOR, a, b));
        let kept = netlist.gate(Gate::AND, equal, less);
        less = netlist.gate(Gate::OR, below, kept);
    }
    less
}

/// The digit pad: drawings are centered, scaled, converted to bits and classified.
fn pictures(browser: &mut Browser, folder: &Folder) {
    let netlist = tall_or_wide();
    let path = folder.write(&exported(netlist.clone(), "html"));
    browser.open(&path, "", WINDOW);
    // Pictures without changes: the class and the counts are the simulator's.
    let simulator = Simulator::new(&netlist).unwrap();
    for seed in 0..3 {
        let shades: Vec<f64> =
            words(seed, 784).iter().map(|word| (word >> 40) as f64 / (1 << 24) as f64).collect();
        let planes: Vec<Vec<u64>> = shades.iter().map(|&shade| vec![(shade >= 0.4) as u64]).collect();
        let bits: Vec<u64> = simulator.run(&slices(&planes)).concat();
        let number = |bits: &[u64]| bits.iter().rev().fold(0, |number, bit| 2 * number + (bit & 1));
        let expected =
            json!({ "best": number(&bits[..1]), "counts": [number(&bits[1..7]), number(&bits[7..13])] });
        assert_eq!(browser.evaluate(&format!("farad.classify({shades:?})")), expected);
    }
    // Drawn off center and small: the pad centers and scales.
    let pad = browser.evaluate("(({ left, top, width }) => ({ left, top, width }))(document.getElementById('pad').getBoundingClientRect())");
    let part = |name: &str| pad[name].as_f64().unwrap();
    let at = |x: f64, y: f64| (part("left") + x * part("width"), part("top") + y * part("width"));
    for (points, class) in [([at(0.2, 0.1), at(0.2, 0.5)], "tall"), ([at(0.5, 0.8), at(0.9, 0.8)], "wide")] {
        browser.evaluate("document.getElementById('wipe').click()");
        browser.drag(&points);
        let guess = browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(farad.guess()))))");
        assert_eq!(guess, json!(class));
        let picture = browser.evaluate("farad.picture()");
        let shades: Vec<f64> =
            picture.as_array().unwrap().iter().map(|shade| shade.as_f64().unwrap()).collect();
        let mass: f64 = shades.iter().sum();
        let middle = |along: &dyn Fn(usize) -> usize| {
            shades.iter().enumerate().map(|(n, shade)| shade * (along(n) as f64 + 0.5)).sum::<f64>() / mass
        };
        let (x, y) = (middle(&|n| n % 28), middle(&|n| n / 28));
        assert!((x - 14.0).abs() < 0.3 && (y - 14.0).abs() < 0.3, "center of mass at {x}, {y}");
        let lines = |along: &dyn Fn(usize) -> usize| {
            let inked: std::collections::BTreeSet<usize> =
                (0..784).filter(|&n| shades[n] > 0.1).map(along).collect();
            inked.last().unwrap() - inked.first().unwrap() + 1
        };
        let longer = lines(&|n| n % 28).max(lines(&|n| n / 28));
        assert!((19..=22).contains(&longer), "the longer side is {longer} pixels");
    }
}
