//! What can go wrong with a server before it answers, in the house form. What can be wrong with a request is in `answers`.

use std::net::{IpAddr, SocketAddr};

/// Why nothing could be served.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum Error {
    #[error(transparent)]
    Farad(#[from] farad::Error),
    #[error(transparent)]
    Language(#[from] farad_lm::Error),
    #[error(
        "serve: {host} can be reached from other machines, and there is no token\nhelp: give one with --token TEXT or FARAD_TOKEN, or listen on 127.0.0.1"
    )]
    NoToken { host: IpAddr },
    #[error(
        "serve: the token is empty or has characters that a header cannot have\nhelp: use letters and digits"
    )]
    OddToken,
    #[error(
        "serve: the port is in use: {address}\nhelp: choose another with --port N, or any that is free with --port 0"
    )]
    PortInUse { address: SocketAddr },
    #[error("serve: cannot listen on {address}: {source}\nhelp: choose another with --host and --port")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("serve: the server could not start: {source}")]
    Start { source: std::io::Error },
    #[error("{text}")]
    Model { text: String },
    #[error(
        "serve: the model could not be opened: it panicked\nhelp: the lines above say where; please report it"
    )]
    Panicked,
}

/// A result with [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;
