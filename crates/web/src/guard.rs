//! Decides which requests are answered: those of browsers on this machine that opened this very address, and
//! not those of other sites.
//!
//! Another site may make a browser send requests here, or point its own name at 127.0.0.1 (DNS rebinding). So
//! the `Host` must be this machine and this port, and an `Origin` must be the same. A request that the browser
//! marks as cross-site is rejected, unless the user followed a link. Invariant: every answer has the headers in
//! [`HEADERS`]. Start at [`HostGuard::verdict`].

use axum::http::header::{HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

/// The page itself may load its own files, talk to this server, and show pages of circuits.
pub const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page of a circuit contains its scripts and may do nothing else; it has no origin, so it cannot reach
/// this server.
pub const CIRCUIT_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts";

/// A file of a run is displayed and never executed. Drawings may contain pixel images.
pub const FILE_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox";

/// Every answer has these.
pub const HEADERS: [(&str, &str); 5] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// Adds the headers that every answer has.
pub fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    let policy = HeaderName::from_static("content-security-policy");
    headers.entry(policy).or_insert(HeaderValue::from_static(FILE_POLICY));
}

/// Who is answered by a server that listens on this machine only.
#[derive(Clone, Copy, Debug)]
pub struct HostGuard {
    /// What messages begin with: the command.
    pub op: &'static str,
    /// The server's port.
    pub port: u16,
    /// Whether requests may be sent with data (`POST`).
    pub posts: bool,
}

impl HostGuard {
    /// Whether a request is answered; if not, how and why.
    pub fn verdict(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), (StatusCode, String)> {
        self.method(method)?;
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
        let named = uri.authority().is_none_or(|authority| is_ours(authority.as_str(), self.port));
        if !is_ours(host, self.port) || hosts.next().is_some() || !named {
            return Err(self.refused("this address belongs to another host"));
        }
        let same = |origin: &HeaderValue| {
            let host = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            host.is_some_and(|host| is_ours(host, self.port))
        };
        let reads = [Method::GET, Method::HEAD].contains(method);
        if !headers.get_all(ORIGIN).iter().all(same) || is_foreign(headers, reads) {
            return Err(self.refused("the request comes from another page"));
        }
        Ok(())
    }

    /// Whether a method is answered.
    pub fn method(&self, method: &Method) -> Result<(), (StatusCode, String)> {
        let known = [Method::GET, Method::HEAD].contains(method) || (self.posts && method == Method::POST);
        let all = if self.posts { "GET, HEAD and POST" } else { "GET and HEAD" };
        let say = || (StatusCode::METHOD_NOT_ALLOWED, format!("{}: only {all} are answered\n", self.op));
        if known { Ok(()) } else { Err(say()) }
    }

    fn refused(&self, why: &str) -> (StatusCode, String) {
        (StatusCode::FORBIDDEN, format!("{}: refused: {why}\n", self.op))
    }
}

/// Whether a host is this machine, under a name that no one else can have, at this port.
fn is_ours(host: &str, port: u16) -> bool {
    let name = host.strip_suffix(&format!(":{port}"));
    // Browsers omit the default port.
    let name = name.or((port == 80).then_some(host));
    name.is_some_and(|name| {
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|own| own.eq_ignore_ascii_case(name))
    })
}

