//! Every differentiable case compared with finite differences in double precision, along one random direction:
//! its gradients, and the gradients of its gradients.

use std::time::Instant;

use farad::{Result, Tensor};
use farad_testkit::{Case, NumberStream, SuiteReport, cases, differentiate, float, open_cpu};

/// Differences with a step of 1e-5 in double precision agree to about 1e-8; for a long sum, to 1e-6.
const CLOSE: f64 = 3e-6;

/// A weighted sum of all gradients: one number to differentiate again.
fn slope(loss: &Tensor, inputs: &[Tensor]) -> Result<Tensor> {
    let mut sample = NumberStream::new(3);
    let mut sum = Tensor::zeros([], loss.device());
    for g in loss.gradients_at(&inputs.iter().collect::<Vec<_>>())? {
        let weight = float(g.shape(), (-1.0, 1.0));
        let weight = weight.tensor(&weight.elements(&mut sample), loss.device())?;
        sum = sum + (g.cast(farad::DType::F32) * weight).sum();
    }
    Ok(sum)
}

fn check(report: &mut SuiteReport, case: &Case, order: usize) {
    let work = || -> Result<f64> {
        let device = open_cpu(true);
        let (inputs, loss) = differentiate(case, &device)?;
        let agreement = farad::check::gradients(&inputs, |x| {
            let first = loss(x).expect("inputs are made already");
            if order == 1 { first } else { slope(&first, x).unwrap_or_else(|error| panic!("{error}")) }
        })?;
        Ok(agreement.error())
    };
    report.ran += 1;
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    let failure = match outcome {
        Ok(Ok(error)) if error <= CLOSE * order as f64 => return,
        Ok(Ok(error)) => format!("off by {error:.2e}, allowed {CLOSE:.0e}"),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "panicked; see above".into(),
    };
    report.failures.push(format!("{} [order {order}]\n    {failure}", case.name()));
}

#[test]
fn gradients_agree_with_differences() {
    let start = Instant::now();
    let mut report = SuiteReport::default();
    for case in cases::all().iter().filter(|case| case.differentiable) {
        (1..=2).for_each(|order| check(&mut report, case, order));
    }
    report.conclude("gradient", start);
}
