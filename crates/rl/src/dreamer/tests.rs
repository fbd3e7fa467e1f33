//! The parts of Dreamer against plain loops, by their definitions.

use std::sync::Arc;

use farad::{DType, Device, Result, Tensor};

use super::learn::{DreamerStep, divergences};
use super::optimizer::{LearnedRow, clipped};
use super::replay::{StepRow, sequences};
use super::returns::{Course, lambda_returns, moved_range, scale};
use super::rssm::{mixed, straight_through};
use super::symlog::{BINS, TwoHot, symlog};
use super::*;
use crate::environments::{CartPoleSwingUp, Pendulum};

fn row(numbers: &[f32], device: &Device) -> Tensor {
    Tensor::from_vec(numbers.to_vec(), [numbers.len()], device)
}

fn assert_near(found: &[f32], wanted: &[f64], most: f64) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((f64::from(*found) - wanted).abs() <= most * (1.0 + wanted.abs()), "{found} {wanted}");
    }
}

#[test]
fn numbers_come_back_from_symlog_and_two_hot_targets() -> Result<()> {
    let device = Device::cpu();
    let bins = TwoHot::new(&device);
    let numbers = [0.0f32, 0.01, -0.3, 1.0, -7.5, 123.25, -4e3, 2.5e6, -3e8];
    let x = row(&numbers, &device);
    let wanted: Vec<f64> = numbers.iter().map(|&x| f64::from(x)).collect();
    let squashed = symlog(&x).to_vec::<f32>()?;
    let back: Vec<f32> = squashed.iter().map(|&y| y.signum() * y.abs().exp_m1()).collect();
    assert_near(&back, &wanted, 1e-5);
    let target = bins.target(&x);
    let shares = target.to_vec::<f32>()?;
    for shares in shares.chunks(BINS) {
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(shares.iter().filter(|&&share| share > 1e-6).count() <= 2);
    }
    assert_near(&bins.mean(&target.maximum(1e-30).log()).to_vec::<f32>()?, &wanted, 1e-4);
    // Nothing is known: exactly 0, though the outermost bins are at half a billion.
    assert_eq!(bins.mean(&Tensor::full(0.7, [2, BINS], &device)).to_vec::<f32>()?, [0.0, 0.0]);
    // The loss is least at the target: its slope is what is said minus the target.
    let logits = Tensor::randn([numbers.len(), BINS], &device);
    let slope = bins.loss(&logits, &[&x]).sum().gradient(&logits)?;
    let off = (slope - (logits.softmax(-1) - target)).abs().max().item()?;
    assert!(off < 1e-5, "{off}");
    // Two numbers cost what each costs alone.
    let both = bins.loss(&logits, &[&x, &(&x * 0.5)]);
    let wanted = bins.loss(&logits, &[&x]) + bins.loss(&logits, &[&(&x * 0.5)]);
    assert!((both - wanted).abs().max().item()? < 1e-4);
    Ok(())
}

#[test]
fn divergence_pulls_both_sides_unevenly_and_not_below_the_free_nats() -> Result<()> {
    let device = Device::cpu();
    device.seed(5);
    // The first row is far apart, the second hardly.
    let apart = Tensor::from_vec(vec![3.0f32, 0.1], [1, 2, 1, 1], &device);
    let a = Tensor::randn([1, 2, 3, 4], &device) * &apart;
    let b = Tensor::randn([1, 2, 3, 4], &device) * &apart;
    let (a, b) = (a.detach()?, b.detach()?);
    let whole = |a: &Tensor, b: &Tensor| {
        let (p, q) = (mixed(a), mixed(b));
        (&p * (p.log() - q.log())).sum_axes([-2, -1])
    };
    let [loss, told] = divergences(&mixed(&a), &mixed(&b));
    let nats = whole(&a, &b).to_vec::<f32>()?;
    assert!(nats[0] > 1.2 && nats[1] < 0.9, "{nats:?}");
    assert_near(&told.to_vec::<f32>()?, &[nats[0], nats[1]].map(f64::from), 1e-6);
    assert_near(&loss.to_vec::<f32>()?, &[f64::from(nats[0]) * 1.1, 1.1], 1e-6);
    for (of, weight) in [(&a, 0.1), (&b, 1.0)] {
        let found = loss.sum().gradient(of)?.to_vec::<f32>()?;
        let wanted: Vec<f64> = whole(&a, &b)
            .sum()
            .gradient(of)?
            .to_vec::<f32>()?
            .iter()
            .map(|&g| f64::from(g) * weight)
            .collect();
        assert_near(&found[..12], &wanted[..12], 1e-6);
        assert!(found[12..].iter().all(|&g| g == 0.0), "{found:?}");
    }
    Ok(())
}

