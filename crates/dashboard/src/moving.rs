//! The newest policy of a run in motion, even while the run still trains: the page that `farad export --format html` makes of
//! its newest checkpoint. Start at [`RecentPages::get`].

use std::path::Path;
use std::sync::Arc;

use farad::run::Run;

use crate::recent::Recent;

/// Makes the page of a run's newest checkpoint, or says why there is none yet; `None` if its kind never has one.
pub type FindPage = fn(&Run) -> Option<Result<String, String>>;

/// The pages that were requested recently.
pub struct RecentPages {
    find: FindPage,
    recent: Recent<String>,
}

impl RecentPages {
    /// An empty cache.
    pub fn new(find: FindPage) -> RecentPages {
        RecentPages { find, recent: Recent::default() }
    }

    /// The newest page of a run's folder; `None` if it has none yet, or if its kind never has one.
    pub fn get(&self, folder: &Path) -> Option<Arc<String>> {
        self.recent.get(folder, || {
            let made = (self.find)(&Run::open(folder).ok()?)?;
            // Usually there is simply no checkpoint yet.
            let why = |error| tracing::debug!("dashboard: no page of {}: {error}", folder.display());
            made.map_err(why).ok()
        })
    }
}
