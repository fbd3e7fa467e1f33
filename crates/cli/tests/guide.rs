//! Every shell block of the guide and of the README, run as a reader would: in order, a folder per chapter. What is
//! printed below a block must come. Trainings are shortened by the table below and by nothing else; everything runs on
//! the CPU.
#![cfg(unix)]

mod folder;

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use farad_guide::{BlockNote, Chapter, FencedBlock, blocks, commands};
use folder::Folder;

/// What tests run instead of a command, so that a training takes a second and not a minute. Every row is needed.
const SHORTER: [(&str, &str); 11] = [
    ("cargo run --release -- train checkerboard", "cargo run --release -- train checkerboard --updates 60"),
    ("farad train checkerboard", "farad train checkerboard --updates 60"),
    (
        "farad train --resume runs/checkerboard-2 --updates 600",
        "farad train --resume runs/checkerboard-2 --updates 70",
    ),
    (
        "farad train checkerboard --seed 5 --updates 400 --set learning_rate=0.3 --out runs/slower",
        "farad train checkerboard --seed 5 --updates 40 --set learning_rate=0.3 --out runs/slower",
    ),
    ("farad train life --seeds 2 --quick", "farad train life --seeds 2 --quick --updates 5"),
    (
        "farad train mnist --data synthetic --model mlp",
        "farad train mnist --data synthetic --model mlp --epochs 1",
    ),
    (
        "farad train lm --data poem.txt --layers 2 --heads 2 --width 32 --context 32 --batch 8 --learning-rate 0.01 --warm-up 20 --updates 400",
        "farad train lm --data poem.txt --layers 2 --heads 2 --width 32 --context 32 --batch 8 --updates 40",
    ),
    (
        "farad train evolve --device cpu --seed 1",
        "farad train evolve --device cpu --seed 1 --updates 2 --set population=4 --set seconds=0.2 --set films=2",
    ),
    (
        "farad train evolve --device cpu --seed 2 --data inchworm.json --set genes=network --updates 40",
        "farad train evolve --device cpu --seed 2 --data inchworm.json --set genes=network --updates 2 --set population=4 --set seconds=0.2 --set films=2",
    ),
    (
        "farad train tadpole.json --device cpu --updates 60",
        "farad train tadpole.json --device cpu --updates 3 --set validation=2 --set episodes=2",
    ),
    (
        "farad train logic-table --data flowers.csv --set target=species",
        "farad train logic-table --data flowers.csv --set target=species --updates 20",
    ),
];

/// `cargo run --release --` is the command that the tests built; nothing else is built here.
const CARGO: &str = "#!/bin/sh
[ \"$1 $2 $3\" = 'run --release --' ] || { echo \"cargo $*: not in a test\" >&2; exit 3; }
shift 3
exec farad \"$@\"
";

#[test]
fn shell_blocks_do_what_the_guide_says() {
    let chapters = Mutex::new(Chapter::all().into_iter());
    let used = Mutex::new(BTreeSet::new());
    let next = || chapters.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(chapter) = next() {
                    let rows = follow(&chapter);
                    used.lock().unwrap().extend(rows);
                }
            });
        }
    });
    let used = used.into_inner().unwrap();
    let unused: Vec<&str> =
        SHORTER.iter().map(|(command, _)| *command).filter(|command| !used.contains(command)).collect();
    assert!(unused.is_empty(), "no chapter has these commands any more: {unused:?}");
}

