//! `farad serve` from end to end: what it answers and refuses, by plain sockets, and the page in a browser.

#[path = "../../circuit/tests/exports/browser.rs"]
mod browser;
mod folder;
#[allow(dead_code)]
#[path = "../../circuit/tests/exports/tool.rs"]
mod tool;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use browser::Browser;
use folder::Folder;
use serde_json::{Value, json};

/// A server in the background; killed if the test ends before it does.
struct Serving {
    child: Child,
    host: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with a table, a network that learned it, and a small language model: made once for all tests.
fn trained() -> &'static Folder {
    static FOLDER: OnceLock<Folder> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Folder::new("serve");
        let rows: String = (0..60)
            .map(|n| {
                let (length, width) = (n % 10, (n * 7) % 10);
                format!("{length},{width},{}\n", if length > width { "long" } else { "wide" })
            })
            .collect();
        write(&folder, "boxes.csv", &format!("length,width,kind\n{rows}"));
        write(&folder, "book.txt", &"the cat sat on the mat. the dog sat on the log.\n".repeat(60));
        folder.succeed("train csv --data boxes.csv --device cpu --seed 1 --epochs 40 --quiet --out boxes");
        folder.succeed("train mnist --data synthetic --model mlp --device cpu --seed 1 --epochs 1 --quiet --out digits");
        folder.succeed(
            "train lm --data book.txt --device cpu --seed 1 --updates 60 --quiet --out book --set width=32 --set layers=1 --set heads=2 --set context=32",
        );
        folder
    })
}

fn write(folder: &Folder, name: &str, text: &str) {
    std::fs::write(folder.path(name), text).unwrap();
}

fn serve(arguments: &str) -> Serving {
    let mut command = trained().command(&format!("serve {arguments} --port 0"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let host = line.trim().trim_start_matches("http://").trim_end_matches('/').to_string();
    assert!(host.starts_with("127.0.0.1:"), "{line}");
    Serving { child, host }
}

/// Sends a request and returns status and body.
fn ask(host: &str, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A body that is too large is refused before it was read.
    let _ = stream.write_all(body);
    let mut text = vec![];
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let status =
        text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{text}"));
    (status, text.split_once("\r\n\r\n").map(|(_, body)| body.to_string()).unwrap_or_default())
}

fn post(host: &str, path: &str, value: &Value) -> (u16, Value) {
    let (status, body) =
        ask(host, "POST", path, "Content-Type: application/json\r\n", value.to_string().as_bytes());
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}")))
}

fn message(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_table_is_answered_as_farad_predict_answers() {
    let server = serve("boxes");
    let rows = [[9, 1], [1, 9], [5, 2], [0, 3]];
    let samples: Vec<Value> =
        rows.iter().map(|[length, width]| json!({ "length": length, "width": width })).collect();
    let (status, answer) = post(&server.host, "/predict", &json!({ "samples": samples }));
    assert_eq!(status, 200, "{answer}");
    let lines: String = rows.iter().map(|[length, width]| format!("{length},{width}\n")).collect();
    write(trained(), "new.csv", &format!("length,width\n{lines}"));
    let printed = trained().succeed("predict boxes --data new.csv --json");
    for (line, said) in printed.lines().zip(answer["predictions"].as_array().unwrap()) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["class"], said["class"]);
        let likely = |value: &Value| value["probabilities"]["long"].as_f64().unwrap();
        assert!((likely(&line) - likely(said)).abs() < 1e-5, "{line} {said}");
    }
    assert_eq!(answer["predictions"][0]["class"], "long");
    let (_, one) = post(&server.host, "/predict?top=1", &json!({ "samples": [[9, 1]] }));
    assert_eq!(one["predictions"][0]["probabilities"].as_object().unwrap().len(), 1);
    let (_, model) = ask(&server.host, "GET", "/model", "", b"");
    assert!(model.contains("\"columns\":[\"length\",\"width\"]"), "{model}");
    assert_eq!(ask(&server.host, "GET", "/health", "", b"").0, 200);
}

