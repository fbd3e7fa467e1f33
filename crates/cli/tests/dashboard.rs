//! `farad dashboard` from end to end: what it answers and refuses, by plain sockets, and the page in a browser beside a
//! run that trains.

#[path = "../../circuit/tests/exports/browser.rs"]
mod browser;
mod folder;
#[allow(dead_code)]
#[path = "../../circuit/tests/exports/tool.rs"]
mod tool;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use browser::Browser;
use folder::Folder;

/// A dashboard or a training in the background; killed if the test ends before it does.
struct Started(Child);

impl Started {
    fn interrupt(&mut self) -> ExitStatus {
        let process = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
        let begin = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(begin.elapsed().as_secs() < 60, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a dashboard; its address ends with a slash.
fn dashboard(folder: &Folder, arguments: &str) -> (Started, String) {
    let mut command = folder.command(&format!("dashboard {arguments} --port 0"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().to_string();
    assert!(address.starts_with("http://127.0.0.1:") && address.ends_with('/'), "{address}");
    (Started(child), address)
}

/// Host and port of an address.
fn host(address: &str) -> &str {
    address.trim_start_matches("http://").trim_end_matches('/')
}

/// Sends a request as it is and returns status, headers and body.
fn ask(address: &str, request: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(host(address)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = vec![];
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    (status, head.to_ascii_lowercase(), body.to_string())
}

fn get(address: &str, path: &str) -> (u16, String, String) {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", host(address)))
}

/// Writes a run by hand: two rows, training for two seconds.
fn write_run(folder: &Folder, name: &str) {
    let path = folder.path("runs").join(name);
    std::fs::create_dir_all(path.join("plots")).unwrap();
    let write = |file: &str, text: &str| std::fs::write(path.join(file), text).unwrap();
    write(
        "config.toml",
        "format = \"farad-run\"\nversion = 1\nkind = \"fit\"\nset = \"digits\"\ndevice = \"cpu\"\n",
    );
    write("log.csv", "step,loss,validation_loss\n10,2.5,\n20,1.25,1.5\n");
    write("events.jsonl", "{\"event\":\"start\",\"seconds\":0,\"step\":0}\n");
    write("report.md", "# Report\n\n<script>alert(1)</script>\n");
    write("plots/loss.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    write(".lock", "1");
    write("checkpoint.safetensors", "none");
}

#[test]
fn a_damaged_run_is_shown_with_what_is_wrong() {
    let folder = Folder::new("dashboard-damaged");
    write_run(&folder, "cut");
    std::fs::write(folder.path("runs/cut/config.toml"), "x = [").unwrap();
    let (mut started, address) = dashboard(&folder, "runs");
    let (status, _, body) = get(&address, "/runs/cut/details.json");
    assert!(status == 200 && body.contains("config.toml is damaged: "), "{status} {body}");
    assert_eq!(get(&address, "/runs/cut/files/log.csv").0, 200, "what is left may be read");
    started.interrupt();
}

/// The page's own script names what a number is: who judged it, and accuracy only where there are classes.
#[test]
fn the_page_names_what_it_shows() {
    if !tool::have_by_chance("node") {
        return;
    }
    let folder = Folder::new("dashboard-names");
    write_run(&folder, "plain");
    let (mut started, address) = dashboard(&folder, "runs");
    let scripts = ["store", "scale", "metrics"].map(|name| get(&address, &format!("/{name}.js")).2).concat();
    started.interrupt();
    let run = r#"{ kind: "fit", columns: ["loss", "validation_goodness"], newest: [1, 0.9473], "#;
    for (rest, wanted) in [
        ("regression: false }", "validation accuracy 94.73 % | Loss, Accuracy"),
        ("regression: true }", "validation explained variance 94.73 % | Loss, Explained variance (R²)"),
        (
            r#"judged: { value: 0.9333, words: "test accuracy 93.33 %" } }"#,
            "test accuracy 93.33 % | Loss, Accuracy",
        ),
        (r#"problem: "config.toml is damaged" }"#, "config.toml is damaged | Loss, Accuracy"),
    ] {
        let ask = "const bases = run.columns.map((name) => Farad.measured(run, name));\n\
            console.log([Farad.resultWords(run), Farad.groups(new Set(bases)).map((g) => g.title).join(', ')].join(' | '));";
        let script = format!("{scripts}\nconst run = {run}{rest};\n{ask}");
        let output = Command::new("node").args(["-e", &script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).trim().to_string();
        assert_eq!(said, wanted, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn only_this_machine_is_answered_and_only_with_files_of_runs() {
    let folder = Folder::new("dashboard-http");
    let odd = "odd <b>&\"name\" 100%";
    write_run(&folder, "plain");
    write_run(&folder, odd);
    std::fs::write(folder.path("secret.txt"), "secret").unwrap();
    let (mut started, address) = dashboard(&folder, "runs");
    let host = host(&address);
    let (status, head, body) = get(&address, "/");
    assert!(status == 200 && body.contains("<title>") && head.contains("content-type: text/html"));
    assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self'"), "{head}");
    for header in
        ["x-content-type-options: nosniff", "referrer-policy: no-referrer", "cache-control: no-store"]
    {
        assert!(head.contains(header), "{header}: {head}");
    }
    assert!(get(&address, "/chart.js").1.contains("content-type: text/javascript"));
    let (status, head, _) = get(&address, "/runs/plain/files/plots/loss.svg");
    assert!(
        status == 200 && head.contains("content-type: image/svg+xml") && head.contains("sandbox"),
        "{head}"
    );
    let encoded = "odd%20%3Cb%3E%26%22name%22%20100%25";
    assert_eq!(get(&address, &format!("/runs/{encoded}/files/log.csv")).0, 200);
    let (status, head, body) = get(&address, &format!("/runs/{encoded}/details.json"));
    assert!(
        status == 200 && body.contains("\"settings\"") && head.contains("content-type: application/json")
    );
    assert_eq!(get(&address, "/runs/plain/page").0, 404, "a network of this kind has no circuit");

    for path in [
        "/runs/plain/files/../../../secret.txt",
        "/runs/plain/files/%2e%2e/%2e%2e/secret.txt",
        "/runs/plain/files/%2e%2e%2f%2e%2e%2fsecret.txt",
        "/runs/plain/files/..%2f..%2fsecret.txt",
        "/runs/plain/files/..%5c..%5csecret.txt",
        "/runs/%2e%2e/files/secret.txt",
        "/runs/..%2f..%2f/files/secret.txt",
        "/runs/plain/files//etc/passwd",
        "/runs/plain/files/%2fetc%2fpasswd",
        "/runs/plain/files/.lock",
        "/runs/plain/files/checkpoint.safetensors",
        "/runs/plain/files/plots",
        "/runs/plain/files/log.csv%00",
        "/runs//files/secret.txt",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/Cargo.toml",
        "/runs/missing/details.json",
        "/runs/%ff/details.json",
    ] {
        let (status, _, body) = get(&address, path);
        assert!((400..500).contains(&status) && !body.contains("secret"), "{path}: {status} {body}");
    }
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n".to_string(), 403),
        (format!("GET / HTTP/1.1\r\nHost: {host}.evil.example\r\n"), 403),
        ("GET / HTTP/1.0\r\n".to_string(), 403),
        (format!("GET /events HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\n"), 403),
        (
            format!(
                "GET /events HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n"
            ),
            403,
        ),
        (format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n"), 405),
        (format!("DELETE /runs/plain/files/log.csv HTTP/1.1\r\nHost: {host}\r\n"), 405),
        (format!("OPTIONS / HTTP/1.1\r\nHost: {host}\r\n"), 405),
        (format!("HEAD / HTTP/1.1\r\nHost: localhost{}\r\n", &host["127.0.0.1".len()..]), 200),
    ] {
        let (found, head, _) = ask(&address, &format!("{request}Connection: close\r\n\r\n"));
        assert_eq!(found, status, "{request}");
        assert!(head.contains("x-content-type-options: nosniff"), "{request}: {head}");
    }
    let port = host.split_once(':').unwrap().1;
    let taken = folder.fail(&format!("dashboard runs --port {port}"));
    assert!(taken.contains("the port is in use") && taken.contains("--port 0"), "{taken}");
    assert!(folder.fail("dashboard nowhere --port 0").contains("no such folder: nowhere"));
    assert_eq!(started.interrupt().code(), Some(0), "Ctrl-C ends it");
}

/// Reads a stream of events until it has said a text.
fn read_until(stream: &mut BufReader<TcpStream>, text: &str) -> String {
    let mut read = String::new();
    while !read.contains(text) {
        let length =
            stream.read_line(&mut read).unwrap_or_else(|error| panic!("{error}: no {text} in {read}"));
        assert!(length > 0, "the stream ended: {read}");
    }
    read
}

#[test]
fn rows_that_are_added_later_are_pushed() {
    let folder = Folder::new("dashboard-events");
    // The usual folder is not there yet, and that is no error.
    let (_started, address) = dashboard(&folder, "");
    let stream = TcpStream::connect(host(&address)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let request = format!("GET /events?run=later HTTP/1.1\r\nHost: {}\r\n\r\n", host(&address));
    (&stream).write_all(request.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    let head = read_until(&mut stream, "\r\n\r\n").to_ascii_lowercase();
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    assert!(read_until(&mut stream, "\"runs\":[]").contains("event: runs"));
    write_run(&folder, "later");
    let told = read_until(&mut stream, "[20,1.25,1.5]");
    assert!(
        told.contains("event: rows") && told.contains("\"columns\":[\"loss\",\"validation_loss\"]"),
        "{told}"
    );
    let log = folder.path("runs/later/log.csv");
    let append = |text: &str| {
        std::fs::File::options().append(true).open(&log).unwrap().write_all(text.as_bytes()).unwrap()
    };
    append("30,0.6");
    std::thread::sleep(Duration::from_millis(700));
    append("25,\n");
    let told = read_until(&mut stream, "[30,");
    assert!(told.contains("[30,0.625,null]"), "half a line is no row: {told}");
    // Going on from an older checkpoint cuts the log.
    std::fs::write(&log, "step,loss,validation_loss\n10,2.5,\n").unwrap();
    assert!(read_until(&mut stream, "\"reset\":true").contains("event: rows"));
}

/// A training that would go on for long, on the CPU, which saves a circuit every few updates.
fn training(folder: &Folder) -> Started {
    let line = "train checkerboard --device cpu --updates 100000 --set log_every=1 --set evaluate_every=5 \
        --set checkpoint_every=10 --set curriculum=0 --out runs/live --quiet";
    let mut command = folder.command(line);
    Started(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn a_browser_shows_a_run_while_it_trains() {
    if !tool::have("chromium") {
        return;
    }
    let folder = Folder::new("dashboard-browser");
    write_run(&folder, "other");
    std::fs::create_dir_all(folder.path("empty")).unwrap();
    let (_empty, nothing) = dashboard(&folder, "empty");
    let mut browser = Browser::start("chromium");
    browser.visit(&nothing, "", (390, 844));
    browser.wait_for("!document.getElementById('empty').hidden");
    let (_started, address) = dashboard(&folder, "runs");
    let mut trained = training(&folder);
    browser.visit(&address, "", (1280, 900));

    // The run that trains is shown by itself, and its curves grow.
    browser.wait_for("farad.store.runs.get('live')?.state === 'running'");
    browser.wait_for("farad.chosen.join() === 'live' && farad.curves.charts.has('loss')");
    let points = "farad.curves.charts.get('loss').series[0].x.length";
    browser.wait_for(&format!("{points} > 3"));
    let before = browser.evaluate(points).as_u64().unwrap();
    browser.wait_for(&format!("{points} > {}", before + 3));
    let inked = "(() => { const c = farad.curves.charts.get('loss').canvas; \
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; \
        return new Set(Array.from(new Uint32Array(d.buffer))).size > 8 })()";
    browser.wait_for(inked);

    // Its automaton plays, in a frame of its own that can do nothing else.
    browser.wait_for("document.querySelector('#stage iframe.ready') !== null");
    let count = "Number(document.getElementById('count').textContent.replaceAll(',', ''))";
    let begin = Instant::now();
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 3 {
        assert!(begin.elapsed().as_secs() < 60, "the automaton does not play: {seen:?}");
        seen.extend(browser.evaluate_in_frame(count).and_then(|count| count.as_u64()));
    }
    let blocked = "(() => { try { return parent.document.title } catch { return 'refused' } })()";
    // The frame is made anew now and then.
    let answer = loop {
        assert!(begin.elapsed().as_secs() < 60, "the automaton's frame does not answer");
        if let Some(answer) = browser.evaluate_in_frame(blocked) {
            break answer;
        }
    };
    assert_eq!(answer, "refused");

    compare(&mut browser);
    trained.interrupt();
    browser.wait_for("farad.store.runs.get('live').state === 'interrupted'");
    browser.wait_for("document.querySelector('#rows .badge[data-state=interrupted]') !== null");
}

/// Two runs side by side, the table's filter and order, and an address that says all of it.
fn compare(browser: &mut Browser) {
    browser.evaluate("document.querySelector('[aria-label=\"Compare other\"]').click()");
    browser.wait_for("farad.chosen.join() === 'live,other' && farad.curves.charts.has('validation_loss')");
    browser.wait_for("farad.curves.charts.get('loss').series[0].name === 'other'");
    browser.evaluate("document.getElementById('tab-settings').click()");
    browser.wait_for("document.getElementById('settings').textContent.includes('checkerboard')");
    browser.evaluate("document.getElementById('logarithmic').click()");
    browser.evaluate("(() => { const f = document.getElementById('filter'); f.value = 'other'; f.dispatchEvent(new Event('input')) })()");
    assert_eq!(browser.evaluate("document.querySelectorAll('#rows tr').length"), 1);
    let hash = browser.evaluate("location.hash");
    assert_eq!(hash, "#run=live&run=other&tab=settings&filter=other&log=1");
    browser.reload();
    browser.wait_for("farad.chosen.length === 2");
    assert_eq!(browser.evaluate("farad.logarithmic && farad.tab === 'settings'"), true);
    // What runs are called and what reports say is text, never a page.
    browser.evaluate("farad.set({ picked: ['other'], tab: 'report', filter: '' })");
    browser.wait_for("document.getElementById('report').textContent.includes('<script>alert(1)</script>')");
    assert_eq!(browser.evaluate("document.querySelectorAll('#report script').length"), 0);
}
