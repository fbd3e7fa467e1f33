//! Boolean functions from tables: `farad train table --data truth.csv`.
//!
//! A [`TruthTable`] is rows of bits, all of them or samples. A network of gates learns it and becomes a
//! circuit. Then [`fn@patch`] corrects the rows that the circuit still gets wrong. Each correction is a product
//! of inputs, as short as the right rows allow. So the circuit is exact on every given row. [`BooleanTables`]
//! is the kind of training.

mod kind;
mod patch;
mod predictor;
mod report;
mod settings;
mod table;
mod trainee;

pub use kind::BooleanTables;
pub use patch::patch;
pub use report::{BooleanVerdict, conclude, judge, simplified};
pub use settings::BooleanSettings;
pub use table::{BitRows, TruthTable};
pub use trainee::{KIND, LearnedFunction};
