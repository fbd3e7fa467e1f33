//! Automata that learn their task from end to end: hard, exact, small, proved.
//!
//! Whether a single seed succeeds depends on the last bits of a machine's arithmetic, so a few seeds
//! train at once and one of them must get there; most do.

use std::path::PathBuf;

use farad::Device;
use farad::run::{Run, Stop};
use farad_logic::report::{Verdict, judge};
use farad_logic::train::{Configuration, Training};
use farad_logic::{Recipe, Settings};

/// Trains in a folder of its own and judges what came out.
fn learn(name: &str, seeds: &[u64], change: impl Fn(&mut Settings)) -> Vec<Verdict> {
    let folder: PathBuf = std::env::temp_dir().join(format!("farad-learn-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let recipe = Recipe::named(name).unwrap();
    let mut settings = (recipe.settings)();
    change(&mut settings);
    let device = Device::cpu();
    let configuration =
        Configuration { recipe, settings, seeds: seeds.to_vec(), device: device.name().to_string() };
    let mut training = Training::start(&folder, configuration, &device).unwrap();
    training.train(&Stop::new(), |_| ()).unwrap();
    drop(training);
    let verdicts = judge(&Run::open(&folder).unwrap()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    verdicts
}

fn exact(verdicts: &[Verdict]) -> Vec<&Verdict> {
    verdicts.iter().filter(|verdict| verdict.evaluation.exact).collect()
}

#[test]
fn life_is_learned_and_its_circuit_plays_on() {
    let verdicts = learn("life", &[5, 8, 12], |settings| settings.updates = 2000);
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
    let verdicts = learn("checkerboard", &[2], |_| {});
    let exact = exact(&verdicts);
    assert!(!exact.is_empty(), "no seed learned the checkerboard");
    let fewest = exact.iter().map(|verdict| verdict.simplified_gates).min().unwrap();
    assert!(exact.iter().all(|verdict| verdict.proved) && fewest <= 10, "{fewest} gates");
    assert!(exact.iter().any(|verdict| verdict.evaluation.sizes.iter().all(|size| size.right)));
}
