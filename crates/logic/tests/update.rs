//! What an update of an automaton costs a device, and that training continues from a checkpoint with the same
//! bits there.

mod automata;
mod devices;
mod numbers;

use automata::small_checkerboard;
use devices::turn;
use farad::Device;
use farad_logic::{Recipe, train::AutomatonTrainer};

/// On a small grid, so that a software GPU manages all 20 steps.
fn trainer(recipe: Recipe, device: &Device) -> AutomatonTrainer {
    let mut settings = recipe.reference.clone();
    (settings.height, settings.width) = (4, 4);
    AutomatonTrainer::new(recipe, settings, &[7], device)
}

/// The recipe itself for one device, and with a small cell for the others, which need long to compile a large
/// one.
fn recipes() -> impl Iterator<Item = Recipe> {
    std::iter::once(Recipe::named("checkerboard").unwrap()).chain(std::iter::repeat_with(small_checkerboard))
}

#[test]
fn an_update_is_one_submission_of_few_dispatches_and_reads_nothing() {
    let _turn = turn();
    for (device, recipe) in devices::gpus().into_iter().zip(recipes()) {
        let mut trainer = trainer(recipe, &device);
        for _ in 0..3 {
            trainer.update().unwrap();
        }
        device.wait().unwrap();
        let before = device.counters();
        let updates = 4;
        for _ in 0..updates {
            trainer.update().unwrap();
        }
        // Waiting reads the device's error words.
        let reads = device.counters().reads;
        device.wait().unwrap();
        let after = device.counters();
        let dispatches = (after.dispatches - before.dispatches) / updates;
        assert!(dispatches < 150, "{dispatches} dispatches per update");
        assert!(after.submissions - before.submissions <= updates + 1, "more than a submission per update");
        assert_eq!(reads, before.reads, "an update reads something back");
        let uploads = after.uploads - before.uploads;
        assert!(uploads <= updates, "{uploads} uploads: more than the numbers of an update");
        assert_eq!(after.plans_compiled, before.plans_compiled, "an update compiles something");
    }
}

#[test]
fn training_goes_on_with_the_same_bits() {
    let _turn = turn();
    for (device, recipe) in devices::all().into_iter().zip(recipes()) {
        let mut whole = trainer(recipe.clone(), &device);
        (0..3).for_each(|_| drop(whole.update().unwrap()));
        let mut second = trainer(recipe, &device);
        let (logits, state) = (whole.logits().detach().unwrap(), whole.optimizer().state().unwrap());
        second.restore(logits, &state, whole.updates()).unwrap();
        for _ in 0..2 {
            let (a, b) = (whole.update().unwrap(), second.update().unwrap());
            assert_eq!(a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap(), "{}", device.name());
        }
        let bits = |trainer: &AutomatonTrainer| -> Vec<u32> {
            trainer.logits().to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
        };
        assert!(bits(&whole) == bits(&second), "{}: the bits differ", device.name());
    }
}