#[test]
fn drawn_variables_have_the_gradient_of_their_probabilities() -> Result<()> {
    let device = Device::cpu();
    device.seed(6);
    let logits = Tensor::randn([50, 4], &device).detach()?;
    let worth = Tensor::randn([50, 4], &device).detach()?;
    let shares = mixed(&logits);
    let drawn = straight_through(&shares, &Tensor::rand([50, 4], &device));
    let slope = (&drawn * &worth).sum().gradient(&logits)?;
    let wanted = (&shares * &worth).sum().gradient(&logits)?;
    assert!((slope - wanted).abs().max().item()? < 1e-6);
    for drawn in drawn.to_vec::<f32>()?.chunks(4) {
        assert!(drawn.iter().filter(|&&x| (x - 1.0).abs() < 1e-5).count() == 1, "{drawn:?}");
        assert!(drawn.iter().filter(|&&x| x.abs() < 1e-5).count() == 3, "{drawn:?}");
    }
    // Every class keeps its share of the uniform part, and is drawn as often as its probability says.
    let sharp = Tensor::from_vec(vec![30.0f32, 0.0, 29.0, 0.0], [1, 4], &device);
    let shares = mixed(&sharp).to_vec::<f32>()?;
    assert!((shares[1] - 0.0025).abs() < 1e-5, "{shares:?}");
    let many = mixed(&sharp).broadcast_to([20_000, 4]);
    let counts =
        straight_through(&many, &Tensor::rand([20_000, 4], &device)).mean_axes([0]).to_vec::<f32>()?;
    for (found, wanted) in counts.iter().zip(shares) {
        assert!((found - wanted).abs() < 0.012, "{counts:?}");
    }
    Ok(())
}

#[test]
fn lambda_returns_are_those_of_a_plain_loop() -> Result<()> {
    let device = Device::cpu();
    device.seed(7);
    let (time, rows, lambda) = (9, 5, 0.9);
    let shape = [time, rows];
    let (reward, value) = (Tensor::randn(shape, &device), Tensor::randn(shape, &device));
    let discount = Tensor::rand(shape, &device).greater(0.2).cast(DType::F32) * 0.97;
    let last = Tensor::rand(shape, &device).less(0.2).cast(DType::F32);
    let all = [&reward, &discount, &last, &value];
    Tensor::compute_all(&all)?;
    let course = Course { reward: &reward, discount: &discount, last: &last, value: &value };
    let found = lambda_returns(&course, lambda).to_vec::<f32>()?;
    let [reward, discount, last, value] = all.map(|x| x.to_vec::<f32>().unwrap());
    let mut wanted = vec![0.0; (time - 1) * rows];
    for of in 0..rows {
        let at = |x: &[f32], t: usize| f64::from(x[t * rows + of]);
        let mut after = at(&value, time - 1);
        for t in (0..time - 1).rev() {
            // A cut step does not know what came after it; its value must do.
            let share = lambda * (1.0 - at(&last, t + 1));
            let later = (1.0 - share) * at(&value, t + 1) + share * after;
            after = at(&reward, t + 1) + at(&discount, t + 1) * later;
            wanted[t * rows + of] = after;
        }
    }
    assert_near(&found, &wanted, 1e-5);
    Ok(())
}

#[test]
fn returns_are_divided_by_their_range() -> Result<()> {
    let device = Device::cpu();
    let returns = (Tensor::arange(101, &device).cast(DType::F32) * 0.5).flip(&[0]).reshape([1, 101]);
    let mut range = Tensor::zeros([1, 2], &device);
    for step in 1..4 {
        range = moved_range(&range, &returns);
        let found = scale(&range, &Tensor::number(f64::from(step), &device)).item()?;
        assert!((found - 45.0).abs() < 1e-3, "{found}");
    }
    // A narrow range is not blown up.
    let range = moved_range(&Tensor::zeros([1, 2], &device), &(returns * 1e-3));
    assert_eq!(scale(&range, &Tensor::number(1.0, &device)).item()?, 1.0);
    Ok(())
}

