//! Updates of the checkerboard automaton as published: soft forward, backward through 20 steps, clip,
//! AdamW; fresh random grids every time.

use farad::Device;
use farad::check;
use farad_logic::Recipe;
use farad_logic::train::AutomatonTrainer;

use super::case::{CaseWork, Workload};
use super::reference::NormDifference;

/// Updates with so many grids each, for so many seeds at once.
pub fn checkerboard(batch: usize, seeds: u64, device: &Device) -> farad::Result<Workload> {
    let mut trainer = trainer(batch, seeds, device);
    let work = CaseWork { items: batch as f64 * seeds as f64, ..CaseWork::default() };
    let iterate = Box::new(move || trainer.update().map(drop).map_err(engine));
    let device = device.clone();
    Ok(Workload { iterate, error: Box::new(move || error(&device)), work })
}

fn trainer(batch: usize, seeds: u64, device: &Device) -> AutomatonTrainer {
    let recipe = Recipe::named("checkerboard").expect("a recipe");
    let mut settings = recipe.reference.clone();
    settings.batch = batch;
    let seeds: Vec<u64> = (0..seeds).map(|n| recipe.seed + n).collect();
    AutomatonTrainer::new(recipe, settings, &seeds, device)
}

/// Training can only fail here where the engine does.
fn engine(error: farad_logic::Error) -> farad::Error {
    match error {
        farad_logic::Error::Farad(error) => error,
        other => unreachable!("an update failed: {other}"),
    }
}

/// The relative error of the gradients of one grid after some updates, all 20 steps.
fn error(device: &Device) -> farad::Result<f64> {
    let mut trainer = trainer(1, 1, device);
    for _ in 0..3 {
        trainer.update().map_err(engine)?;
    }
    let gradient = trainer.loss().sum().gradients(&[trainer.parameter()])?.swap_remove(0);
    let wanted = check::reference(std::slice::from_ref(&gradient))?[0].to_f64();
    let mut difference = NormDifference::default();
    for (got, wanted) in gradient.to_vec::<f32>()?.into_iter().zip(wanted) {
        difference.add(got, wanted);
    }
    Ok(difference.relative())
}
