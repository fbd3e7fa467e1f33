//! Schedules against PyTorch's: the learning rates of fifty steps.

use crate::fixtures::Fixture;
use farad::Device;
use farad::optim::schedule::*;

const STEPS: u64 = 50;
const RATE: f64 = 0.3;

/// The schedule of a case; options as in `tools/fixtures/schedules.py`.
fn schedule(case: &str) -> Box<dyn Schedule> {
    match case {
        "step" => Box::new(Step::new(RATE, 7).factor(0.6)),
        "multi_step" => Box::new(MultiStep::new(RATE, [5, 20, 21]).factor(0.5)),
        "exponential" => Box::new(Exponential::new(RATE, 0.93)),
        "linear" => Box::new(Linear::new(RATE, 33).from(0.2).to(0.7)),
        "linear_default" => Box::new(Linear::new(RATE, 5)),
        "cosine" => Box::new(Cosine::new(RATE, 20).minimum(0.05)),
        "restarts" => Box::new(CosineRestarts::new(RATE, 6).growth(2).minimum(0.01)),
        "restarts_equal" => Box::new(CosineRestarts::new(RATE, 9)),
        "warmup" => Box::new(Warmup::new(10, Cosine::new(RATE, 30)).from(0.1)),
        "one_cycle" => Box::new(OneCycle::new(RATE, STEPS)),
        "one_cycle_linear" => {
            let cycle = OneCycle::new(RATE, STEPS).rise(0.45).annealing(Annealing::Linear);
            Box::new(cycle.start_divisor(10.0).end_divisor(100.0))
        }
        "one_cycle_three" => Box::new(OneCycle::new(RATE, STEPS).three_phases()),
        "polynomial" => Box::new(Polynomial::new(RATE, 40).power(1.7)),
        "lambda" => Box::new(Lambda::new(RATE, |step| 0.95f64.powf(step as f64) + 0.01 * step as f64)),
        _ => panic!("no schedule for the case {case}"),
    }
}

fn plateau(case: &str) -> Plateau {
    match case {
        "plateau" => Plateau::new(RATE).patience(3).factor(0.5),
        "plateau_largest" => {
            Plateau::new(RATE).larger_is_better().patience(2).factor(0.7).cooldown(4).minimum(0.01)
        }
        "plateau_absolute" => {
            Plateau::new(RATE).patience(2).factor(0.3).absolute_threshold(0.05).minimum(0.002)
        }
        _ => panic!("no plateau for the case {case}"),
    }
}

fn check(case: &str, step: usize, got: f32, wanted: f32) {
    let error = (got as f64 - wanted as f64).abs();
    assert!(
        error <= 1e-6 * wanted.abs() as f64 + 1e-9,
        "{case}: step {step} is {got}, PyTorch says {wanted}"
    );
}

fn rates(fixture: &Fixture, case: &str) -> Vec<f32> {
    fixture.tensor(&format!("{case}/rates"), &Device::cpu()).to_vec().unwrap()
}

#[test]
fn fifty_steps_of_every_schedule() {
    let fixture = Fixture::open("schedules");
    for case in fixture.cases().iter().filter(|case| *case != "given" && !case.starts_with("plateau")) {
        let schedule = schedule(case);
        let wanted = rates(&fixture, case);
        assert_eq!(wanted.len(), STEPS as usize);
        // Backwards: a schedule is a value, whatever it was asked before.
        for (step, &wanted) in wanted.iter().enumerate().rev() {
            check(case, step, schedule.rate(step as u64), wanted);
        }
    }
}

#[test]
fn fifty_metrics_on_a_plateau() {
    let fixture = Fixture::open("schedules");
    let metrics = fixture.tensor("given/metrics", &Device::cpu()).to_vec::<f32>().unwrap();
    for case in fixture.cases().iter().filter(|case| case.starts_with("plateau")) {
        let mut schedule = plateau(case);
        for (step, (&metric, wanted)) in metrics.iter().zip(rates(&fixture, case)).enumerate() {
            // Its state is all that it remembers.
            let saved = serde_json::to_string(&schedule.state()).unwrap();
            schedule = plateau(case);
            schedule.restore(serde_json::from_str(&saved).unwrap());
            check(case, step, schedule.observe(metric), wanted);
        }
    }
}
