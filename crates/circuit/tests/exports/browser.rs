//! A headless browser, controlled through pipes: opens pages, runs scripts in them, moves the mouse.
//!
//! Chromium reads commands from file descriptor 3 and writes answers to file descriptor 4, each a JSON text
//! that ends with a zero byte. A shell opens both as named pipes, so only files are needed here. The tests of
//! the command use this file too.
#![allow(dead_code)] // both test suites use a part of it

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

/// Software rendering and computing, so that it works on every machine. A container may not offer a sandbox.
const FLAGS: &str = "--headless --no-sandbox --disable-dev-shm-usage --no-first-run --disable-extensions \
    --disable-background-networking --disable-sync --disable-component-update --mute-audio --hide-scrollbars \
    --enable-unsafe-webgpu --enable-features=Vulkan --use-vulkan=swiftshader --use-webgpu-adapter=swiftshader \
    --remote-debugging-pipe";

pub struct Browser {
    child: Child,
    commands: File,
    answers: BufReader<File>,
    session: Option<String>,
    count: u64,
    folder: PathBuf,
    /// The prefix of the addresses that pages may request.
    own: String,
    /// What pages complained about in the console since somebody asked.
    complaints: Vec<String>,
}

impl Browser {
    /// Starts the browser with a fresh profile.
    pub fn start(program: &str) -> Browser {
        // Several tests of a program may run one at the same time.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("farad-browser-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let line = format!(
            "mkfifo commands answers && exec {program} {FLAGS} --user-data-dir=profile about:blank 3<commands 4>answers"
        );
        let child = Command::new("sh")
            .args(["-c", &line])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let wait = |name: &str| {
            let path = folder.join(name);
            while !path.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            path
        };
        // Opening a pipe waits for the other side, in the shell's order.
        let commands = File::options().write(true).open(wait("commands")).unwrap();
        let answers = BufReader::new(File::open(wait("answers")).unwrap());
        let mut browser = Browser {
            child,
            commands,
            answers,
            session: None,
            count: 0,
            folder,
            own: "file://".into(),
            complaints: vec![],
        };
        let targets = browser.call("Target.getTargets", json!({}));
        let page = targets["targetInfos"].as_array().unwrap().iter().find(|target| target["type"] == "page");
        let target = page.expect("about:blank")["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_string());
        browser.call("Page.enable", json!({}));
        browser.call("Network.enable", json!({}));
        browser.call("Runtime.enable", json!({}));
        browser.call("Log.enable", json!({}));
        browser
    }

    /// Calls a method of the browser, which must succeed, and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.answer(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The answer of a method of the browser, or its error.
    fn answer(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.count += 1;
        let mut command = json!({ "id": self.count, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        self.commands.write_all((command.to_string() + "\0").as_bytes()).unwrap();
        loop {
            let message = self.message();
            // A frame that goes away does not answer; the browser reports that instead.
            let gone = message["method"] == "Target.detachedFromTarget"
                && message["params"]["sessionId"].as_str() == self.session.as_deref();
            if gone {
                return Err(message);
            }
            if message["id"] == self.count {
                return match message["error"].is_null() {
                    true => Ok(message["result"].clone()),
                    false => Err(message["error"].clone()),
                };
            }
        }
    }

    fn message(&mut self) -> Value {
        let mut bytes = vec![];
        self.answers.read_until(0, &mut bytes).unwrap();
        assert!(!bytes.is_empty(), "the browser went away");
        let message: Value = serde_json::from_slice(&bytes[..bytes.len() - 1]).unwrap();
        if message["method"] == "Network.requestWillBeSent" {
            let url = message["params"]["request"]["url"].as_str().unwrap();
            let own = [self.own.as_str(), "about:", "data:"].iter().any(|start| url.starts_with(start));
            assert!(own, "the page asked for {url}");
        }
        self.listen(&message);
        message
    }

    /// The errors in the console since the last call.
    pub fn complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }

    /// Keeps errors and warnings that a page caused.
    fn listen(&mut self, message: &Value) {
        let parameters = &message["params"];
        let complaint = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => Some(&parameters["exceptionDetails"]),
            Some("Runtime.consoleAPICalled") if parameters["type"] == "error" => Some(&parameters["args"]),
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => Some(&parameters["entry"]),
            _ => None,
        };
        self.complaints.extend(complaint.map(Value::to_string));
    }

