//! The page of a run's circuit at work.

use farad::run::{Run, counted};
use farad::{Device, Result};
use farad_circuit::Statistics;

use super::circuit_controller::CircuitController;
use super::finish::simplified;
use crate::environments::CartPole;
use crate::page::{PageWords, page};

/// The page of a run's circuit, which acts in the cart-pole: what the file is called, and its text.
pub fn controller_page(run: &Run) -> Result<(String, String)> {
    let circuit = CircuitController::new(simplified(run)?)?;
    let gates = counted(Statistics::of(circuit.netlist()).active_live, "gate");
    let words = PageWords {
        title: "cartpole by a circuit".into(),
        about: format!(
            "A cart is pushed left or right so that its pole stands. A circuit of {gates} decides, from bits of what it sees. \
             Every step is computed here, in your browser."
        ),
    };
    Ok(("cartpole-circuit.html".into(), page(&CartPole, &circuit, &words, &Device::cpu())?))
}
