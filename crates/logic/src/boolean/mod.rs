//! Boolean functions from tables: `farad train table --data truth.csv`.
//!
//! A [`TruthTable`] is rows of bits, all of them or samples. A network of gates learns it, becomes a circuit, and the rows that
//! the circuit still has wrong are put right by terms of their own ([`fn@patch`]), so that it ends exact on every row that it
//! was given. [`BooleanTables`] is the kind of training.

mod kind;
mod patch;
mod predictor;
mod report;
mod settings;
mod table;
mod trainee;

pub use kind::BooleanTables;
pub use patch::patch;
pub use report::{Verdict, conclude, judge, simplified};
pub use settings::Settings;
pub use table::{Rows, TruthTable};
pub use trainee::{KIND, Learned};
