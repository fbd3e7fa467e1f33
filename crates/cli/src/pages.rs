//! The kinds of training whose runs are pages in which something moves, one row each: where `farad export --format html` and
//! the dashboard get them from.

use farad::run::Run;
use farad_rl::{controller, creatures, train};

use crate::error::{Error, Result};

/// The format.
pub const HTML: &str = "html";

/// A kind of training with a page.
struct PageKind {
    kind: &'static str,
    /// Whether `--seed` chooses among several.
    seeds: bool,
    /// Whether it is quick enough to be made anew for every checkpoint.
    live: bool,
    page: fn(&Run, Option<u64>) -> Result<(String, String)>,
}

const PAGES: [PageKind; 3] = [
    PageKind { kind: train::KIND, seeds: true, live: true, page: agent },
    PageKind {
        kind: controller::KIND,
        seeds: false,
        live: false,
        page: |run, _| Ok(controller::controller_page(run)?),
    },
    PageKind { kind: creatures::KIND, seeds: false, live: false, page: gallery },
];

fn row(run: &Run) -> Option<&'static PageKind> {
    PAGES.iter().find(|row| row.kind == run.kind())
}

/// The page of a run: what its file is called, and its text. None if runs of its kind have no such page.
pub fn page(run: &Run, seed: Option<u64>) -> Option<Result<(String, String)>> {
    let row = row(run)?;
    Some(match seed {
        Some(_) if !row.seeds => {
            Err(Error::ExportFlag { flag: "--seed", path: run.path().display().to_string() })
        }
        seed => (row.page)(run, seed),
    })
}

/// The page of the newest checkpoint, for the dashboard.
pub fn newest(run: &Run) -> Option<std::result::Result<String, String>> {
    let row = row(run).filter(|row| row.live)?;
    Some((row.page)(run, None).map(|(_, text)| text).map_err(|error| error.to_string()))
}

fn agent(run: &Run, seed: Option<u64>) -> Result<(String, String)> {
    let settings = train::Settings::of(run)?;
    let place = seed.map_or(Some(0), |seed| seed.checked_sub(settings.seed).map(|n| n as usize));
    match (place.filter(|&place| place < settings.seeds), seed) {
        (Some(place), _) => Ok(train::agent_page(run, place)?),
        (None, seed) => {
            let seeds = settings.all_seeds().map(|seed| seed.to_string()).collect::<Vec<_>>().join(", ");
            Err(Error::NoSeed { op: "export", seed: seed.unwrap_or(settings.seed), seeds })
        }
    }
}

fn gallery(run: &Run, _: Option<u64>) -> Result<(String, String)> {
    let (settings, archive, _) = creatures::evolved(run)?;
    Ok((creatures::GALLERY_FILE.into(), creatures::gallery(&settings, &archive)?))
}
