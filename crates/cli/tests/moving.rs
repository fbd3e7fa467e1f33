//! Pages of runs in which something moves: `farad export --format html`, its errors, the dashboard and the gallery.

#[path = "../../circuit/tests/exports/browser.rs"]
mod browser;
mod folder;
#[allow(dead_code)]
#[path = "../../circuit/tests/exports/tool.rs"]
mod tool;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use browser::Browser;
use folder::Folder;

const AGENT: &str = "train cartpole --device cpu --updates 2 --seeds 2 --seed 3 --set worlds=8 --set horizon=16 \
    --set evaluate_every=1 --set validation=4 --set episodes=4 --set hidden=16 --out runs/agent --quiet";
const CREATURES: &str = "train evolve --device cpu --updates 2 --set population=6 --set settle=0.1 --set seconds=0.4 \
    --set films=2 --out runs/creatures --quiet";

#[test]
fn runs_become_pages_and_others_say_why_not() {
    let folder = Folder::new("moving");
    folder.succeed(AGENT);
    let said = folder.succeed("export runs/agent --format html --out page --json");
    assert!(said.contains("page/cartpole.html") && said.contains("\"bytes\""), "{said}");
    let page = std::fs::read_to_string(folder.path("page/cartpole.html")).unwrap();
    assert!(page.contains("cartpole by ppo") && !page.contains("/*DATA*/"));
    let again = folder.fail("export runs/agent --format html --out page");
    assert!(again.contains("a file is there already"), "{again}");
    folder.succeed("export runs/agent --format html --seed 4 --out other");
    let other = std::fs::read_to_string(folder.path("other/cartpole.html")).unwrap();
    assert!(other != page, "the seeds have policies of their own");
    for (line, wanted) in [
        ("export runs/agent --format html --seed 9 --out no", "the run has no seed 9"),
        ("export runs/agent --format html --pipeline 2 --out no", "--pipeline"),
        ("export runs/agent --format verilog --out no", "agents with --format html"),
        ("export nowhere --format html --out no", "nowhere"),
    ] {
        let said = folder.fail(line);
        assert!(said.contains(wanted), "{line}: {said}");
    }
    assert!(!folder.path("no").exists());
    std::fs::remove_file(folder.path("runs/agent/checkpoint.safetensors")).unwrap();
    let empty = folder.fail("export runs/agent --format html --out no");
    assert!(empty.starts_with("error: ") && !folder.path("no").exists(), "{empty}");
}

/// A dashboard in the background; killed if the test ends before it does.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_dashboard_and_the_gallery_move() {
    if !tool::have("chromium") {
        return;
    }
    let folder = Folder::new("moving-dashboard");
    folder.succeed(AGENT);
    folder.succeed(CREATURES);
    let mut child = folder
        .command("dashboard runs --port 0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let (_served, address) = (Served(child), address.trim());

    // The page may run its own scripts and nothing else, and runs without agents have none.
    let host = address.trim_start_matches("http://").trim_end_matches('/');
    let get = |path: &str| {
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let page = get("/runs/agent/moving");
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    let head = head.to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 200") && head.contains("sandbox allow-scripts"), "{head}");
    assert!(head.contains("frame-ancestors 'self'") && body.contains("cartpole by ppo"), "{head}");
    assert!(get("/runs/creatures/moving").starts_with("HTTP/1.1 404"));

    let mut browser = Browser::start("chromium");
    browser.visit(address, "#run=agent", (1280, 900));
    browser.wait_for("document.querySelector('#stage iframe.ready') !== null");
    let begin = std::time::Instant::now();
    while !browser
        .evaluate_in_frame("farad.counts().steps > 3 && farad.errors.length === 0")
        .is_some_and(|moved| moved == true)
    {
        assert!(begin.elapsed().as_secs() < 60, "the policy does not move");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }

    folder.succeed("export runs/creatures --format html --out gallery");
    let gallery = folder.path("gallery/gallery.html");
    for size in [(1280, 900), (390, 844)] {
        browser.visit("file://", &gallery.display().to_string(), size);
        browser.wait_for("farad.shown() > 3 && farad.errors.length === 0 && document.querySelectorAll('.card canvas').length > 0");
        assert_eq!(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, "{size:?}");
    }
}