/// Whether the browser says that the request comes from another site, other than by following a link to read.
fn is_foreign(headers: &HeaderMap, reads: bool) -> bool {
    let says = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let link =
        reads && says("sec-fetch-mode") == Some("navigate") && says("sec-fetch-dest") == Some("document");
    matches!(says("sec-fetch-site"), Some("cross-site" | "same-site")) && !link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, uri: &str, fields: &[(&'static str, &'static str)]) -> Option<u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let guard = HostGuard { op: "test", port: 8017, posts: false };
        guard.verdict(&method, &uri.parse().unwrap(), &headers).err().map(|(status, _)| status.as_u16())
    }

    #[test]
    fn hosts_of_this_machine_and_port_are_answered() {
        for host in ["127.0.0.1:8017", "localhost:8017", "LocalHost:8017", "[::1]:8017"] {
            assert_eq!(asked("GET", "/", &[("host", host)]), None, "{host}");
            assert_eq!(asked("HEAD", "/events", &[("host", host)]), None, "{host}");
        }
        assert!(is_ours("localhost", 80) && !is_ours("localhost", 8017));
    }

    #[test]
    fn other_hosts_are_refused() {
        let hosts = [
            "evil.example:8017",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:80170",
            "localhost:8017.evil.example",
            "evil.example",
            "localhost.evil.example:8017",
            "127.0.0.1.evil.example:8017",
            "127.0.0.2:8017",
            "0.0.0.0:8017",
            "user@127.0.0.1:8017",
            "127.0.0.1:8017:8017",
            " 127.0.0.1:8017",
            "[::]:8017",
            "::1:8017",
            "localhost.:8017",
            "",
        ];
        for host in hosts {
            assert_eq!(asked("GET", "/", &[("host", host)]), Some(403), "{host}");
        }
        assert_eq!(asked("GET", "/", &[]), Some(403), "no host");
        assert_eq!(asked("GET", "/", &[("host", "127.0.0.1:8017"), ("host", "evil.example")]), Some(403));
        assert_eq!(asked("GET", "http://evil.example/", &[("host", "127.0.0.1:8017")]), Some(403));
        assert_eq!(asked("GET", "http://127.0.0.1:8017/", &[("host", "127.0.0.1:8017")]), None);
    }

    #[test]
    fn pages_of_others_are_refused() {
        let own = ("host", "127.0.0.1:8017");
        for origin in [
            "null",
            "https://127.0.0.1:8017",
            "http://evil.example",
            "http://127.0.0.1:9000",
            "127.0.0.1:8017",
            "",
        ] {
            assert_eq!(asked("GET", "/events", &[own, ("origin", origin)]), Some(403), "{origin}");
        }
        assert_eq!(asked("GET", "/events", &[own, ("origin", "http://127.0.0.1:8017")]), None);
        assert_eq!(
            asked("GET", "/events", &[own, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]),
            Some(403)
        );
        let link = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        assert_eq!(asked("GET", "/", &[own, ("sec-fetch-site", "cross-site"), link[0], link[1]]), None);
        let frame = ("sec-fetch-dest", "iframe");
        assert_eq!(asked("GET", "/", &[own, ("sec-fetch-site", "cross-site"), link[0], frame]), Some(403));
        assert_eq!(asked("GET", "/", &[own, ("sec-fetch-site", "none"), link[0], link[1]]), None);
    }

    #[test]
    fn nothing_can_be_changed() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "ODD"] {
            assert_eq!(asked(method, "/", &[("host", "127.0.0.1:8017")]), Some(405), "{method}");
        }
        let serving = HostGuard { op: "test", port: 8017, posts: true };
        assert!(serving.method(&Method::POST).is_ok() && serving.method(&Method::PUT).is_err());
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "127.0.0.1:8017"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        assert!(serving.verdict(&Method::GET, &"/".parse().unwrap(), &headers).is_ok());
        assert!(
            serving.verdict(&Method::POST, &"/".parse().unwrap(), &headers).is_err(),
            "a form of another site"
        );
    }

    #[test]
    fn a_policy_that_was_chosen_stays() {
        let mut headers = HeaderMap::new();
        headers.insert("content-security-policy", HeaderValue::from_static(PAGE_POLICY));
        protect(&mut headers);
        assert_eq!(headers["content-security-policy"], PAGE_POLICY);
        assert_eq!(headers["x-content-type-options"], "nosniff");
        let mut headers = HeaderMap::new();
        protect(&mut headers);
        assert_eq!(headers["content-security-policy"], FILE_POLICY);
    }
}
