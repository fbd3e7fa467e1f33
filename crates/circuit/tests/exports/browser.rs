//! A browser without a window, driven through pipes: opens pages, runs scripts in them, moves the mouse.
//!
//! Chromium reads commands from its file 3 and writes answers to its file 4, each a JSON text that a zero byte
//! ends. A shell opens both as named pipes, so that nothing here needs more than files.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Software drawing and computing, so that every machine will do. A container may have no sandbox to offer.
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
}

impl Browser {
    /// Starts the browser with a profile of its own.
    pub fn start(program: &str) -> Browser {
        let folder = std::env::temp_dir().join(format!("farad-browser-{}", std::process::id()));
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
        let mut browser = Browser { child, commands, answers, session: None, count: 0, folder };
        let targets = browser.call("Target.getTargets", json!({}));
        let page = targets["targetInfos"].as_array().unwrap().iter().find(|target| target["type"] == "page");
        let target = page.expect("about:blank")["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_string());
        browser.call("Page.enable", json!({}));
        browser.call("Network.enable", json!({}));
        browser
    }

    /// Calls a method of the browser and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.count += 1;
        let mut command = json!({ "id": self.count, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        self.commands.write_all((command.to_string() + "\0").as_bytes()).unwrap();
        loop {
            let message = self.message();
            if message["id"] == self.count {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
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
            assert!(url.starts_with("file://"), "the page asked for {url}");
        }
        message
    }

    /// Opens a file with a hash, at a size of the window, and waits until its circuit is ready.
    pub fn open(&mut self, path: &Path, hash: &str, (width, height): (u32, u32)) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        // Only the hash may differ from the page before, and that would not load anything.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": format!("file://{}#{hash}", path.display()) }));
        let begin = std::time::Instant::now();
        while self.evaluate("document.readyState === 'complete' && typeof farad === 'object'") != json!(true)
        {
            assert!(begin.elapsed().as_secs() < 60, "the page does not load");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        self.evaluate("farad.ready");
    }

    /// The value of an expression in the page, waited for if it is a promise.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let made = self.call("Runtime.evaluate", parameters);
        let thrown = &made["exceptionDetails"];
        assert!(thrown.is_null(), "{}: {thrown}", &expression[..expression.len().min(200)]);
        made["result"]["value"].clone()
    }

    /// Presses the mouse at the first point, moves it over the others and lets go.
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

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
