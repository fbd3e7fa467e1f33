//! The search compared with plain evaluation, and on circuits whose answer is known.

use super::*;
use crate::gate::Gate;
use crate::simulate::Simulator;
use crate::statistics::Statistics;

const INPUTS: usize = 6;

/// Random samples of a rule, with their classes.
fn samples(seed: u64, count: usize, class: impl Fn(u64) -> usize) -> PanelSamples {
    let mut random = SplitMix::new(seed, 1);
    let mut planes = vec![vec![0u64; count.div_ceil(64)]; INPUTS];
    let mut labels = vec![];
    for sample in 0..count {
        let bits = random.below(1 << INPUTS) as u64;
        planes
            .iter_mut()
            .enumerate()
            .for_each(|(n, plane)| plane[sample / 64] |= (bits >> n & 1) << (sample % 64));
        labels.push(class(bits));
    }
    PanelSamples { planes, labels }
}

fn readings(outputs: usize) -> [Reading; 2] {
    let of = (0..outputs).map(|n| n % 3).collect();
    [Reading::Votes { of, classes: 3, scale: 1.5 }, Reading::Number]
}

/// How many samples a circuit classifies correctly, by full evaluation.
fn right(netlist: &Netlist, samples: &PanelSamples, reading: &Reading) -> u64 {
    let planes: Vec<&[u64]> = samples.planes.iter().map(Vec::as_slice).collect();
    let outputs = Simulator::new(netlist).unwrap().run(&planes);
    let bit = |output: usize, sample: usize| (outputs[output][sample / 64] >> (sample % 64) & 1) as usize;
    let class = |sample: usize| match reading {
        Reading::Number => (0..outputs.len()).map(|n| bit(n, sample) << n).sum(),
        Reading::Votes { of, classes, .. } => {
            let mut counts = vec![0; *classes];
            (0..outputs.len()).for_each(|n| counts[of[n]] += bit(n, sample));
            (1..*classes).fold(0, |best, n| if counts[n] > counts[best] { n } else { best })
        }
    };
    samples.labels.iter().enumerate().filter(|(sample, label)| class(*sample) == **label).count() as u64
}

#[test]
fn what_a_change_would_do_is_what_it_does() {
    for seed in 0..6 {
        let netlist = Netlist::random(seed, INPUTS, 60, 7);
        let samples = samples(seed, 150, |bits| (bits % 3) as usize);
        for reading in readings(7) {
            let (mut net, _) = net_of(&netlist, &reading);
            let mut panel = Panel::new(&net, &samples, &reading);
            let (mut random, mut ripple, mut tally) =
                (SplitMix::new(seed, 2), Ripple::default(), ReaderTally::default());
            for round in 0..200 {
                let draw = MoveDraw { net: &net, suggestions: &[], shrink: round % 2 == 0 };
                let change = draw.change(&mut random);
                let (before, cost) = ((panel.loss, panel.right), net.cost());
                let effect = panel.effect(&net, &change, &mut ripple);
                let more = net.cost_after(&change, &mut tally);
                if round % 3 == 0 {
                    assert_eq!((panel.loss, panel.right), before, "weighing changes nothing");
                    continue;
                }
                panel.apply(&net, &change, &mut ripple);
                net.apply(&change);
                assert_eq!(net.cost(), cost + more, "seed {seed}, round {round}: {change:?}");
                assert_eq!((panel.loss, panel.right), (before.0 + effect.loss, before.1 + effect.right));
                let whole = Panel::new(&net, &samples, &reading);
                assert_eq!((panel.loss, panel.right), (whole.loss, whole.right), "{change:?}");
                let written = net.netlist(net.nodes.clone(), &netlist);
                written.check().unwrap();
                assert_eq!(panel.right as u64, right(&written, &samples, &reading));
            }
        }
    }
}

/// A circuit of votes for a rule, with some broken gates.
fn broken() -> (Netlist, Reading) {
    let mut netlist = Netlist::new("broken");
    let x: Vec<_> = (0..INPUTS).map(|n| netlist.input(format!("x{n}"))).collect();
    let first: Vec<_> = (0..24)
        .map(|n| netlist.gate(if n % 4 == 0 { Gate::NOR } else { Gate::AND }, x[n % 2], x[n % 3]))
        .collect();
    let last: Vec<_> =
        (0..24).map(|n| netlist.gate(Gate::ALL[n % 16], first[n], first[(n + 7) % 24])).collect();
    last.into_iter().for_each(|wire| netlist.output("vote", wire));
    let of = (0..24).map(|n| n / 12).collect();
    (netlist, Reading::Votes { of, classes: 2, scale: 1.0 })
}

fn rule(bits: u64) -> usize {
    usize::from(bits & 0b11 == 0b11 || bits & 0b100 == 0)
}

fn options(candidates: u64) -> SearchOptions {
    SearchOptions { candidates, time: None, seed: 3, ..SearchOptions::default() }
}