#[test]
fn the_optimizer_is_laprop_with_clipped_gradients() -> Result<()> {
    let device = Device::cpu();
    let begun = [0.5f32, -0.2, 0.0];
    let gradients = [[0.3f32, -1.0, 0.0], [0.1, 0.2, 1e-9], [-0.4, 0.0, 2e-9]];
    let mut learned = LearnedRow::new(row(&begun, &device).reshape([1, 3]));
    let (mut weights, mut momentum, mut squares) = (begun.map(f64::from), [0.0; 3], [0.0; 3]);
    for (n, gradient) in gradients.iter().enumerate() {
        let step = n as i32 + 1;
        let number = |x: f64| Tensor::number(x, &device);
        learned = learned.stepped(&row(gradient, &device), &number(f64::from(step)), &number(0.1));
        for i in 0..3 {
            let g = f64::from(gradient[i]);
            squares[i] = 0.999 * squares[i] + 0.001 * g * g;
            let root = (squares[i] / (1.0 - 0.999f64.powi(step))).sqrt();
            momentum[i] = 0.9 * momentum[i] + 0.1 * g / (root + 1e-20);
            weights[i] -= 0.1 * momentum[i] / (1.0 - 0.9f64.powi(step));
        }
    }
    assert_near(&learned.weights.to_vec::<f32>()?, &weights, 1e-3);
    // Each agent's part is clipped by itself: the first is too long, the second is not, the third's weight is zero.
    let weight = Tensor::from_vec(vec![3.0f32, 4.0, 3.0, 4.0, 0.0, 0.0], [3, 2], &device);
    let gradient = Tensor::from_vec(vec![30.0f32, 40.0, 0.3, 0.4, 0.3, 0.4], [3, 2], &device);
    let wanted = [0.9, 1.2, 0.3, 0.4, 0.3 * 6e-4, 0.4 * 6e-4];
    assert_near(&clipped(&gradient, &weight).to_vec::<f32>()?, &wanted, 1e-6);
    Ok(())
}

#[test]
fn sequences_are_of_one_world_in_order_and_of_what_is_filled() -> Result<()> {
    let device = Device::cpu();
    device.seed(8);
    let (agents, worlds, capacity, length, count) = (2, 3, 10, 4, 200);
    // A row says its agent, its world and its time.
    let places = Tensor::arange(agents * worlds * capacity, &device).cast(DType::F32);
    let replay = places.reshape([agents, worlds, capacity, 1]).detach()?;
    let found = sequences(&replay, &Tensor::number(6.0, &device), length, count).to_vec::<f32>()?;
    let mut starts = std::collections::BTreeSet::new();
    for agent in 0..agents {
        for sequence in 0..count {
            let at = |t: usize| found[(agent * length + t) * count + sequence] as usize;
            let (ring, start) = (at(0) / capacity, at(0) % capacity);
            assert_eq!(ring / worlds, agent);
            assert!((4..=6).contains(&start), "{start}");
            assert!((0..length).all(|t| at(t) == at(0) + t));
            starts.insert(at(0));
        }
    }
    // Every world and every start comes up.
    assert_eq!(starts.len(), agents * worlds * 3);
    Ok(())
}

/// A small network with weights, and steps of two sequences that it can be tried on.
fn tried(device: &Device) -> Result<(DreamerNetwork, Vec<Tensor>, Tensor, usize)> {
    farad::seed(9);
    device.seed(9);
    let network = DreamerNetwork::new(&Pendulum, DreamerSize::of("debug").expect("it is there"));
    let weights = network.layout.init(2, device)?;
    let (time, rows) = (6, 3);
    let row = StepRow { seen: 3, actions: 1 };
    let numbers = Tensor::randn([2, time * rows, row.width() - 3], device);
    // The second sequence begins an episode at its fourth step.
    let mut first = vec![0.0f32; 2 * time * rows];
    (0..2).for_each(|agent| first[agent * time * rows + 3 * rows + 1] = 1.0);
    let first = Tensor::from_vec(first, [2, time * rows, 1], device);
    let nothing = first.full_like(0.0);
    Ok((network, weights, Tensor::concat(&[&numbers, &first, &nothing, &nothing], 2).detach()?, time))
}