    /// Opens a file with a hash, in a window of this size, and waits until its circuit is ready.
    pub fn open(&mut self, path: &Path, hash: &str, size: (u32, u32)) {
        self.visit("file://", &format!("{}#{hash}", path.display()), size);
        self.evaluate("farad.ready");
    }

    /// Opens an address, in a window of this size, and waits until its scripts have run. From now on, pages may
    /// request only addresses that start with `own`.
    pub fn visit(&mut self, own: &str, rest: &str, size: (u32, u32)) {
        self.load(own, rest, size);
        self.wait_for("typeof farad === 'object'");
    }

    /// The size of the window from now on.
    pub fn resize(&mut self, (width, height): (u32, u32)) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Opens an address as `visit` does, and waits until everything that it names is there.
    pub fn load(&mut self, own: &str, rest: &str, size: (u32, u32)) {
        self.resize(size);
        self.own = own.to_string();
        // If only the hash differed from the previous page, nothing would be loaded.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": format!("{own}{rest}") }));
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// Reloads the page and waits until its scripts have run.
    pub fn reload(&mut self) {
        // The old page answers until the new one is there.
        self.evaluate("globalThis.before = true");
        self.call("Page.reload", json!({}));
        self.wait_for(
            "!globalThis.before && document.readyState === 'complete' && typeof farad === 'object'",
        );
    }

    /// Waits until an expression is true in the page; it may fail while pages change.
    pub fn wait_for(&mut self, expression: &str) {
        let begin = std::time::Instant::now();
        loop {
            let made = self.answer("Runtime.evaluate", evaluation(expression));
            if made.as_ref().is_ok_and(|made| made["result"]["value"] == json!(true)) {
                return;
            }
            assert!(begin.elapsed().as_secs() < 90, "never true in the page: {expression}: {made:?}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// The value of an expression in a frame that has its own process; `None` if there is no such frame now, or
    /// it went away.
    pub fn evaluate_in_frame(&mut self, expression: &str) -> Option<Value> {
        let targets = self.call("Target.getTargets", json!({}));
        let frame =
            targets["targetInfos"].as_array().unwrap().iter().find(|target| target["type"] == "iframe");
        let target = frame?["targetId"].clone();
        let attached =
            self.answer("Target.attachToTarget", json!({ "targetId": target, "flatten": true })).ok()?;
        let page = self.session.replace(attached["sessionId"].as_str()?.to_string());
        let made = self.answer("Runtime.evaluate", evaluation(expression));
        self.session = page;
        made.ok().map(|made| made["result"]["value"].clone())
    }

    /// The value of an expression in the page, waited for if it is a promise.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let made = self.call("Runtime.evaluate", evaluation(expression));
        let thrown = &made["exceptionDetails"];
        assert!(thrown.is_null(), "{}: {thrown}", &expression[..expression.len().min(200)]);
        made["result"]["value"].clone()
    }

    /// Presses the mouse at the first point, moves it over the others and releases it.
    pub fn drag(&mut self, points: &[(f64, f64)]) {
        let mut send = |kind: &str, (x, y): (f64, f64), buttons: u32| {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        };
        send("mouseMoved", points[0], 0);
        send("mousePressed", points[0], 1);
        points[1..].iter().for_each(|&point| send("mouseMoved", point, 1));
        send("mouseReleased", *points.last().unwrap(), 0);
    }
}

/// The parameters of an evaluation that waits for promises.
fn evaluation(expression: &str) -> Value {
    json!({ "expression": expression, "awaitPromise": true, "returnByValue": true })
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
