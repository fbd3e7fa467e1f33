//! This project's own circuit file: the format of [`crate::file`].

use crate::file::Circuit;

pub(super) fn write(circuit: &Circuit) -> String {
    circuit.to_json()
}
