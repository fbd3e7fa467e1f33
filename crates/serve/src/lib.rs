//! A server for what was trained: predictions of networks and circuits, and text of language models.
//!
//! One thread owns the model. Requests wait in a queue before it; those that wait together are answered as one batch
//! (`predictions`), or take turns token by token (`text`). `routes` has the addresses, `samples` reads what is sent,
//! `chat` speaks the form of the OpenAI API, `access` decides who is answered, `answers` has the form of answers and errors, and
//! `page/` is a page to try it.
//!
//! Invariants: nothing grows with the number of requests, since the queue, the bodies and the times are bounded ([`ServeLimits`]), and a
//! client that says or takes nothing is let go;
//! and only this machine is answered unless there is a token. Start at [`Server::open`].
//!
//! ```no_run
//! use farad_serve::{Listening, Served, Server};
//! let digits = Served::samples("digits", || Ok(Box::new(farad::load_run("runs/mnist-1")?)));
//! let server = Server::open(Listening::default(), digits)?;
//! println!("{}", server.address());
//! server.serve(&farad::run::Stop::new())?; // until somebody sets the flag
//! # Ok::<(), farad_serve::Error>(())
//! ```

mod access;
mod answers;
mod chat;
mod error;
mod limits;
mod model;
mod pieces;
mod predictions;
mod routes;
mod samples;
mod text;

pub use error::{Error, Result};
pub use limits::ServeLimits;
pub use model::Served;

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use farad::run::Stop;
use farad_web::PatientListener;
use model::ModelThread;
use routes::{ServingState, router};

/// How often the flag is looked at that ends the server.
const LOOK: Duration = Duration::from_millis(50);
/// How long a connection may be silent beside the time that an answer may take.
const SILENCE: Duration = Duration::from_secs(10);
/// How long answers that are under way may still take when the server ends.
const GRACE: Duration = Duration::from_secs(10);

/// Where and how to listen.
#[derive(Clone, Debug)]
pub struct Listening {
    /// The address to listen on; anything but this machine's own needs a token.
    pub host: IpAddr,
    /// The port; 0 is any that is free.
    pub port: u16,
    /// What requests must carry: `Authorization: Bearer TOKEN`.
    pub token: Option<String>,
    /// How much and how long.
    pub limits: ServeLimits,
}

impl Default for Listening {
    fn default() -> Listening {
        Listening { host: Ipv4Addr::LOCALHOST.into(), port: 0, token: None, limits: ServeLimits::default() }
    }
}

/// A server that has its address and its model, and answers once it is served.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    options: Listening,
    model: ModelThread,
}

impl Server {
    /// Takes a port, opens the model on a thread of its own, and lets it compute once.
    pub fn open(options: Listening, served: Served) -> Result<Server> {
        let asked = SocketAddr::new(options.host, options.port);
        if !options.host.is_loopback() && options.token.is_none() {
            return Err(Error::NoToken { host: options.host });
        }
        if options.token.as_deref().is_some_and(|token| !access::is_token(token)) {
            return Err(Error::OddToken);
        }
        let fail = |source: std::io::Error| match source.kind() {
            ErrorKind::AddrInUse => Error::PortInUse { address: asked },
            _ => Error::Listen { address: asked, source },
        };
        let listener = TcpListener::bind(asked).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let model = ModelThread::start(served, options.limits)?;
        Ok(Server { listener, address, options, model })
    }

    /// Where it is.
    pub fn address(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// What is served, in words.
    pub fn words(&self) -> String {
        self.model.facts().words()
    }

    /// Answers until asked to stop. What was accepted until then is still answered.
    pub fn serve(self, stop: &Stop) -> Result<()> {
        let start = |source| Error::Start { source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(start)?;
        let Server { listener, address, options, model } = self;
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(start)?;
            // An answer may take its time, and the connection is silent until it is there.
            let listener = PatientListener::new(listener, options.limits.time + SILENCE);
            let router = router(ServingState::new(&model, &options, address));
            let (asked, served) = (stop.clone(), stop.clone());
            let stopped = async move {
                while !asked.is_set() {
                    tokio::time::sleep(LOOK).await;
                }
            };
            let answers =
                tokio::spawn(
                    async move { axum::serve(listener, router).with_graceful_shutdown(stopped).await },
                );
            while !served.is_set() {
                tokio::time::sleep(LOOK).await;
            }
            let _ = tokio::time::timeout(GRACE, answers).await;
            Ok(())
        });
        runtime.shutdown_background();
        model.end();
        served
    }
}
