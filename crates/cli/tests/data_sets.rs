//! `farad data`: sets from a server on this machine, with checksums, gone on with, and refused.
#![cfg(feature = "download")]

mod folder;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use folder::Folder;
use serde_json::Value;

/// How the server misbehaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manners {
    /// Not at all.
    Good,
    /// It ends every answer after so many bytes.
    BreaksOff(usize),
    /// It knows nothing of ranges.
    NoRanges,
    /// It has nothing.
    Nothing,
}

/// A server with one file; it keeps the ranges that it was asked for.
struct FileServer {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FileServer {
    fn new(content: Vec<u8>, manners: Manners) -> FileServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/sets", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(vec![]));
        let seen = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                seen.lock().unwrap().push(answer(stream, &content, manners));
            }
        });
        FileServer { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Answers one request; the path and the range that were asked for.
fn answer(mut stream: TcpStream, content: &[u8], manners: Manners) -> String {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let path = lines.next().unwrap_or_default().split(' ').nth(1).unwrap_or_default().to_string();
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let range =
        headers.iter().find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_string));
    let from = range.as_ref().and_then(|range| range.trim_end_matches('-').parse::<usize>().ok());
    let from = if manners == Manners::NoRanges { None } else { from };
    let body = &content[from.unwrap_or(0).min(content.len())..];
    let head = match (manners, from) {
        (Manners::Nothing, _) => {
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".into()
        }
        (_, Some(_)) => format!(
            "HTTP/1.1 206 Partial Content\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        ),
        _ => format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len()),
    };
    let sent = match manners {
        Manners::BreaksOff(bytes) => &body[..bytes.min(body.len())],
        Manners::Nothing => &[],
        _ => body,
    };
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(sent));
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read(&mut [0; 1]);
    format!("{path} {}", range.unwrap_or_default())
}

/// The play of tiny-shakespeare is not ours to have: what a server sends must be refused by its checksum.
#[test]
fn another_file_than_the_published_one_is_refused() {
    let folder = Folder::new("data-checksum");
    let server = FileServer::new(vec![b'x'; 1_115_394], Manners::Good);
    let text = folder.fail(&format!("data get tiny-shakespeare --from {} --quiet", server.address));
    for words in [
        "its checksum is another: SHA-256 ",
        "wanted 86c4e6aa9db7",
        "fetch by hand",
        "put into  data/tiny-shakespeare",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(server.asked(), ["/sets/input.txt "]);
    assert!(!folder.path("data").exists(), "a folder without a file is left");
}

/// What broke off is gone on with where it ended; a server without ranges sends it again.
#[test]
fn what_came_is_not_asked_for_again() {
    let folder = Folder::new("data-resumed");
    let content: Vec<u8> = (0..1_115_394u32).map(|n| (n % 251) as u8).collect();
    let short = FileServer::new(content.clone(), Manners::BreaksOff(400_000));
    let get = |server: &FileServer| {
        folder.fail(&format!("data get tiny-shakespeare --from {} --quiet", server.address))
    };
    let part = folder.path("data/tiny-shakespeare/input.txt.part");
    for came in [400_000, 800_000] {
        let text = get(&short);
        assert!(text.contains(&format!("it broke off after {came} of 1115394 bytes")), "{text}");
        assert_eq!(std::fs::read(&part).unwrap(), content[..came]);
    }
    // The third piece is the last; only the checksum is wrong then, and what is wrong is not kept.
    assert!(get(&short).contains("checksum is another"));
    assert_eq!(short.asked(), ["/sets/input.txt ", "/sets/input.txt 400000-", "/sets/input.txt 800000-"]);
    assert!(!part.exists());
    std::fs::write(&part, b"some").unwrap();
    let whole = FileServer::new(content, Manners::NoRanges);
    assert!(get(&whole).contains("checksum is another"), "all of it came, and not only the rest");
    assert_eq!(whole.asked(), ["/sets/input.txt 4-"]);
    let larger = FileServer::new(vec![0; 2_000_000], Manners::Good);
    assert!(get(&larger).contains("it sends more than the file has"));
}

/// Offline, or where an address has nothing: what to fetch, and where to put it.
#[test]
fn without_a_network_it_says_what_to_do() {
    let folder = Folder::new("data-offline");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = folder.fail(&format!("data get mnist --from http://{closed}/ --quiet"));
    for name in ["train-images-idx3-ubyte.gz", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"] {
        assert!(text.contains(&format!("http://{closed}/{name}")), "{name}: {text}");
    }
    assert!(text.contains("put into  data/mnist") && text.contains("could not be fetched"), "{text}");
    let server = FileServer::new(vec![], Manners::Nothing);
    let text = folder.fail(&format!("data get cifar10 --out c --from {} --quiet", server.address));
    assert!(text.contains("404") && text.contains("unpack into  c"), "{text}");
    let text = folder.fail("data get mnits");
    assert!(text.contains("there is no set `mnits`; did you mean `mnist`?"), "{text}");
    assert!(folder.fail("data get").contains("it is one of mnist, fashion-mnist, cifar10"));
    assert!(folder.fail("data fetch mnist").contains("list, get"));
}

/// A set that is here is not asked for, if its checksums are right; another file under its name is left alone.
#[test]
fn what_is_here_is_seen_and_left_alone() {
    let folder = Folder::new("data-here");
    let listed = |name: &str| -> Value {
        let text = folder.succeed("data list --json");
        let mut rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.find(|row| row["name"] == name).unwrap()
    };
    assert_eq!(listed("tiny-shakespeare")["here"], false);
    let path = folder.path("data/tiny-shakespeare/input.txt");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "To be\n").unwrap();
    assert_eq!(listed("tiny-shakespeare")["folder"], "data/tiny-shakespeare");
    let text = folder.fail("data get tiny-shakespeare --from http://127.0.0.1:9/ --quiet");
    assert!(text.contains("there is another file") && text.contains("--out"), "{text}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "To be\n");
    // The real one, where this machine has it.
    if let Some(real) = farad::data::find_data("tinyshakespeare") {
        std::fs::copy(real.join("input.txt"), &path).unwrap();
        let said = folder.succeed("data get tiny-shakespeare --from http://127.0.0.1:9/ --json --quiet");
        assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["bytes"], 1_115_394);
    }
}