#[test]
fn wrong_requests_get_an_error_that_says_what_is_wrong() {
    let server = serve("boxes --most-megabytes 1");
    let host = &server.host;
    for (path, body, status, words) in [
        ("/predict", json!({ "samples": [{ "length": 1 }] }), 400, "samples[0]: there is no `width`"),
        ("/predict", json!({ "rows": [] }), 400, "no list `samples`"),
        ("/predict", json!({ "samples": vec![[1, 2]; 5000] }), 413, "too many samples: 5000 vs 4096"),
        ("/predict?top=0", json!({ "samples": [[1, 2]] }), 400, "top takes a whole number"),
        ("/v1/chat/completions", json!({ "messages": [] }), 404, "no language model"),
        ("/nowhere", json!({}), 404, "there is nothing here"),
    ] {
        let (got, answer) = post(host, path, &body);
        assert!(got == status && message(&answer).contains(words), "{path}: {got} {answer}");
    }
    let large = vec![b' '; 2 << 20];
    let (status, body) = ask(host, "POST", "/predict", "Content-Type: application/json\r\n", &large);
    assert!(status == 413 && body.contains("more than 1048576 bytes"), "{status} {body}");
    let (status, body) = ask(host, "POST", "/predict", "Content-Type: image/png\r\n", b"\x89PNG");
    assert!(status == 400 && body.contains("the model takes no files"), "{status} {body}");
    let (status, body) = ask(host, "POST", "/predict", "Content-Type: text/odd\r\n", b"x");
    assert!(status == 400 && body.contains("unknown content type"), "{status} {body}");
    assert_eq!(ask(host, "DELETE", "/predict", "", b"").0, 405);
    assert_eq!(ask(host, "POST", "/predict", "Origin: http://evil.example\r\n", b"{}").0, 403);
    assert_eq!(post(host, "/predict", &json!({ "samples": [[1, 2]] })).0, 200, "it still answers");
}

#[test]
fn pictures_come_as_a_body_or_in_a_form() {
    let server = serve("digits");
    // A PNG of 2 × 2 gray pixels, which is resized.
    let png: &[u8] = include_bytes!("data/pixels.png");
    let (status, body) = ask(&server.host, "POST", "/predict", "Content-Type: image/png\r\n", png);
    assert_eq!(status, 200, "{body}");
    let alone: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(alone["predictions"][0]["probabilities"].as_object().unwrap().len(), 10);
    let part = |name: &str| {
        let head = format!("--x\r\nContent-Disposition: form-data; name=\"p\"; filename=\"{name}\"\r\n\r\n");
        [head.as_bytes(), png, b"\r\n"].concat()
    };
    let form = [part("a.png"), part("b.png"), b"--x--\r\n".to_vec()].concat();
    let kind = "Content-Type: multipart/form-data; boundary=x\r\n";
    let (status, body) = ask(&server.host, "POST", "/predict", kind, &form);
    assert_eq!(status, 200, "{body}");
    let both: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(both["predictions"].as_array().unwrap().len(), 2);
    assert_eq!(both["predictions"][0]["class"], alone["predictions"][0]["class"]);
    let broken = [part("a.png"), b"--x".to_vec()].concat();
    assert_eq!(ask(&server.host, "POST", "/predict", kind, &broken).0, 400);
    let (status, body) = ask(&server.host, "POST", "/predict", "Content-Type: image/png\r\n", &png[..40]);
    assert!(status == 400 && body.contains("damaged"), "{status} {body}");
}