#[test]
fn votes_become_right_and_then_fewer() {
    let (netlist, reading) = broken();
    let [train, validation, fresh] = [1, 2, 3].map(|seed| samples(seed, 600, rule));
    let circuit = ClassifierCircuit { netlist: &netlist, reading: reading.clone(), suggestions: &[] };
    let repaired = repair_classifier(&circuit, &train, &validation, &options(6000)).unwrap();
    assert!(repaired.validation[0] < 560, "it was broken: {:?}", repaired.validation);
    assert_eq!(repaired.validation[1], 600);
    assert_eq!(right(&repaired.netlist, &fresh, &reading), 600, "samples that nobody saw");
    assert!(repaired.cost[1] < repaired.cost[0] / 2, "{:?}", repaired.cost);
    let levels = |netlist: &Netlist| Statistics::of(netlist).depth;
    assert!(levels(&repaired.netlist) <= levels(&netlist), "it is no deeper");
    let again = repair_classifier(&circuit, &train, &validation, &options(6000)).unwrap();
    assert_eq!(again.netlist, repaired.netlist, "the same seed finds the same circuit");
    assert!(!repaired.cut && repaired.candidates == 6000);
}

#[test]
fn threads_change_nothing() {
    let netlist = Netlist::random(4, INPUTS, 200, 12);
    // So many that some of them are tried first.
    let (train, validation) = (samples(1, 4 * SCOUTED, rule), samples(2, 6000, rule));
    let of = (0..12).map(|n| n % 2).collect();
    let reading = Reading::Votes { of, classes: 2, scale: 1.0 };
    let circuit = ClassifierCircuit { netlist: &netlist, reading, suggestions: &[] };
    let [one, three] = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| repair_classifier(&circuit, &train, &validation, &options(600))).unwrap()
    });
    assert_eq!(one.netlist, three.netlist);
    assert!(one.validation[1] > one.validation[0], "{:?}", one.validation);
}

#[test]
fn suggestions_are_tried() {
    // One gate is wrong, and a suggestion says which.
    let mut netlist = Netlist::new("near");
    let x: Vec<_> = (0..INPUTS).map(|n| netlist.input(format!("x{n}"))).collect();
    let wrong = netlist.gate(Gate::NOR, x[0], x[1]);
    netlist.output("class0", wrong);
    let node = crate::GateNode { gate: Gate::AND, a: x[0], b: x[1] };
    let suggestions = [Suggestion { gate: 0, node }];
    let [train, validation] = [1, 2].map(|seed| samples(seed, 100, |bits| usize::from(bits & 3 == 3)));
    let reading = Reading::Votes { of: vec![1], classes: 2, scale: 1.0 };
    let circuit = ClassifierCircuit { netlist: &netlist, reading, suggestions: &suggestions };
    let repaired = repair_classifier(&circuit, &train, &validation, &options(20)).unwrap();
    assert_eq!(repaired.validation[1], 100);
}

#[test]
fn a_circuit_that_gives_the_class_becomes_small_and_loses_nothing() {
    let mut netlist = Netlist::random(5, INPUTS, 80, 0);
    // The rule itself, and much that it does not need.
    let x: Vec<_> = (0..INPUTS as u32).map(crate::Wire).collect();
    let both = netlist.gate(Gate::AND, x[0], x[1]);
    let noise = netlist.wire_of(70);
    let never = netlist.gate(Gate::A_AND_NOT_B, noise, noise);
    let either = netlist.gate(Gate::A_OR_NOT_B, both, x[2]);
    let class = netlist.gate(Gate::XOR, either, never);
    netlist.output("class0", class);
    let [train, validation, fresh] = [1, 2, 3].map(|seed| samples(seed, 300, rule));
    let circuit = ClassifierCircuit { netlist: &netlist, reading: Reading::Number, suggestions: &[] };
    let repaired = repair_classifier(&circuit, &train, &validation, &options(4000)).unwrap();
    assert_eq!((repaired.train[1], repaired.validation[1]), (300, 300));
    assert_eq!((repaired.cost[1], right(&repaired.netlist, &fresh, &Reading::Number)), (2, 300));
}

#[test]
fn a_search_without_time_says_so_and_changes_nothing() {
    let (netlist, reading) = broken();
    let [train, validation] = [1, 2].map(|seed| samples(seed, 100, rule));
    let circuit = ClassifierCircuit { netlist: &netlist, reading: reading.clone(), suggestions: &[] };
    let none = SearchOptions { time: Some(Duration::ZERO), ..options(1000) };
    let repaired = repair_classifier(&circuit, &train, &validation, &none).unwrap();
    assert!(repaired.cut);
    assert_eq!(repaired.validation[0], repaired.validation[1]);
    assert_eq!(repaired.validation[1], right(&repaired.netlist, &validation, &reading));
}
