//! Who is answered: this machine, or whoever has the token.
//!
//! Without a token the server listens on this machine only, and other sites' pages are refused like in the dashboard
//! ([`HostGuard`]). With one, requests must carry it; the page and its files need none, since they say nothing. Start at
//! [`AccessRule::verdict`].

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use farad_web::HostGuard;

/// What decides who is answered.
#[derive(Clone, Debug)]
pub struct AccessRule {
    guard: HostGuard,
    token: Option<String>,
}

impl AccessRule {
    /// For a server on a port.
    pub fn new(port: u16, token: Option<String>) -> AccessRule {
        AccessRule { guard: HostGuard { op: "serve", port, posts: true }, token }
    }

    /// Whether a request is answered; if not, how and why.
    pub fn verdict(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), (StatusCode, String)> {
        let Some(token) = &self.token else {
            return self.guard.verdict(method, uri, headers);
        };
        self.guard.method(method)?;
        if method == Method::GET && is_page(uri.path()) {
            return Ok(());
        }
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match given.strip_prefix("Bearer ").is_some_and(|given| same(given.trim(), token)) {
            true => Ok(()),
            false => {
                let why = "serve: refused: a token is needed\nhelp: send the header `Authorization: Bearer TOKEN`\n";
                Err((StatusCode::UNAUTHORIZED, why.into()))
            }
        }
    }
}

/// Whether an address is of the page.
fn is_page(path: &str) -> bool {
    matches!(path, "/" | "/page.js" | "/style.css")
}

/// Whether a text can be a token in a header.
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether two texts are equal, in a time that tells nothing of where they differ.
fn same(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(access: &AccessRule, path: &str, fields: &[(&'static str, &'static str)]) -> Option<u16> {
        let mut headers = HeaderMap::new();
        fields.iter().for_each(|(name, value)| {
            headers.append(*name, value.parse().unwrap());
        });
        let verdict = access.verdict(&Method::POST, &path.parse().unwrap(), &headers);
        verdict.err().map(|(status, _)| status.as_u16())
    }

    #[test]
    fn without_a_token_only_this_machine_is_answered() {
        let access = AccessRule::new(8018, None);
        assert_eq!(status(&access, "/predict", &[("host", "127.0.0.1:8018")]), None);
        assert_eq!(status(&access, "/predict", &[("host", "evil.example:8018")]), Some(403));
        let foreign = [("host", "127.0.0.1:8018"), ("origin", "http://evil.example")];
        assert_eq!(status(&access, "/predict", &foreign), Some(403));
    }

    #[test]
    fn with_a_token_any_host_is_answered_that_has_it() {
        let access = AccessRule::new(8018, Some("secret".into()));
        let with = |token| status(&access, "/predict", &[("host", "box:8018"), ("authorization", token)]);
        assert_eq!(with("Bearer secret"), None);
        for wrong in ["Bearer secre", "Bearer secrets", "secret", "Bearer ", "Basic secret"] {
            assert_eq!(with(wrong), Some(401), "{wrong}");
        }
        assert_eq!(status(&access, "/predict", &[("host", "box:8018")]), Some(401));
        let page = access.verdict(&Method::GET, &"/".parse().unwrap(), &HeaderMap::new());
        assert!(page.is_ok(), "the page says nothing by itself");
        let model = access.verdict(&Method::GET, &"/model".parse().unwrap(), &HeaderMap::new());
        assert!(model.is_err());
    }

    #[test]
    fn tokens_fit_into_headers() {
        assert!(is_token("aB3-_.~") && !is_token("") && !is_token("two words") && !is_token("ü"));
    }
}
