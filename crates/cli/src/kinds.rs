//! The table of kinds of training: one row each. Whoever trains, judges, shows or lists runs asks it.

use farad::fit::Supervised;
use farad::train::Kinds;
use farad_lm::train::Language;
use farad_logic::boolean::BooleanTables;
use farad_logic::classify::Classifiers;
use farad_logic::train::Automata;
use farad_rl::controller::Controllers;
use farad_rl::creatures::Creatures;
use farad_rl::train::Worlds;

/// All kinds.
pub const KINDS: Kinds = Kinds(&[
    &Automata,
    &Classifiers,
    &BooleanTables,
    &Supervised,
    &Language,
    &Worlds,
    &Controllers,
    &Creatures,
]);
