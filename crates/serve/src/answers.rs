//! The form of answers: JSON, and errors as `{"error": {"message": …, "type": …}}`, which clients of the OpenAI API know.

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Why a request gets no answer.
#[derive(Debug)]
pub struct RequestRefusal {
    status: StatusCode,
    message: String,
}

impl RequestRefusal {
    /// The request is wrong.
    pub fn wrong(message: impl Into<String>) -> RequestRefusal {
        RequestRefusal { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    /// It is too large.
    pub fn large(message: impl Into<String>) -> RequestRefusal {
        RequestRefusal { status: StatusCode::PAYLOAD_TOO_LARGE, message: message.into() }
    }

    /// There are too many.
    pub fn busy(message: impl Into<String>) -> RequestRefusal {
        RequestRefusal { status: StatusCode::SERVICE_UNAVAILABLE, message: message.into() }
    }

    /// It took too long.
    pub fn late(message: impl Into<String>) -> RequestRefusal {
        RequestRefusal { status: StatusCode::GATEWAY_TIMEOUT, message: message.into() }
    }

    /// There is no such address, or not for this model.
    pub fn missing(message: impl Into<String>) -> RequestRefusal {
        RequestRefusal { status: StatusCode::NOT_FOUND, message: message.into() }
    }

    /// The server's own fault.
    pub fn failed(message: impl Into<String>) -> RequestRefusal {
        RequestRefusal { status: StatusCode::INTERNAL_SERVER_ERROR, message: message.into() }
    }

    /// As others have decided it.
    pub fn with(status: StatusCode, message: impl Into<String>) -> RequestRefusal {
        RequestRefusal { status, message: message.into() }
    }

    /// As JSON.
    pub fn object(&self) -> Value {
        let kind = if self.status.is_server_error() { "server_error" } else { "invalid_request_error" };
        json!({ "error": { "message": self.message.trim_end(), "type": kind, "code": self.status.as_u16() } })
    }
}

impl IntoResponse for RequestRefusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, json_text(&self.object())).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, axum::http::HeaderValue::from_static("1"));
        }
        response
    }
}

/// JSON as an answer.
pub fn json_text(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], format!("{value}\n")).into_response()
}
