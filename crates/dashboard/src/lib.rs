//! A local web page that shows runs while they train: a table, live curves, comparisons, running automata.
//!
//! Everything comes from the folders that `farad::run` makes. Only notes and tags are ever written (`notes`), no lock
//! is taken, and training does not notice that it is watched. `tail` reads what was appended to a file, and `summary` makes a
//! row of the table from it. `watcher` keeps all rows for all pages, and polls twice per second while a page is
//! open. `stream` sends changes as server-sent events. `state` determines from outside whether a run is
//! training. `circuits` shows the newest hard circuit of a checkpoint while a run trains: the page of the HTML
//! export, in a frame without an origin. `moving` does the same for the newest policy of agents. `weights` makes histograms of a
//! checkpoint, `load` reads how busy the machine is, and `dark` paints drawings for dark pages. Which kinds of training have circuits,
//! and what a run learns, comes
//! from the command's tables ([`KindsShown`]).
//!
//! `farad-web` decides which requests are answered (by Host, Origin and the browser's fetch metadata) and adds the
//! headers. `library` decides which files are served: it checks names as text first, then resolves links, and
//! allows only known extensions. The page (`page/`) is plain files without a framework. Names and reports reach
//! it as text only, and its policy forbids inline scripts and requests to other hosts. `server` has the routes.
//!
//! Invariant: only requests from this machine are answered, and only with files of the given folder. Start at
//! [`Dashboard::open`].
//!
//! ```no_run
//! use farad_dashboard::{Dashboard, KindsShown};
//! let sight = KindsShown { kinds: farad::train::Kinds(&[]), newest: |_| None, moving: |_| None };
//! let dashboard = Dashboard::open("runs".as_ref(), 0, sight)?;
//! println!("{}", dashboard.address());
//! dashboard.serve(&farad::run::Stop::new())?; // until somebody sets the flag
//! # Ok::<(), farad_dashboard::Error>(())
//! ```

mod assets;
mod circuits;
mod dark;
mod details;
mod error;
mod group;
mod library;
mod load;
mod moving;
mod notes;
mod recent;
mod rows;
#[cfg(test)]
mod scratch;
mod server;
mod state;
mod stream;
mod summary;
mod tail;
mod watcher;
mod weights;

pub use circuits::{Find, Newest};
pub use error::{Error, Result};
pub use library::is_run;
pub use moving::FindPage;
pub use state::{RunStatus, state};
pub use summary::problem;

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;

use farad::run::Stop;
use farad::train::Kinds;
use farad_web::PatientListener;
use library::RunLibrary;
use server::{ServerState, router};

/// How long a connection may be silent; streams say something every few seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the dashboard knows about kinds of training.
#[derive(Clone, Copy)]
pub struct KindsShown {
    /// The table of kinds.
    pub kinds: Kinds,
    /// Finds the newest circuit of a run.
    pub newest: Find,
    /// Makes the page in which the newest policy of a run moves.
    pub moving: FindPage,
}

/// A dashboard that is bound to its address and answers once it is served.
pub struct Dashboard {
    sight: KindsShown,
    library: RunLibrary,
    listener: TcpListener,
    port: u16,
}

impl Dashboard {
    /// Binds a local port for a folder of runs, or for one run. Port 0 means any free port.
    pub fn open(folder: &Path, port: u16, sight: KindsShown) -> Result<Dashboard> {
        Dashboard::on(RunLibrary::open(folder)?, port, sight)
    }

    /// As [`Dashboard::open`], for a folder that may be created later.
    pub fn expect(folder: &Path, port: u16, sight: KindsShown) -> Result<Dashboard> {
        Dashboard::on(RunLibrary::expect(folder), port, sight)
    }

    fn on(library: RunLibrary, port: u16, sight: KindsShown) -> Result<Dashboard> {
        let fail = |source: std::io::Error| match source.kind() {
            ErrorKind::AddrInUse => Error::PortInUse { port },
            _ => Error::Listen { port, source },
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(fail)?;
        let port = listener.local_addr().map_err(fail)?.port();
        listener.set_nonblocking(true).map_err(fail)?;
        Ok(Dashboard { library, listener, port, sight })
    }

    /// The address of the page, for a browser on this machine.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Answers requests until asked to stop.
    pub fn serve(self, stop: &Stop) -> Result<()> {
        let start = |source| Error::Start { source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(start)?;
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(start)?;
            let listener = PatientListener::new(listener, PATIENCE);
            let router = router(ServerState::new(self.library, self.port, self.sight));
            tokio::spawn(async move { axum::serve(listener, router).await });
            while !stop.is_set() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(())
        });
        // A poll of a slow disk that is in progress need not be waited for.
        runtime.shutdown_background();
        served
    }
}
