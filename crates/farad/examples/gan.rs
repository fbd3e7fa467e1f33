//! A generative adversarial network: one network draws points, another tells them from real ones.
//!
//!     cargo run --release --example gan -p farad [device]

use farad::data::blobs;
use farad::loss::BinaryCrossEntropyWithLogits;
use farad::nn::Tanh;
use farad::prelude::*;

/// Clouds of points, on a circle of radius 1.
const CLOUDS: usize = 3;
/// The standard deviation of a cloud.
const NOISE: f64 = 0.1;
/// Random numbers that a point is drawn from.
const LATENT: usize = 4;
/// Hidden units of both networks.
const HIDDEN: usize = 32;
/// Updates of both networks.
const UPDATES: usize = 1200;
/// Points an update.
const BATCH: usize = 96;
/// The share of drawn points that lie in a cloud (within four deviations) if it works; of points spread over
/// the square 0.12 do.
const THRESHOLD: f32 = 0.6;

fn main() -> farad::Result<()> {
    let name = std::env::args().nth(1).unwrap_or("best".into());
    let device = Device::named(&name)?;
    farad::seed(2);
    device.seed(2);
    let network = |inputs, outputs| {
        let layers = (
            Linear::new(inputs, HIDDEN),
            Tanh,
            Linear::new(HIDDEN, HIDDEN),
            Tanh,
            Linear::new(HIDDEN, outputs),
        );
        Sequential::new(layers).to_device(&device)
    };
    let (artist, critic) = (network(LATENT, 2), network(2, 1));
    let mut draws = Adam::new(artist.parameters()).learning_rate(2e-3).betas(0.5, 0.99);
    let mut judges = Adam::new(critic.parameters()).learning_rate(2e-3).betas(0.5, 0.99);
    let (real, drawn) = (Tensor::full(1.0, [BATCH, 1], &device), Tensor::zeros([BATCH, 1], &device));
    let loss = BinaryCrossEntropyWithLogits::new();

    let mut loader = DataLoader::new(blobs(BATCH * 40, CLOUDS, NOISE, 1), BATCH).shuffle(1).device(&device);
    let mut updates = 0;
    while updates < UPDATES {
        for batch in &mut loader {
            let (points, _) = batch?;
            let fakes = artist.forward(&Tensor::randn([BATCH, LATENT], &device)).detach()?;
            let judged =
                loss.loss(&critic.forward(&points), &real) + loss.loss(&critic.forward(&fakes), &drawn);
            judges.step(&judged)?;
            let fakes = artist.forward(&Tensor::randn([BATCH, LATENT], &device));
            // The artist wants to be taken for real; only its own parameters move.
            draws.step(&loss.loss(&critic.forward(&fakes), &real))?;
            updates += 1;
        }
    }

    let points = artist.forward(&Tensor::randn([600, LATENT], &device)).to_vec::<f32>()?;
    let mut inside = [0; CLOUDS];
    for point in points.chunks_exact(2) {
        let near = (0..CLOUDS).find(|&cloud| {
            let angle = std::f32::consts::TAU * cloud as f32 / CLOUDS as f32;
            (point[0] - angle.cos()).hypot(point[1] - angle.sin()) < 4.0 * NOISE as f32
        });
        near.into_iter().for_each(|cloud| inside[cloud] += 1);
    }
    let share = inside.iter().sum::<usize>() as f32 / 600.0;
    println!(
        "on {device}: after {updates} updates {:.0} % of drawn points lie in a cloud: {inside:?}",
        100.0 * share
    );
    assert!(share > THRESHOLD, "the network did not learn: {share} is not above {THRESHOLD}");
    Ok(())
}
