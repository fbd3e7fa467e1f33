//! Losses against PyTorch's: values and gradients with every reduction.

mod devices;
mod fixtures;

use devices::{devices, turn};
use farad::loss::*;
use farad::prelude::*;
use fixtures::Fixture;

/// A loss of the case's tensors.
type Loss = Box<dyn Fn(&dyn Fn(&str) -> Tensor, Reduction) -> Tensor>;

fn loss(f: impl Fn(&dyn Fn(&str) -> Tensor, Reduction) -> Tensor + 'static) -> Loss {
    Box::new(f)
}

/// The losses by case, with what they are differentiated at; options as in `tools/fixtures/losses.py`.
fn losses() -> Vec<(&'static str, &'static [&'static str], Loss)> {
    vec![
        ("mse", &["x", "t"], loss(|t, r| SquaredError::new().reduction(r).loss(&t("x"), &t("t")))),
        ("l1", &["x", "t"], loss(|t, r| AbsoluteError::new().reduction(r).loss(&t("x"), &t("t")))),
        ("huber", &["x", "t"], loss(|t, r| Huber::new(0.7).reduction(r).loss(&t("x"), &t("t")))),
        ("smooth_l1", &["x", "t"], loss(|t, r| SmoothL1::new(0.6).reduction(r).loss(&t("x"), &t("t")))),
        ("smooth_l1_zero", &["x", "t"], loss(|t, r| SmoothL1::new(0.0).reduction(r).loss(&t("x"), &t("t")))),
        ("entropy", &["x"], loss(|t, r| CrossEntropy::new().reduction(r).loss(&t("x"), &t("labels")))),
        (
            "entropy_smooth",
            &["x"],
            loss(|t, r| CrossEntropy::new().smoothing(0.1).reduction(r).loss(&t("x"), &t("labels"))),
        ),
        (
            "entropy_ignore",
            &["x"],
            loss(|t, r| CrossEntropy::new().ignore(-100).reduction(r).loss(&t("x"), &t("labels"))),
        ),
        (
            "entropy_weights",
            &["x"],
            loss(|t, r| CrossEntropy::new().weights(&t("weights")).reduction(r).loss(&t("x"), &t("labels"))),
        ),
        (
            "entropy_all",
            &["x"],
            loss(|t, r| {
                let entropy = CrossEntropy::new().weights(&t("weights")).ignore(-100).smoothing(0.3);
                entropy.reduction(r).loss(&t("x"), &t("labels"))
            }),
        ),
        ("entropy_image", &["x"], loss(|t, r| CrossEntropy::new().reduction(r).loss(&t("x"), &t("labels")))),
        ("entropy_single", &["x"], loss(|t, r| CrossEntropy::new().reduction(r).loss(&t("x"), &t("labels")))),
        ("entropy_soft", &["x", "t"], loss(|t, r| CrossEntropy::new().reduction(r).loss(&t("x"), &t("t")))),
        (
            "entropy_soft_all",
            &["x", "t"],
            loss(|t, r| {
                let entropy = CrossEntropy::new().weights(&t("weights")).smoothing(0.3);
                entropy.reduction(r).loss(&t("x"), &t("t"))
            }),
        ),
        ("nll", &["x"], loss(|t, r| NegativeLogLikelihood::new().reduction(r).loss(&t("x"), &t("labels")))),
        (
            "nll_all",
            &["x"],
            loss(|t, r| {
                let likelihood = NegativeLogLikelihood::new().weights(&t("weights")).ignore(-100);
                likelihood.reduction(r).loss(&t("x"), &t("labels"))
            }),
        ),
        ("bce", &["x"], loss(|t, r| BinaryCrossEntropy::new().reduction(r).loss(&t("x"), &t("t")))),
        (
            "bce_soft",
            &["x"],
            loss(|t, r| BinaryCrossEntropy::new().weights(&t("weights")).reduction(r).loss(&t("x"), &t("t"))),
        ),
        ("bce_edge", &["x"], loss(|t, r| BinaryCrossEntropy::new().reduction(r).loss(&t("x"), &t("t")))),
        (
            "bce_logits",
            &["x"],
            loss(|t, r| BinaryCrossEntropyWithLogits::new().reduction(r).loss(&t("x"), &t("t"))),
        ),
        (
            "bce_logits_weights",
            &["x"],
            loss(|t, r| {
                let entropy = BinaryCrossEntropyWithLogits::new().weights(&t("weights"));
                entropy.positive_weights(&t("yes")).reduction(r).loss(&t("x"), &t("t"))
            }),
        ),
        ("focal", &["x"], loss(|t, r| Focal::new().reduction(r).loss(&t("x"), &t("t")))),
        (
            "focal_plain",
            &["x"],
            loss(|t, r| Focal::new().without_alpha().gamma(1.5).reduction(r).loss(&t("x"), &t("t"))),
        ),
        ("kl", &["x", "t"], loss(|t, r| KlDivergence::new().reduction(r).loss(&t("x"), &t("t")))),
        (
            "kl_log",
            &["x", "t"],
            loss(|t, r| KlDivergence::new().log_target().reduction(r).loss(&t("x"), &t("t"))),
        ),
        (
            "cosine",
            &["a", "b"],
            loss(|t, r| CosineEmbedding::new().margin(-0.2).reduction(r).loss(&t("a"), &t("b"), &t("t"))),
        ),
        ("hinge", &["x"], loss(|t, r| HingeEmbedding::new().margin(0.8).reduction(r).loss(&t("x"), &t("t")))),
    ]
}

#[test]
fn every_loss_with_every_reduction() {
    let _turn = turn();
    let fixture = Fixture::open("losses");
    let losses = losses();
    let tested: Vec<&str> = losses.iter().map(|(case, ..)| *case).chain(["kl_zero"]).collect();
    let forgotten: Vec<String> =
        fixture.cases().into_iter().filter(|case| !tested.contains(&case.as_str())).collect();
    assert!(forgotten.is_empty(), "cases that nothing tests: {forgotten:?}");
    for device in devices() {
        for (case, leaves, loss) in &losses {
            let cells: Vec<(&str, Tensor)> = leaves
                .iter()
                .map(|what| (*what, fixture.tensor(&format!("{case}/{what}"), &device)))
                .collect();
            let given = |what: &str| match cells.iter().find(|(name, _)| *name == what) {
                Some((_, tensor)) => tensor.clone(),
                None => fixture.tensor(&format!("{case}/{what}"), &device),
            };
            for (name, reduction) in
                [("none", Reduction::None), ("mean", Reduction::Mean), ("sum", Reduction::Sum)]
            {
                let y = loss(&given, reduction);
                fixture.check(&format!("{case}/y.{name}"), &y, 1e-5);
                let total = (&y * fixture.tensor(&format!("{case}/g.{name}"), &device)).sum();
                let at: Vec<&Tensor> = cells.iter().map(|(_, tensor)| tensor).collect();
                for (gradient, what) in total.gradients_at(&at).unwrap().iter().zip(*leaves) {
                    fixture.check(&format!("{case}/grad.{what}.{name}"), gradient, 1e-4);
                }
            }
        }
    }
}

#[test]
fn edges() {
    let _turn = turn();
    let fixture = Fixture::open("losses");
    for device in devices() {
        let given = |name: &str| fixture.tensor(name, &device);
        let batch = KlDivergence::new().batch_mean().loss(&given("kl/x"), &given("kl/t"));
        fixture.check("kl/y.batchmean", &batch, 1e-5);
        let none = Tensor::from_vec(vec![0f32, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [7], &device);
        let x = given("kl_zero/x");
        let y = KlDivergence::new().reduction(Reduction::None).loss(&x, &none);
        fixture.check("kl_zero/y", &y, 1e-6);
        assert!(y.sum().gradient(&x).unwrap().to_vec::<f32>().unwrap().iter().all(|g| g.is_finite()));
        let x = given("bce_edge/x");
        let wrong = BinaryCrossEntropy::new().reduction(Reduction::None).loss(&x, &(1.0 - &x));
        fixture.check("bce_edge/wrong", &wrong, 1e-6);
        assert!(wrong.sum().gradient(&x).unwrap().to_vec::<f32>().unwrap().iter().all(|g| g.is_finite()));
    }
}

#[test]
fn ignored_labels_may_be_any_number_and_others_may_not() {
    let _turn = turn();
    for device in devices() {
        let logits = Tensor::from_vec((0..12).map(|i| i as f32 * 0.1).collect(), [3, 4], &device);
        let labels = |second: i32| Tensor::from_vec(vec![0, second, 3], [3], &device);
        for number in [-100, 4, i32::MAX, 2] {
            let loss = CrossEntropy::new().ignore(number).loss(&logits, &labels(number));
            let wanted = CrossEntropy::new().ignore(-1).loss(&logits, &labels(-1)).item().unwrap();
            assert_eq!(loss.item().unwrap(), wanted, "{number} on {device}");
        }
        let all = Tensor::from_vec(vec![7; 3], [3], &device);
        let sum = CrossEntropy::new().ignore(7).reduction(Reduction::Sum).loss(&logits, &all);
        assert_eq!(sum.gradient(&logits).unwrap().to_vec::<f32>().unwrap(), [0.0; 12]);
        let error = logits.cross_entropy(&labels(4)).item().unwrap_err().to_string();
        assert!(error.contains("index out of range") && error.contains("torch_losses.rs"), "{error}");
    }
}
