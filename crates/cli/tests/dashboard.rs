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
    let scripts =
        ["store", "clock", "scale", "metrics"].map(|name| get(&address, &format!("/{name}.js")).2).concat();
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
        "/runs/missing/weights.json",
        "/runs/..%2f/weights.json",
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
        (format!("POST /runs/plain/files/log.csv HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n"), 405),
        (format!("GET /runs/plain/notes HTTP/1.1\r\nHost: {host}\r\n"), 405),
        (format!("PUT /runs/plain/notes HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n"), 405),
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

/// Notes are the one thing that can be written, by this page only, within limits, and never over those of somebody else.
#[test]
fn notes_are_written_by_the_page_only() {
    let folder = Folder::new("dashboard-notes");
    write_run(&folder, "plain");
    std::fs::create_dir_all(folder.path("elsewhere")).unwrap();
    let (mut started, address) = dashboard(&folder, "runs");
    let host = host(&address);
    let origin = format!("Origin: http://{host}\r\n");
    let post = |path: &str, fields: &str, body: &str| {
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n{fields}");
        let (status, _, body) = ask(&address, &format!("{head}Connection: close\r\n\r\n{body}"));
        (status, body)
    };
    let json = format!("{origin}Content-Type: application/json\r\n");
    let none = r#"{"tags":[],"text":""}"#;
    let first = format!(r#"{{"tags":["keep","<b>"],"text":"one\ntwo","before":{none}}}"#);
    let file = folder.path("runs/plain/notes.json");
    for (path, fields, body, status) in [
        ("/runs/plain/notes", "Content-Type: application/json\r\n".into(), first.as_str(), 403),
        ("/runs/plain/notes", json.replace(host, "evil.example"), &first, 403),
        ("/runs/plain/notes", format!("{json}Sec-Fetch-Site: cross-site\r\n"), &first, 403),
        ("/runs/plain/notes", origin.clone(), &first, 415),
        ("/runs/plain/notes", format!("{origin}Content-Type: text/plain\r\n"), &first, 415),
        ("/runs/plain/notes", json.clone(), "", 400),
        ("/runs/plain/notes", json.clone(), "{\"tags\":3}", 400),
        (
            "/runs/plain/notes",
            json.clone(),
            r#"{"tags":["a,b"],"text":"","before":{"tags":[],"text":""}}"#,
            400,
        ),
        ("/runs/missing/notes", json.clone(), &first, 404),
        ("/runs/..%2felsewhere/notes", json.clone(), &first, 404),
        ("/runs/%2e%2e/notes", json.clone(), &first, 404),
    ] {
        let (found, body) = post(path, &fields, body);
        assert_eq!(found, status, "{path} {fields}: {body}");
        assert!(!file.exists(), "{path} {fields}");
    }
    let large =
        format!("POST /runs/plain/notes HTTP/1.1\r\nHost: {host}\r\nContent-Length: 300000\r\n{json}");
    assert_eq!(ask(&address, &format!("{large}Connection: close\r\n\r\n")).0, 413);
    assert!(!file.exists() && !folder.path("elsewhere/notes.json").exists());
    let (status, body) = post("/runs/plain/notes", &json, &first);
    assert!(status == 200 && body.contains("one\\ntwo"), "{status} {body}");
    assert!(get(&address, "/runs/plain/details.json").2.contains(r#""tags":["keep","<b>"]"#));
    let (status, body) =
        post("/runs/plain/notes", &json, &format!(r#"{{"tags":[],"text":"x","before":{none}}}"#));
    assert!(status == 409 && body.contains("changed elsewhere"), "{status} {body}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("one\\ntwo"));
    started.interrupt();

    let listed = folder.succeed("runs runs/plain --tag seen --untag keep --json");
    assert!(
        listed.contains(r#""tags":["<b>","seen"]"#) && listed.contains(r#""note":"one\ntwo""#),
        "{listed}"
    );
    assert!(folder.succeed("runs").contains("<b>, seen"));
    assert!(folder.fail("runs --tag seen").contains("tags and notes belong to one run: runs"));
    assert!(folder.fail("runs runs/plain --tag a,b").contains("a tag has no comma"));
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
    browser.evaluate("document.getElementById('whole').click()");
    browser.wait_for("document.querySelector('#rows .badge[data-state=interrupted]') !== null");
    assert_eq!(browser.evaluate("document.querySelectorAll('#rows tr').length"), 2);
    assert_eq!(browser.complaints(), [""; 0]);
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
    assert_eq!(browser.evaluate("document.querySelectorAll('#list .item').length"), 1);
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

/// Writes one of several runs that differ in their seeds: its loss is `loss` at step 10 and half of that at step 20, one and
/// three seconds after it began.
fn write_seed(folder: &Folder, seed: u64, loss: f64) {
    let name = format!("net-{seed}");
    write_run(folder, &name);
    let write = |file: &str, text: &str| {
        std::fs::write(folder.path("runs").join(&name).join(file), text).unwrap();
    };
    let head = "format = \"farad-run\"\nversion = 1\nkind = \"fit\"\nset = \"digits\"\ndevice = \"cpu\"\n";
    write("config.toml", &format!("{head}[settings]\nrate = 0.1\nseed = {seed}\n"));
    write("log.csv", &format!("step,loss,validation_loss\n10,{loss},\n20,{},1.5\n", loss / 2.0));
    let event = |event: &str, step: u64, seconds: u64| {
        let time = 1_700_000_000 + seconds;
        format!(
            "{{\"event\":\"{event}\",\"seconds\":{seconds},\"step\":{step},\"time\":{time},\"training_seconds\":{seconds}}}\n"
        )
    };
    write("events.jsonl", &(event("start", 0, 0) + &event("checkpoint", 10, 1) + &event("end", 20, 3)));
    let values = [0.5f32, -0.5, f32::NAN, 1.5];
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let header = r#"{"model.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat();
    std::fs::write(folder.path("runs").join(&name).join("checkpoint.safetensors"), bytes).unwrap();
}

/// Groups of seeds, axes of time, CSV files, weights, notes, the load, drawings for dark pages, and many runs.
#[test]
fn a_browser_has_a_view_for_every_question() {
    if !tool::have("chromium") {
        return;
    }
    let folder = Folder::new("dashboard-views");
    (1..=3).for_each(|seed| write_seed(&folder, seed, [2.0, 4.0, 9.0][seed as usize - 1]));
    write_run(&folder, "other");
    std::fs::write(
        folder.path("runs/net-1/plots/loss.svg"),
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="90" height="50"><rect width="90" height="50" fill="#ffffff"/></svg>"##,
    )
    .unwrap();
    let (_started, address) = dashboard(&folder, "runs");
    let mut browser = Browser::start("chromium");
    browser.visit(&address, "#run=net-1&theme=dark", (1400, 900));
    browser.wait_for("document.querySelectorAll('#list .group').length === 1");
    // The group is open, since one of its runs is shown.
    assert_eq!(browser.evaluate("document.querySelectorAll('#list .item').length"), 5);

    groups(&mut browser);
    weights_and_notes(&mut browser, &folder);
    (0..500).for_each(|n| write_run(&folder, &format!("many-{n:03}")));
    browser.wait_for(
        "farad.store.runs.size === 504 && document.getElementById('runs-count').textContent === '504'",
    );
    // They have the same settings, so they are one entry; the filter finds each.
    assert_eq!(browser.evaluate("document.querySelectorAll('#list .group').length"), 2);
    browser.evaluate("(() => { const f = document.getElementById('filter'); f.value = 'many-317'; f.dispatchEvent(new Event('input')) })()");
    browser.wait_for(
        "[...document.querySelectorAll('#list .item-name')].map((e) => e.textContent).join() === 'many-317'",
    );
    #[cfg(target_os = "linux")]
    browser.wait_for(
        "!document.getElementById('load').hidden && document.querySelectorAll('#load .meter').length === 2",
    );
    // On a phone, the runs are behind a button.
    browser.visit(&address, "#run=net-1", (390, 844));
    browser.wait_for("farad.chosen.join() === 'net-1'");
    let seen = "getComputedStyle(document.getElementById('side')).visibility === 'visible'";
    assert_eq!(browser.evaluate(seen), false);
    browser.evaluate("document.getElementById('runs-button').click()");
    browser.wait_for(seen);
    assert_eq!(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Three seeds as a mean and a band, over steps and times, and as a CSV file.
fn groups(browser: &mut Browser) {
    browser.evaluate("document.querySelector('#list .group .item-open').click()");
    browser.wait_for("farad.chosen.join() === 'net-1,net-2,net-3' && farad.store.logs.size === 3");
    let line = "farad.curves.charts.get('loss')?.series[0]";
    browser.wait_for(&format!("{line}?.counts?.join() === '3,3'"));
    let shown = |browser: &mut Browser, what: &str| {
        browser.evaluate(&format!("{line}.{what}.join()")).as_str().unwrap().to_string()
    };
    assert_eq!(
        ["x", "y", "low", "high"].map(|what| shown(browser, what)),
        ["10,20", "5,2.5", "2,1", "9,4.5"]
    );
    let choose = |browser: &mut Browser, menu: &str, value: &str| {
        browser.evaluate(&format!("(() => {{ const m = document.getElementById('{menu}'); m.value = '{value}'; m.dispatchEvent(new Event('change')) }})()"));
    };
    choose(browser, "band", "quartiles");
    browser.wait_for(&format!("{line}?.low.join() === '3,1.5' && {line}.high.join() === '6.5,3.25'"));
    choose(browser, "axis", "time");
    browser.wait_for(&format!("{line}?.x.join() === '1,3'"));
    choose(browser, "axis", "date");
    browser.wait_for(&format!("{line}?.x.join() === '1700000001,1700000003'"));
    assert_eq!(
        browser.evaluate("location.hash"),
        "#run=net-1&run=net-2&run=net-3&axis=date&band=quartiles&theme=dark"
    );
    browser.reload();
    browser.wait_for(&format!("{line}?.x.join() === '1700000001,1700000003' && {line}.counts?.length === 2"));
    choose(browser, "axis", "step");
    choose(browser, "band", "each");
    browser.wait_for("farad.curves.charts.get('loss')?.series.length === 3");
    let csv = "Farad.csv(farad.curves.charts.get('loss').visible(), farad.curves.shared.axis)";
    assert_eq!(browser.evaluate(csv), "step,net-1,net-2,net-3\n10,2,4,9\n20,1,2,4.5\n");
    choose(browser, "band", "range");
    browser.wait_for(&format!("{line}?.counts?.length === 2"));
    assert_eq!(
        browser.evaluate(csv),
        "step,training,\"training, low\",\"training, high\",validation,\"validation, low\",\"validation, high\"\n10,5,2,9,,,\n20,2.5,1,4.5,1.5,1.5,1.5\n"
    );
}

/// The weights of one run, its pictures in the dark, and notes that are typed, saved and found.
fn weights_and_notes(browser: &mut Browser, folder: &Folder) {
    browser.evaluate("farad.choose(['net-1'])");
    browser.wait_for("document.getElementById('tab-weights') !== null");
    browser.evaluate("document.getElementById('tab-weights').click()");
    browser.wait_for("document.querySelectorAll('#weights .histogram rect').length === 3");
    let card = browser.evaluate("document.querySelector('#weights .weight').textContent").to_string();
    assert!(card.contains("f32 [2, 2]") && card.contains("NaN1") && card.contains("max1.5"), "{card}");
    browser.evaluate("document.getElementById('tab-pictures').click()");
    let paper = "(() => { const i = document.querySelector('#pictures img'); if (!i?.complete || i.naturalWidth !== 90 || i.clientWidth !== 90) return null; \
        const c = document.createElement('canvas').getContext('2d'); c.drawImage(i, 0, 0); return c.getImageData(9, 9, 1, 1).data.join() })()";
    browser.evaluate("document.querySelector('#pictures img')?.scrollIntoView()");
    browser.wait_for(&format!("{paper} === '23,25,31,255'"));
    browser.evaluate("document.getElementById('notes-edit').click()");
    browser.evaluate("document.getElementById('notes-tags-input').value = 'baseline, <i>odd</i>'");
    browser.evaluate("document.getElementById('notes-text-input').value = '<b>bold</b> claim'");
    browser.evaluate("document.getElementById('notes-save').click()");
    browser.wait_for("document.getElementById('notes-text').textContent === '<b>bold</b> claim'");
    assert_eq!(browser.evaluate("document.querySelectorAll('#notes b, #notes i, #list i').length"), 0);
    let written = std::fs::read_to_string(folder.path("runs/net-1/notes.json")).unwrap();
    assert!(written.contains(r#""tags":["baseline","<i>odd</i>"]"#), "{written}");
    browser.wait_for("farad.store.runs.get('net-1').tags.length === 2");
    browser.evaluate("document.querySelector('#notes-tags .tag').click()");
    browser.wait_for("farad.filter === '#baseline' && document.querySelectorAll('#list .item').length === 1");
    // Notes that changed elsewhere meanwhile are not lost.
    browser.evaluate("document.getElementById('notes-edit').click()");
    std::fs::write(folder.path("runs/net-1/notes.json"), "{\"tags\":[\"theirs\"],\"text\":\"\"}").unwrap();
    browser.evaluate("document.getElementById('notes-save').click()");
    browser.wait_for("document.getElementById('notes-problem').textContent.includes('changed elsewhere')");
    browser.evaluate("document.getElementById('notes-cancel').click()");
    browser.wait_for("document.querySelector('#notes-tags .tag')?.textContent === 'theirs'");
    let complaints = browser.complaints();
    assert!(complaints.len() == 1 && complaints[0].contains("409"), "only the refusal: {complaints:?}");
    browser.evaluate("farad.set({ filter: '' })");
}