#[test]
fn two_hundred_requests_at_once_are_all_answered_each_with_its_own() {
    let server = serve("boxes");
    let host = server.host.clone();
    let single: Vec<Value> = (0..10)
        .map(|n| {
            post(&host, "/predict", &json!({ "samples": [[n, 5]] })).1["predictions"][0]["class"].clone()
        })
        .collect();
    let threads: Vec<_> = (0..200)
        .map(|n| {
            let (host, wanted) = (host.clone(), single[n % 10].clone());
            std::thread::spawn(move || {
                let (status, answer) = post(&host, "/predict", &json!({ "samples": [[n % 10, 5]] }));
                assert_eq!((status, &answer["predictions"][0]["class"]), (200, &wanted), "{n}");
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_language_model_speaks_the_form_of_the_openai_api() {
    let server = serve("book");
    let ask_for = json!({ "messages": [{ "role": "user", "content": "the cat" }], "max_tokens": 20, "temperature": 0, "seed": 4 });
    let (status, whole) = post(&server.host, "/v1/chat/completions", &ask_for);
    assert_eq!(status, 200, "{whole}");
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap().to_string();
    assert_eq!(whole["choices"][0]["finish_reason"], "length");
    assert_eq!(whole["usage"]["completion_tokens"], 20);
    let mut streamed = ask_for.clone();
    streamed["stream"] = true.into();
    let (status, body) = ask(
        &server.host,
        "POST",
        "/v1/chat/completions",
        "Content-Type: application/json\r\n",
        streamed.to_string().as_bytes(),
    );
    assert_eq!(status, 200);
    let pieces: String = body
        .lines()
        .filter_map(|line| line.strip_prefix("data: {"))
        .map(|line| serde_json::from_str::<Value>(&format!("{{{line}")).unwrap())
        .filter_map(|part| part["choices"][0]["delta"]["content"].as_str().map(str::to_string))
        .collect();
    assert!(body.contains("data: [DONE]"), "{body}");
    assert_eq!(pieces, text);
    // Several at once do not change each other.
    let threads: Vec<_> = (0..12)
        .map(|_| {
            let (host, ask_for, text) = (server.host.clone(), ask_for.clone(), text.clone());
            std::thread::spawn(move || {
                let (_, answer) = post(&host, "/v1/chat/completions", &ask_for);
                assert_eq!(answer["choices"][0]["message"]["content"], text);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let third: String = text.chars().skip(2).take(1).collect();
    let stop = json!({ "prompt": "the cat", "max_tokens": 20, "temperature": 0, "stop": third });
    let (_, cut) = post(&server.host, "/v1/completions", &stop);
    let cut_text = cut["choices"][0]["text"].as_str().unwrap();
    assert!(!cut_text.contains(&third) && text.starts_with(cut_text), "{cut}");
    assert_eq!(cut["choices"][0]["finish_reason"], "stop");
    let (status, answer) = post(&server.host, "/predict", &json!({ "samples": [] }));
    assert!(status == 404 && message(&answer).contains("language model"));
    let (_, models) = ask(&server.host, "GET", "/v1/models", "", b"");
    assert!(models.contains("\"id\":\"book\""), "{models}");
}

#[test]
fn a_token_is_asked_for_and_needed_beyond_this_machine() {
    let folder = trained();
    let refused = folder.fail("serve boxes --host 0.0.0.0 --port 0");
    assert!(refused.contains("there is no token") && refused.contains("help: "), "{refused}");
    let server = serve("boxes --token secret");
    let body = json!({ "samples": [[1, 2]] }).to_string();
    let kind = "Content-Type: application/json\r\n";
    assert_eq!(ask(&server.host, "POST", "/predict", kind, body.as_bytes()).0, 401);
    let with = format!("{kind}Authorization: Bearer secret\r\n");
    assert_eq!(ask(&server.host, "POST", "/predict", &with, body.as_bytes()).0, 200);
    assert_eq!(ask(&server.host, "GET", "/", "", b"").0, 200, "the page asks for the token");
}

#[test]
fn ctrl_c_ends_it() {
    let mut server = serve("boxes");
    let process = server.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    let begin = Instant::now();
    while server.child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed().as_secs() < 30, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(server.child.wait().unwrap().success());
}

/// Texts whose first words are out are told to their end, also when the server is asked to end meanwhile.
#[cfg(unix)]
#[test]
fn what_was_accepted_is_answered_before_it_ends() {
    let mut server = serve("book");
    let texts: Vec<TcpStream> = (0..24)
        .map(|n| {
            let body = json!({ "prompt": "the cat", "max_tokens": 24, "seed": n, "stream": true }).to_string();
            let head = format!(
                "POST /v1/completions HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                server.host,
                body.len()
            );
            let mut stream = TcpStream::connect(&server.host).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            stream.write_all((head + &body).as_bytes()).unwrap();
            stream
        })
        .collect();
    for stream in &texts {
        assert_eq!(stream.peek(&mut [0]).unwrap(), 1, "an answer begins");
    }
    let process = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    for mut stream in texts {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200") && text.contains("data: [DONE]"), "{text}");
        assert!(text.contains("\"finish_reason\":\"length\""), "{text}");
    }
    assert!(server.child.wait().unwrap().success());
    assert!(TcpStream::connect(&server.host).is_err(), "nobody listens any more");
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = trained();
    assert!(folder.fail("serve nowhere").contains("no such folder"));
    write(folder, "odd.onnx", "not a model");
    assert!(folder.fail("serve odd.onnx").contains("onnx: "));
}

#[test]
fn the_page_predicts_in_a_browser() {
    if !tool::have("chromium") {
        return;
    }
    let (boxes, book) = (serve("boxes"), serve("book"));
    let mut browser = Browser::start("chromium");
    browser.visit(&format!("http://{}/", boxes.host), "", (1000, 800));
    browser.wait_for("document.querySelectorAll('form input').length === 2");
    assert_eq!(browser.evaluate("document.getElementById('token').offsetHeight"), 0, "no token is needed");
    browser.evaluate(
        "document.querySelectorAll('form input').forEach((input, n) => input.value = n ? 1 : 9); \
         document.querySelector('form button').click()",
    );
    browser.wait_for("document.querySelector('#answer td')?.textContent === 'long'");
    browser.visit(&format!("http://{}/", book.host), "", (390, 844));
    browser.wait_for("document.querySelector('textarea') !== null");
    browser.evaluate(
        "document.querySelector('textarea').value = 'the cat'; document.querySelector('button').click()",
    );
    browser.wait_for("document.querySelector('.said')?.textContent.length > 40");
    assert_eq!(
        browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
        true,
        "it fits a phone"
    );
}
