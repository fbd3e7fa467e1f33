//! Where data sets are usually found.

use std::path::PathBuf;

use farad_tensor::ENVIRONMENT;

/// The folders where a set of this name is looked for: below `FARAD_DATA`, then below `data` and `datasets` here.
pub fn usual_places(name: &str) -> Vec<PathBuf> {
    let here = ["data", "datasets"].map(PathBuf::from);
    ENVIRONMENT.data.iter().cloned().chain(here).map(|root| root.join(name)).collect()
}

/// Where a set of this name can be had; empty if it is not known.
///
/// ```
/// assert!(farad::data::origin("mnist").starts_with("https://"));
/// ```
pub fn origin(name: &str) -> &'static str {
    match name {
        "mnist" => "https://ossci-datasets.s3.amazonaws.com/mnist/ (or any copy of Yann LeCun's files)",
        "fashion-mnist" => "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "cifar10" => "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz (unpack it)",
        _ => "",
    }
}

/// The first of [`usual_places`] that is there.
///
/// ```
/// assert_eq!(farad::data::find_data("a set that nobody has"), None);
/// ```
pub fn find_data(name: &str) -> Option<PathBuf> {
    if let Some(root) = ENVIRONMENT.data.as_ref().filter(|root| !root.is_dir()) {
        tracing::warn!("FARAD_DATA={} is no folder: data sets are looked for elsewhere", root.display());
    }
    usual_places(name).into_iter().find(|place| place.exists())
}