#[test]
fn following_a_sequence_is_observing_step_by_step() -> Result<()> {
    let device = Device::cpu_with(Default::default());
    let (network, weights, rows, time) = tried(&device)?;
    let steps = StepRow { seen: 3, actions: 1 }.split(&rows);
    let each = rows.shape()[1] / time;
    let rssm = &network.rssm;
    let noise = Tensor::rand([time, 2, each, 4, 4], &device).detach()?;
    let keep = (1.0 - &steps.first).unsqueeze(2);
    let seen = network.encoded(&weights, &steps.seen);
    let all = rssm.follow(&weights, &steps.action, &seen, &keep, &noise);
    let features = all.latent.features();
    let mut latent = rssm.start(2, each, &device);
    for t in 0..time {
        let at = |x: &Tensor| x.narrow(1, t * each, each);
        let action = rssm.of_action(&weights, &(at(&steps.action) * at(&keep)));
        let seen = rssm.of_seen(&weights, &at(&seen));
        let noise = noise.narrow(0, t, 1).squeeze(0);
        let (next, shares) = rssm.observe(&weights, &latent.kept(&at(&keep)), &action, &seen, &noise);
        let off = (next.features() - at(&features)).abs().max().item()?;
        assert!(off < 1e-5, "step {t}: {off}");
        assert!((shares - at(&all.posterior)).abs().max().item()? < 1e-5, "step {t}");
        latent = next;
    }
    // Where an episode begins, nothing of what was before counts.
    let [before, after] = [0, 3].map(|t| seen.narrow(1, t * each, 3 * each));
    let other = Tensor::concat(&[&(before * -2.0), &after], 1);
    let changed = rssm.follow(&weights, &steps.action, &other, &keep, &noise).latent.features();
    let off = (changed - &features).abs().max_axes([0, 2]).to_vec::<f32>()?;
    for (n, off) in off.iter().enumerate().skip(3 * each) {
        assert!(n % each != 1 || *off < 1e-6, "step {} of {}: {off}", n / each, n % each);
    }
    assert!(off[3 * each..].iter().any(|&off| off > 1e-3), "{off:?}");
    Ok(())
}

#[test]
fn what_comes_later_changes_nothing_before_and_imagination_sees_nothing() -> Result<()> {
    let device = Device::cpu_with(Default::default());
    let (network, weights, rows, time) = tried(&device)?;
    let bins = TwoHot::new(&device);
    let learn = DreamerStep {
        network: &network,
        bins: &bins,
        imagination: 4,
        imagine_last: 0,
        discount: 0.99,
        lambda: 0.95,
        entropy: 3e-4,
    };
    let row = StepRow { seen: 3, actions: 1 };
    let each = rows.shape()[1] / time;
    let known = 3 * each;
    let changed = Tensor::concat(&[&rows.narrow(1, 0, known), &(rows.narrow(1, known, known) * -3.0)], 1);
    let (mut latents, mut dreams) = (vec![], vec![]);
    for rows in [&rows, &changed] {
        device.seed(10);
        let followed = learn.followed(&weights, &row.split(rows), time).latent.stopped();
        let imagined = learn.imagined(&weights, &followed.rows(0, known));
        assert_eq!(imagined.features.shape()[..], [2, 5 * known, 48]);
        assert_eq!(imagined.actions.shape()[..], [2, 4 * known, 1]);
        latents.push(followed.features().to_vec::<f32>()?);
        dreams.push([imagined.features.to_vec::<f32>()?, imagined.actions.to_vec::<f32>()?]);
    }
    let half = known * 48;
    assert_eq!(latents[0][..half], latents[1][..half]);
    assert_ne!(latents[0][half..2 * half], latents[1][half..2 * half]);
    assert_eq!(dreams[0], dreams[1]);
    Ok(())
}

