//! Damaged files of every format: an error or a value, never a panic, never more memory than the file could need, and
//! never a long wait.
//!
//! Invariant: a failure names its format and seed and leaves the file that caused it. As a test, some hundred damages a
//! format; `scripts/fuzz` goes on for minutes with fresh seeds (`FARAD_FUZZ_SECONDS`, `FARAD_FUZZ_SEED`,
//! `FARAD_FUZZ_FORMAT`). Start at [`table::all`].

#[path = "../folder/mod.rs"]
mod folder;

mod allocator;
mod samples;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use allocator::peak_of;
use farad_testkit::Mutator;
use folder::Folder;
use table::Format;

/// Damages a format without a wish for more.
const TIMES: u64 = 250;
/// Bytes that any reader may take, whatever the file.
const ALLOWED: usize = 64 << 20;
/// Bytes that no reader may take, however large the file.
const MOST: usize = 640 << 20;
/// How long a file of some kilobytes may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn no_damaged_file_panics_hangs_or_fills_the_memory() {
    let runs = runs();
    let wanted = std::env::var("FARAD_FUZZ_FORMAT").unwrap_or_default();
    let formats: Vec<Format> =
        table::all(&runs).into_iter().filter(|format| format.name.contains(&wanted)).collect();
    assert!(!formats.is_empty(), "fuzz: no such format: {wanted}");
    let first = number("FARAD_FUZZ_SEED").unwrap_or(1);
    let until = number("FARAD_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    allocator::check();
    samples_are_valid(&runs);
    let watch = Watch::start();
    std::panic::set_hook(Box::new(|_| {}));
    let (mut failures, mut rounds) = (Vec::new(), 0);
    loop {
        for format in &formats {
            let folder = place(&runs, format);
            let seeds = (0..TIMES).map(|n| first.wrapping_add(rounds * TIMES + n));
            failures.extend(seeds.filter_map(|seed| try_one(format, &folder, seed, &watch)));
        }
        rounds += 1;
        if until.is_none_or(|until| Instant::now() > until) || !failures.is_empty() {
            break;
        }
    }
    drop(std::panic::take_hook());
    println!("{} formats, {} damaged files each, seeds from {first}", formats.len(), rounds * TIMES);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The readers of the table forgive; these must find something in every sample.
fn samples_are_valid(runs: &Folder) {
    let read = |name: &str, bytes: &[u8]| {
        let path = runs.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let cpu = farad::Device::cpu();
    samples::safetensors().iter().for_each(|s| drop(farad::load(read("s", s), &cpu).unwrap()));
    samples::npys().iter().for_each(|s| drop(farad::read_npy(read("s", s), &cpu).unwrap()));
    samples::npzs().iter().for_each(|s| drop(farad::read_npz(read("s", s), &cpu).unwrap()));
    // What is mended is read again: here a number of the first array, in both.
    let mut mended = samples::npzs().swap_remove(0);
    let place = mended.windows(2).position(|two| two == b"}\n" || two == b" \n").unwrap() + 3;
    mended[place] ^= 1;
    farad::read_npz(read("s", &mended), &cpu).unwrap_err();
    samples::mend_zip(&mut mended);
    farad::read_npz(read("s", &mended), &cpu).unwrap();
    samples::idxs().iter().for_each(|s| drop(farad::data::read_idx(read("s", s)).unwrap()));
    samples::images()[..2]
        .iter()
        .for_each(|s| drop(farad::data::read_image(read("s", s), farad::data::Channels::Color).unwrap()));
    samples::tunings().iter().for_each(|s| drop(farad::load_tuning(read("s", s)).unwrap()));
    samples::circuits().iter().for_each(|s| drop(farad_circuit::Circuit::read(read("s", s)).unwrap()));
    let checkpoint = |s: &Vec<u8>| farad::run::Checkpoint::read(read("s", s), "example").unwrap().step();
    assert_eq!(samples::checkpoints().iter().map(checkpoint).collect::<Vec<_>>(), [12, 12]);
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}: not a whole number: {text}")))
}

/// A short run of every kind that has a reader of its own.
fn runs() -> Folder {
    let folder = Folder::in_memory("formats");
    std::fs::write(folder.path("text.txt"), samples::TEXT.repeat(4)).unwrap();
    folder.succeed("train life --device cpu --updates 2 --quick --quiet --out life");
    folder.succeed(
        "train logic-mnist --data synthetic --device cpu --updates 1 --set layers=60,20 --set candidates=2 \
         --set simplify_seconds=0 --quiet --out logic",
    );
    folder.succeed(
        "train lm --data text.txt --device cpu --layers 1 --heads 1 --width 8 --context 8 --batch 2 --updates 1 \
         --set sample=1 --quiet --out lm",
    );
    folder
}

/// Where the file of a format is damaged: the run that it belongs to, or a folder of its own.
fn place(runs: &Folder, format: &Format) -> PathBuf {
    let folder = runs.path(format.name.split('/').next().unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Damages a sample and reads it; what went wrong, if anything did.
fn try_one(format: &Format, folder: &Path, seed: u64, watch: &Watch) -> Option<String> {
    let mut bytes = Mutator::new(seed).damaged(&format.samples);
    if seed.is_multiple_of(2) {
        (format.mend)(&mut bytes);
    }
    let path = folder.join(format.file);
    let before = std::fs::read(&path).ok();
    std::fs::write(&path, &bytes).unwrap();
    let mut caught = None;
    watch.begin(format.name, seed, &bytes);
    let peak = peak_of(|| caught = catch_unwind(AssertUnwindSafe(|| (format.read)(folder))).err());
    watch.end();
    let most = (ALLOWED + format.cost * bytes.len()).min(MOST);
    let wrong = match caught {
        Some(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            Some(format!("panics: {}", text.unwrap_or_default()))
        }
        None if peak > most => {
            Some(format!("takes {peak} bytes for a file of {} ({peak} vs {most})", bytes.len()))
        }
        None => None,
    };
    if let Some(before) = before {
        std::fs::write(&path, before).unwrap();
    }
    wrong.map(|wrong| {
        format!("{} {wrong}\n  seed {seed}, file {}", format.name, keep(format.name, seed, &bytes))
    })
}

/// Keeps the bytes that made something fail.
fn keep(name: &str, seed: u64, bytes: &[u8]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{}-{seed}", name.replace('/', "-")));
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// What is being read: its format, seed and bytes, and since when.
type Reading = Option<(&'static str, u64, Vec<u8>, Instant)>;

/// Ends the process, and says why, when a file takes too long.
struct Watch(Arc<Mutex<Reading>>);

impl Watch {
    fn start() -> Watch {
        let watch = Watch(Arc::new(Mutex::new(None)));
        let shared = watch.0.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(500));
                let reading = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((name, seed, bytes, since)) = &*reading
                    && since.elapsed() > PATIENCE
                {
                    eprintln!(
                        "{name} takes longer than {PATIENCE:?}: seed {seed}, file {}",
                        keep(name, *seed, bytes)
                    );
                    std::process::exit(1);
                }
            }
        });
        watch
    }

    fn begin(&self, name: &'static str, seed: u64, bytes: &[u8]) {
        *self.0.lock().unwrap() = Some((name, seed, bytes.to_vec(), Instant::now()));
    }

    fn end(&self) {
        *self.0.lock().unwrap() = None;
    }
}
