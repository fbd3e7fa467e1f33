//! Where data sets usually lie.

use std::path::PathBuf;

use crate::environment::ENVIRONMENT;

/// The folders where a set of this name is looked for: below `FARAD_DATA`, then below `data` and `datasets` here.
pub fn usual_places(name: &str) -> Vec<PathBuf> {
    let here = ["data", "datasets"].map(PathBuf::from);
    ENVIRONMENT.data.iter().cloned().chain(here).map(|root| root.join(name)).collect()
}

/// The first of [`usual_places`] that is there.
///
/// ```
/// assert_eq!(farad::data::find_data("a set that nobody has"), None);
/// ```
pub fn find_data(name: &str) -> Option<PathBuf> {
    usual_places(name).into_iter().find(|place| place.exists())
}