#[test]
fn gradient_steps_keep_the_train_ratio() -> Result<()> {
    let device = Device::cpu_with(Default::default());
    let shared = PpoSettings { worlds: 2, horizon: 8, ..PpoSettings::default() };
    let replays = SacSettings { replay: 512, batch: 4, warm_up_samples: 40, ..SacSettings::default() };
    let settings = DreamerSettings {
        size: "debug".into(),
        sequence: 16,
        train_ratio: 6.0,
        ..DreamerSettings::default()
    };
    let dreamer = Dreamer::new(Arc::new(Pendulum), settings, replays, shared, 1, &device)?;
    // Three updates of 16 steps until there are 40 samples; then 96 remembered steps per update, 64 per gradient step.
    let counts: Vec<u64> = (0..8).map(|updates| dreamer.gradient_steps(updates)).collect();
    assert_eq!(counts, [0, 0, 0, 1, 3, 4, 6, 7]);
    Ok(())
}

#[test]
fn pictures_are_seen_and_told_by_every_agent_alone() -> Result<()> {
    let device = Device::cpu_with(Default::default());
    farad::seed(11);
    device.seed(11);
    let seer = CartPoleSwingUp { images: true };
    let network = DreamerNetwork::new(&seer, DreamerSize::of("debug").expect("it is there"));
    let weights = network.layout.init(2, &device)?;
    // A state that is remembered shows the same picture again.
    let state = vec![(Tensor::rand([6, 4], &device) * 2.0 - 1.0).detach()?];
    let scenes = Scenes::of(&state);
    let rows = Scenes::joined(&state).reshape([2, 3, scenes.width()]);
    let pictures = scenes.shown(&seer, &rows);
    assert_eq!(pictures.to_vec::<f32>()?, seer.observe(&state).to_vec::<f32>()?);
    let latent = Tensor::randn([2, 3, network.size.features()], &device).detach()?;
    let seen = network.encoded(&weights, &pictures);
    let off = network.reconstruction(&weights, &latent, &pictures);
    assert_eq!((seen.shape()[..].to_vec(), off.shape()[..].to_vec()), (vec![2, 3, 128], vec![2, 3]));
    for agent in 0..2 {
        let one = |x: &Tensor| x.narrow(0, agent, 1);
        let own: Vec<Tensor> = weights.iter().map(one).collect();
        let far = (network.encoded(&own, &one(&pictures)) - one(&seen)).abs().max().item()?;
        assert!(far < 1e-4, "agent {agent}: {far}");
        let far =
            (network.reconstruction(&own, &one(&latent), &one(&pictures)) - one(&off)).abs().max().item()?;
        assert!(far < 1e-2, "agent {agent}: {far}");
    }
    let between = (seen.narrow(0, 0, 1) - seen.narrow(0, 1, 1)).abs().max().item()?;
    assert!(between > 0.1, "{between}");
    Ok(())
}

#[test]
fn imagination_may_begin_at_the_last_steps_only() -> Result<()> {
    let device = Device::cpu_with(Default::default());
    let (network, weights, rows, time) = tried(&device)?;
    let (bins, row) = (TwoHot::new(&device), StepRow { seen: 3, actions: 1 });
    let weights = ActorCritic::packed(&weights);
    let critic = network.layout.numbers_from(network.critic_from);
    let slow = weights.narrow(1, network.numbers() - critic, critic);
    let range = Tensor::zeros([2, 2], &device);
    let state = DreamerState { learned: LearnedRow::new(weights), slow, range };
    let told = |imagine_last: usize| {
        let (network, bins) = (&network, &bins);
        let (discount, lambda, entropy) = (0.99, 0.95, 3e-4);
        let learn = DreamerStep { network, bins, imagination: 4, imagine_last, discount, lambda, entropy };
        device.seed(12);
        let one = Tensor::number(1.0, &device);
        learn.learn(&state, &row.split(&rows), time, &one, &one)?.1.columns().to_vec::<f32>()
    };
    let all = told(0)?;
    assert_eq!(told(time)?, all);
    // The world model learns from all steps all the same; what is imagined is something else.
    let few = told(2)?;
    assert!(few.iter().all(|x| x.is_finite()), "{few:?}");
    let column = |name: &str| DREAMER_COURSE.iter().position(|own| *own == name).expect("it is there") - 1;
    for (name, same) in [("reconstruction_loss", true), ("divergence", true), ("actor_loss", false)] {
        assert_eq!(few[column(name)] == all[column(name)], same, "{name}: {few:?} {all:?}");
    }
    Ok(())
}
