//! The guide's examples as tests, and all documents as a web site. The guide itself is Markdown, in `docs/guide/src`; here it is read.
//!
//! Invariant: no block of code in the guide goes untested, but shell blocks marked `not run` (their flags are checked). Rust blocks are doc tests of this crate (below), shell
//! blocks are run by `crates/cli/tests/guide.rs`, Python blocks by `python/tests/test_guide.py`, and `tests/chapters.rs` fails on a block that neither covers. Start at
//! [`Chapter::all`] and [`blocks`]; for the site, at [`Site::build`].

mod blocks;
mod chapter;
mod shell;
mod site;

pub use blocks::{BlockNote, FencedBlock, blocks};
pub use chapter::Chapter;
pub use shell::{commands, words};
pub use site::{LivePage, Site, SiteError, SitePage, SitePart, check, parts};

macro_rules! chapters {
    ($($item:ident $file:literal)*) => {
        /// The chapters whose Rust blocks are doc tests, by file.
        pub const TESTED: &[&str] = &[$($file),*];
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../docs/guide/src/", $file))]
            struct $item;
        )*
    };
}

chapters! {
    Introduction "introduction.md"
    Install "install.md"
    FirstAutomaton "first-automaton.md"
    FirstNetwork "first-network.md"
    Overview "overview.md"
    Tensors "tensors.md"
    Gradients "gradients.md"
    Devices "devices.md"
    Training "training.md"
    Sweeps "sweeps.md"
    Use "use.md"
    Logic "logic.md"
    LanguageModels "language-models.md"
    PublishedModels "published-models.md"
    Worlds "worlds.md"
    Evolve "evolve.md"
    CustomOps "custom-ops.md"
    Data "data.md"
    Checkpoints "checkpoints.md"
    Scale "scale.md"
    Python "python.md"
    ComingFrom "coming-from.md"
    PythonFromPytorch "python-from-pytorch.md"
    Troubleshooting "troubleshooting.md"
    Glossary "glossary.md"
}
