//! The page of a run's circuit at work.

use farad::run::{Run, counted};
use farad::{Device, Result};
use farad_circuit::Statistics;

use super::circuit_controller::CircuitController;
use super::finish::simplified;
use crate::page::{PageWords, page};

/// The page of a run's circuit, which acts in its world: what the file is called, and its text.
pub fn controller_page(run: &Run) -> Result<(String, String)> {
    let circuit = CircuitController::new(simplified(run, &())?)?;
    let gates = counted(Statistics::of(circuit.netlist()).active_live, "gate");
    let task = circuit.task();
    let words = PageWords {
        title: format!("{} by a circuit", task.name),
        about: format!(
            "This is {}. It has {gates}, and decides from bits of what it sees. Every step is computed here, in your browser.",
            task.about
        ),
    };
    let device = Device::cpu();
    let text = page(&*circuit.world(&device)?, &circuit, &words, &device)?;
    Ok((format!("{}.html", task.subject), text))
}
