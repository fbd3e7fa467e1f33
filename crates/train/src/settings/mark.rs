//! Marks of settings: which came later, and which are only there to be tried again.

/// What the keys of such settings begin with.
pub(super) const LAB: &str = "lab.";

/// How a line of [`settings!`](crate::settings!) is marked.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Plain,
    Later,
    Lab,
}

#[doc(hidden)]
impl Mark {
    /// By its name; another name than `later` and `lab` is a mistake in the table.
    pub fn of(names: &[&str]) -> Mark {
        match names {
            [] => Mark::Plain,
            ["later"] => Mark::Later,
            ["lab"] => Mark::Lab,
            other => panic!("settings!: there is no mark {other:?}"),
        }
    }

    /// The key of a setting, from its name and its name in the lab.
    pub fn key(self, plain: &'static str, lab: &'static str) -> &'static str {
        if self == Mark::Lab { lab } else { plain }
    }

    /// What it was called: in the lab, its plain name too, so that files of earlier versions are read.
    pub fn former(
        self,
        own: &'static [&'static str],
        plain: &'static [&'static str],
    ) -> &'static [&'static str] {
        if self == Mark::Lab { plain } else { own }
    }

    /// Whether runs may do without it.
    pub fn is_later(self) -> bool {
        self != Mark::Plain
    }
}
