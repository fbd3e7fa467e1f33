//! Automata that learn their task from end to end: hard, exact, small, proved.
//!
//! Whether a single seed succeeds depends on the last bits of a machine's arithmetic. So a few seeds train at
//! once, and one of them must succeed; most do.

use std::path::PathBuf;

use farad::Device;
use farad::run::{Run, Stop};
use farad::train::{Asked, Training, TrainingKind};
use farad_logic::report::{SeedVerdict, judge};
use farad_logic::train::Automata;

/// Trains in a separate folder and judges the result.
fn learn(name: &str, flags: &[(&'static str, &str)]) -> Vec<SeedVerdict> {
    let folder: PathBuf = std::env::temp_dir().join(format!("farad-learn-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let flags = flags.iter().map(|&(flag, text)| (flag.to_string(), text.to_string())).collect();
    let asked = Asked { flags, device: Some(Device::cpu()), ..Asked::new(name) };
    let prepared = Automata.prepare(&asked).unwrap();
    let run = Run::create(&folder, Automata.name(), prepared.config()).unwrap();
    let trainee = prepared.begin(&run).unwrap();
    let mut training = Training::open(run, trainee).unwrap();
    training.train(&Stop::new(), &()).unwrap();
    drop(training);
    let verdicts = judge(&Run::open(&folder).unwrap(), &()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    verdicts
}

fn exact(verdicts: &[SeedVerdict]) -> Vec<&SeedVerdict> {
    verdicts.iter().filter(|verdict| verdict.evaluation.exact).collect()
}

#[test]
fn life_is_learned_and_its_circuit_plays_on() {
    let verdicts = learn("life", &[("seed", "5"), ("seeds", "4"), ("updates", "2000")]);
    let exact = exact(&verdicts);
    assert!(!exact.is_empty(), "no seed learned life");
    for verdict in exact {
        assert!(verdict.proved && verdict.simplified_gates < 100, "{} gates", verdict.simplified_gates);
        let sizes = &verdict.evaluation.sizes;
        assert!(
            sizes.iter().any(|size| (size.height, size.width, size.steps, size.wrong) == (128, 128, 300, 0))
        );
    }
}

#[test]
fn a_checkerboard_is_learned_and_holds_on_larger_grids() {
    let verdicts = learn("checkerboard", &[]);
    let exact = exact(&verdicts);
    assert!(!exact.is_empty(), "no seed learned the checkerboard");
    let fewest = exact.iter().map(|verdict| verdict.simplified_gates).min().unwrap();
    assert!(exact.iter().all(|verdict| verdict.proved) && fewest <= 10, "{fewest} gates");
    assert!(exact.iter().any(|verdict| verdict.evaluation.sizes.iter().all(|size| size.right)));
}
