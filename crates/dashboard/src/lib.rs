//! A page on this machine that shows runs while they train: table, live curves, comparisons, automata that play.
//!
//! Everything comes from the folders that `farad::run` makes; nothing is ever written, no lock is taken, and training does
//! not know that it is watched. Invariant: only this machine is answered, and only with files of the folder that was
//! named. Start at [`Dashboard::open`]; what is answered is in `server.rs`, who is in `guard.rs`, the page in `page/`.
//!
//! ```no_run
//! use farad_dashboard::{Dashboard, Sight};
//! let sight = Sight { kinds: farad::train::Kinds(&[]), newest: |_| None };
//! let dashboard = Dashboard::open("runs".as_ref(), 0, sight)?;
//! println!("{}", dashboard.address());
//! dashboard.serve(&farad::run::Stop::new())?; // until somebody sets the flag
//! # Ok::<(), farad_dashboard::Error>(())
//! ```

mod assets;
mod circuits;
mod details;
mod error;
mod guard;
mod library;
mod rows;
#[cfg(test)]
mod scratch;
mod server;
mod state;
mod stream;
mod summary;
mod tail;
mod watcher;

pub use circuits::{Find, Newest};
pub use error::{Error, Result};
pub use library::is_run;
pub use state::{State, state};
pub use summary::problem;

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;

use farad::run::Stop;
use farad::train::Kinds;
use library::Library;
use server::{Shared, router};

/// What the page knows of kinds of training.
#[derive(Clone, Copy)]
pub struct Sight {
    /// The table of kinds.
    pub kinds: Kinds,
    /// Where the newest circuit of a run comes from.
    pub newest: Find,
}

/// A dashboard that has its address and answers once it is served.
pub struct Dashboard {
    sight: Sight,
    library: Library,
    listener: TcpListener,
    port: u16,
}

impl Dashboard {
    /// Takes a port of this machine for a folder of runs, or for one run. Port 0 is any that is free.
    pub fn open(folder: &Path, port: u16, sight: Sight) -> Result<Dashboard> {
        Dashboard::on(Library::open(folder)?, port, sight)
    }

    /// As [`Dashboard::open`], of a folder that may come to be there later.
    pub fn expect(folder: &Path, port: u16, sight: Sight) -> Result<Dashboard> {
        Dashboard::on(Library::expect(folder), port, sight)
    }

    fn on(library: Library, port: u16, sight: Sight) -> Result<Dashboard> {
        let fail = |source: std::io::Error| match source.kind() {
            ErrorKind::AddrInUse => Error::PortInUse { port },
            _ => Error::Listen { port, source },
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(fail)?;
        let port = listener.local_addr().map_err(fail)?.port();
        listener.set_nonblocking(true).map_err(fail)?;
        Ok(Dashboard { library, listener, port, sight })
    }

    /// Where the page is, for a browser on this machine.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Answers until asked to stop.
    pub fn serve(self, stop: &Stop) -> Result<()> {
        let start = |source| Error::Start { source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(start)?;
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(start)?;
            let router = router(Shared::new(self.library, self.port, self.sight));
            tokio::spawn(async move { axum::serve(listener, router).await });
            while !stop.is_set() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(())
        });
        // A look at a slow disk that is under way need not be waited for.
        runtime.shutdown_background();
        served
    }
}
