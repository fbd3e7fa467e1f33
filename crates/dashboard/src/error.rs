//! Errors of a dashboard.

use std::path::PathBuf;

/// Why no dashboard could be served.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum Error {
    #[error(
        "dashboard: {}: {}\nhelp: name the folder that `farad train` put its runs into, or one run of it",
        if path.exists() { "not a folder" } else { "no such folder" },
        path.display()
    )]
    NoFolder { path: PathBuf },
    #[error(
        "dashboard: the port is in use: 127.0.0.1:{port}\nhelp: choose another with --port N, or any that is free with --port 0"
    )]
    PortInUse { port: u16 },
    #[error(
        "dashboard: cannot listen on 127.0.0.1:{port}: {source}\nhelp: choose another port with --port N"
    )]
    Listen { port: u16, source: std::io::Error },
    #[error("dashboard: the server could not start: {source}")]
    Start { source: std::io::Error },
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_to_do() {
        let text = Error::PortInUse { port: 8017 }.to_string();
        assert!(
            text.starts_with("dashboard: the port is in use: 127.0.0.1:8017\nhelp: ")
                && text.contains("--port 0")
        );
        let text = Error::NoFolder { path: "a/b".into() }.to_string();
        assert!(text.starts_with("dashboard: no such folder: a/b\nhelp: "));
    }
}