/// Runs the blocks of a chapter; the rows of the table that it needed.
fn follow(chapter: &Chapter) -> Vec<&'static str> {
    let start = std::time::Instant::now();
    let folder = Folder::new(&format!("guide-{}", chapter.name.replace(['/', '.'], "-")));
    let tools = folder.path(".tools");
    std::fs::create_dir(&tools).unwrap();
    symlink(env!("CARGO_BIN_EXE_farad"), tools.join("farad")).unwrap();
    std::fs::write(tools.join("cargo"), CARGO).unwrap();
    std::fs::set_permissions(tools.join("cargo"), PermissionsExt::from_mode(0o755)).unwrap();
    let (mut printed, mut rows, mut ran) = (None, vec![], 0);
    for block in blocks(&chapter.text) {
        let place = format!("{}:{}", chapter.name, block.line);
        if let Some(BlockNote::File(name)) = &block.note {
            let path = folder.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &block.text).unwrap();
        }
        match block.language() {
            "sh" if block.is_run() => {
                let all = commands(&block.text);
                ran += all.len();
                let output: Vec<String> =
                    all.iter().map(|line| run(line, &block, &folder, &tools, &place, &mut rows)).collect();
                printed = Some(output.concat());
            }
            "text" if block.note.is_none() => {
                if let Some(printed) = &printed {
                    compare(&block.text, printed, &place);
                }
            }
            _ => printed = None,
        }
    }
    println!("{}: {ran} commands in {:.1} s", chapter.name, start.elapsed().as_secs_f64());
    rows
}

/// Runs one command in a shell; what it printed on stdout and stderr.
fn run(
    line: &str,
    block: &FencedBlock,
    folder: &Folder,
    tools: &Path,
    place: &str,
    rows: &mut Vec<&'static str>,
) -> String {
    let shorter = SHORTER.iter().find(|(command, _)| line == *command);
    rows.extend(shorter.map(|(command, _)| *command));
    let line = shorter.map_or(line, |(_, instead)| *instead);
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {line}")])
        .current_dir(folder.path(""))
        .env("PATH", path)
        .env("FARAD_DEVICE", "cpu")
        .env_remove("FARAD_DATA")
        .env_remove("FARAD_DEBUG")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wanted = block.note == Some(BlockNote::Fails);
    assert!(output.status.success() != wanted, "{place}: `{line}` gave {}:\n{text}", output.status);
    assert_ne!(output.status.code(), Some(101), "{place}: `{line}` panicked:\n{text}");
    text
}

/// The lines shown must come in this order. Numbers may be others; `…` stands for anything, alone in a line for lines.
fn compare(shown: &str, printed: &str, place: &str) {
    let mut lines = printed.lines();
    for line in shown.lines().filter(|line| !line.trim().is_empty() && line.trim() != "…") {
        let found = lines.any(|other| fits(line, other));
        assert!(found, "{place}: this line does not come where it is shown: `{line}`\nprinted:\n{printed}");
    }
}

fn fits(shown: &str, printed: &str) -> bool {
    let printed = without_numbers(printed);
    let parts: Vec<String> = shown.split('…').map(without_numbers).collect();
    let mut rest = printed.as_str();
    for (n, part) in parts.iter().enumerate() {
        let place = match (n, n + 1 == parts.len()) {
            (0, true) => (rest == part).then_some(0),
            (0, _) => rest.starts_with(part.as_str()).then_some(0),
            (_, true) => rest.ends_with(part.as_str()).then(|| rest.len() - part.len()),
            _ => rest.find(part.as_str()),
        };
        let Some(place) = place else { return false };
        rest = &rest[place + part.len()..];
    }
    true
}

/// One blank for several, one `0` for a number.
fn without_numbers(line: &str) -> String {
    let mut plain = String::new();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let inside = plain.ends_with('0') && letters.peek().is_some_and(char::is_ascii_digit);
        match letter {
            '0'..='9' if plain.ends_with('0') => {}
            '0'..='9' => plain.push('0'),
            '.' | ',' if inside => {}
            other => plain.push(other),
        }
    }
    plain
}

#[test]
fn output_is_compared_without_its_numbers() {
    assert!(fits("loss 1.25 after 3 steps", "  loss 0.7   after 1,000 steps"));
    assert!(fits("loss …, perplexity 2.", "loss 2.7763, perplexity 16.06."));
    assert!(fits("gpu:0 (…)", "gpu:1 (NVIDIA H200)"));
    assert!(!fits("loss 1.25 after 3 steps", "loss 0.7 after 1000 updates"));
    assert!(!fits("gpu:0 (…) x", "gpu:0 (llvmpipe)"));
}
