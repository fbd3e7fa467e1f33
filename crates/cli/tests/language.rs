//! Language models as users train them: runs, reports, going on, text, and what is refused.

mod folder;

use std::io::Write;
use std::process::{Output, Stdio};

use farad::run::LogTable;
use folder::{Folder, events, results};
use serde_json::Value;

/// A model that learns the sentences below within a second or two.
const SHORT: &str = "train lm --data text.txt --device cpu --layers 1 --heads 2 --width 32 --context 16 --batch 8 \
    --updates 60 --learning-rate 0.01 --warm-up 5 --set evaluate_every=20 --set checkpoint_every=15 --set log_every=7 \
    --set sample=40 --quiet";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A folder with a text of a few words in an order that can be learned.
fn with_text(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::write(folder.path("text.txt"), sentences(300)).unwrap();
    folder
}

fn sentences(count: usize) -> String {
    let (mut state, mut text) = (7u64, String::new());
    let mut pick = |words: &[&'static str]| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        words[(state >> 33) as usize % words.len()]
    };
    for _ in 0..count {
        let (who, does, what) =
            (pick(&["cat", "dog", "bird"]), pick(&["sees", "likes"]), pick(&["milk", "hats"]));
        text += &format!("the {who} {does} {what} .\n");
    }
    text
}

/// `farad` with arguments that may have spaces, and something to read.
fn farad(folder: &Folder, arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
    let mut command = folder.command("");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_ref()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_model_is_trained_judged_listed_and_writes_text() {
    let folder = with_text("lm");
    let trained = json(&folder.succeed(&format!("{SHORT} --out runs/one --json")));
    // Sentences are two or three bits of choice in 26 letters: guessing by frequency costs more than two nats.
    assert!(trained["loss"].as_f64() < Some(1.5), "{trained}");
    let perplexity = trained["loss"].as_f64().unwrap().exp();
    assert!((trained["perplexity"].as_f64().unwrap() / perplexity - 1.0).abs() < 1e-9, "{trained}");
    let text = std::fs::read(folder.path("text.txt")).unwrap().len();
    assert_eq!(trained["tokens"].as_u64(), Some((text - (0.9 * text as f64) as usize - 1) as u64));
    let run = folder.path("runs/one");
    for file in
        ["config.toml", "log.csv", "best.safetensors", "checkpoint.safetensors", "plots/perplexity.svg"]
    {
        assert!(run.join(file).is_file(), "{file}");
    }
    let report = std::fs::read_to_string(run.join("report.md")).unwrap();
    for text in [
        "**Validation loss ",
        "tokens/s, an epoch of",
        "| attention |",
        "| other host time |",
        "## Sample",
        "Next: `farad",
    ] {
        assert!(report.contains(text), "{text} is not in {report}");
    }
    let last = events(&run).pop().unwrap();
    assert_eq!((last["event"].as_str(), last["step"].as_u64()), (Some("end"), Some(60)));
    assert!(last["tokens_per_second"].as_f64() > Some(0.0) && last["shape"].is_string(), "{last}");
    assert!(last["profile"]["kernels"].as_array().unwrap().len() == 3, "{last}");
    let judged = json(&folder.succeed("eval runs/one --json"));
    assert_eq!((&judged["loss"], &judged["tokens"]), (&trained["loss"], &trained["tokens"]));
    std::fs::write(folder.path("other.txt"), "the dog likes milk .\n").unwrap();
    let other = json(&folder.succeed("eval runs/one --data other.txt --json"));
    assert_eq!(other["tokens"].as_u64(), Some(20));
    let listed = json(&folder.succeed("runs --json"));
    assert_eq!((listed["name"].as_str(), listed["kind"].as_str()), (Some("one"), Some("lm")));
    assert_eq!((listed["updates"].as_u64(), listed["state"].as_str()), (Some(60), Some("done")));
    assert!(folder.succeed("runs").contains("validation perplexity "));
    assert_eq!(json(&folder.succeed("inspect runs/one --json"))["tokenizer"], "chars");
    let write = |seed: &str| {
        let arguments = ["generate", "runs/one", "--prompt", "the cat", "--tokens", "30", "--seed", seed];
        String::from_utf8(farad(&folder, &arguments, "").stdout).unwrap()
    };
    assert!(write("1").starts_with("the cat") && write("1").chars().count() == 7 + 30 + 1, "{}", write("1"));
    assert_eq!(write("1"), write("1"));
    assert_ne!(write("1"), write("2"));
    let greedy =
        ["generate", "runs/one", "--prompt", "the ", "--tokens", "4", "--temperature", "0", "--json"];
    let greedy = json(&String::from_utf8(farad(&folder, &greedy, "").stdout).unwrap());
    assert_eq!(greedy["tokens"].as_u64(), Some(4));
    let said = farad(
        &folder,
        &["chat", "runs/one", "--tokens", "5"],
        b"the dog\n\xc3\xbcmlaut\n\xff\n/new\nthe\n/quit\nno\n",
    );
    assert!(said.status.success());
    let complaints = String::from_utf8_lossy(&said.stderr);
    assert!(complaints.contains("a character that the model does not know: 'ü' at 0"), "{complaints}");
    assert!(complaints.contains("chat: the line is not UTF-8"), "{complaints}");
    assert!(String::from_utf8_lossy(&said.stdout).matches('\n').count() >= 2);
    folder.moves_to_the_cpu("runs/one");
    let best = run.join("best.safetensors");
    let bytes = std::fs::read(&best).unwrap();
    std::fs::write(&best, &bytes[..bytes.len() / 2]).unwrap();
    assert!(folder.fail("inspect runs/one").contains("best.safetensors"));
}

/// Ctrl-C somewhere, then on to the end: nothing shows that it was broken off, with dropout and several batches per update
/// too.
#[cfg(unix)]
#[test]
fn a_run_that_was_stopped_ends_as_an_unbroken_one() {
    use std::process::Command;
    use std::time::{Duration, Instant};
    let folder = with_text("lm-resumed");
    let settings = format!("{SHORT} --dropout 0.1 --accumulate 2");
    folder.succeed(&format!("{settings} --out whole"));
    let break_off = || {
        let mut child = folder.command(&format!("{settings} --out broken")).spawn().unwrap();
        let patience = Instant::now() + Duration::from_secs(120);
        while !folder.path("broken/checkpoint.safetensors").exists() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        child.wait().unwrap().code()
    };
    // 0 if it was done before the signal came.
    let mut code = break_off();
    for _ in 0..5 {
        if code == Some(0) {
            std::fs::remove_dir_all(folder.path("broken")).unwrap();
            code = break_off();
        }
    }
    assert_eq!(code, Some(130));
    assert!(events(&folder.path("broken")).iter().any(|event| event["event"] == "interrupted"));
    // The text is not needed any more.
    std::fs::remove_file(folder.path("text.txt")).unwrap();
    folder.succeed("train --resume broken --quiet");
    assert!(results(&folder.path("whole")) == results(&folder.path("broken")), "results differ");
    let best = |run: &str| std::fs::read(folder.path(run).join("best.safetensors")).unwrap();
    assert!(best("whole") == best("broken"), "the best models differ");
    // And further than was asked for at first.
    folder.succeed("train --resume broken --updates 70 --quiet");
    assert_eq!(events(&folder.path("broken")).pop().unwrap()["step"].as_u64(), Some(70));
    assert!(folder.fail("train --resume broken --updates 5").contains("more were made already (5 vs 70)"));
    // What was refused left nothing behind.
    folder.succeed("train --resume broken --quiet");
}

#[test]
fn every_tokenizer_trains_and_writes() {
    let folder = with_text("lm-tokenizers");
    let quick = SHORT.replace("--updates 60", "--updates 4") + " --set evaluate_every=100 --set sample=5";
    for (name, more) in [("bytes", ""), ("words", "--vocabulary 64"), ("bpe", "--vocabulary 280")] {
        let trained = folder.succeed(&format!("{quick} --tokenizer {name} {more} --out {name} --json"));
        assert!(json(&trained)["loss"].as_f64() > Some(0.0), "{trained}");
        let text = folder.succeed(&format!("generate {name} --prompt the --tokens 6"));
        assert!(text.starts_with("the"), "{text}");
    }
    let config = std::fs::read_to_string(folder.path("words/config.toml")).unwrap();
    assert!(config.contains("vocabulary = 64"), "{config}");
}

#[test]
fn every_optimizer_trains() {
    let folder = with_text("lm-optimizers");
    let quick = SHORT
        .replace("--updates 60", "--updates 20")
        .replace("--learning-rate 0.01", "--learning-rate 0.003");
    for name in ["adamw", "adam", "sgd", "rmsprop", "adagrad", "lion", "muon"] {
        folder.succeed(&format!("{quick} --set sample=0 --optimizer {name} --out {name}"));
        let log = LogTable::read(folder.path(name).join("log.csv")).unwrap();
        let losses = log.series("loss");
        assert!(losses[losses.len() - 1].1 < losses[0].1, "{name}: {losses:?}");
        let report = std::fs::read_to_string(folder.path(name).join("report.md")).unwrap();
        assert!(report.contains(&format!("{name}, learning rate 0.003")), "{report}");
    }
}

/// Where validations do not get better, training ends if it was told to, and the best model is what is judged.
#[test]
fn training_ends_by_itself_and_keeps_the_best() {
    let folder = with_text("lm-patience");
    // Nothing is learned, so the first validation stays the best.
    let idle = SHORT.replace("--learning-rate 0.01", "--learning-rate 0").replace(" --quiet", "");
    let idle = idle.replace("evaluate_every=20", "evaluate_every=2 --set patience=3 --json");
    let output = farad(&folder, &format!("{idle} --out best").split(' ').collect::<Vec<_>>(), "");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let wanted = "trained 8 updates, as 3 validations in a row did not get better; now judging";
    assert!(output.status.success() && text.contains(wanted), "{text}");
    let judged = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((judged["updates"].as_u64(), judged["seed"].as_u64()), (Some(2), Some(1)));
    let end = events(&folder.path("best")).pop().unwrap();
    assert_eq!((end["event"].as_str(), end["step"].as_u64()), (Some("end"), Some(8)));
    let last = json(&folder.succeed(&format!("{idle} --out last --set keep_best=false")));
    assert!(!folder.path("last/best.safetensors").exists() && last["updates"] == 8, "{last}");
}

#[test]
fn a_run_starts_from_the_weights_of_another() {
    let folder = with_text("lm-from");
    folder.succeed(&format!("{SHORT} --out one"));
    std::fs::write(folder.path("other.txt"), sentences(100).replace("the ", "that ")).unwrap();
    let more = "train lm --data other.txt --device cpu --batch 8 --updates 4 --set evaluate_every=0 --set log_every=1 --quiet";
    folder.succeed(&format!("{more} --set from=one --out two"));
    // Sizes and tokens are those of the other run, and so is what it knows.
    let config = std::fs::read_to_string(folder.path("two/config.toml")).unwrap();
    assert!(config.contains("width = 32") && config.contains("from = \"one\""), "{config}");
    let tokens = |run: &str| std::fs::read(folder.path(run).join("tokens/tokenizer.json")).unwrap();
    assert!(tokens("one") == tokens("two"));
    let first = |run: &str| LogTable::read(folder.path(run).join("log.csv")).unwrap().series("loss")[0].1;
    assert!(first("one") > 2.5 && first("two") < 2.0, "{} {}", first("one"), first("two"));
    // From here on nobody needs the other run.
    std::fs::remove_dir_all(folder.path("one")).unwrap();
    folder.succeed("train --resume two --updates 6 --quiet");
    let refused = folder.fail(&format!("{more} --set from=two --tokenizer bytes --out no"));
    assert!(
        refused.contains("train: the tokenizer is that of the run to start from: two (chars vs bytes)"),
        "{refused}"
    );
    assert!(folder.fail(&format!("{more} --set from=two --width 64 --out no")).contains("shape"));
    assert!(folder.fail(&format!("{more} --set from=none --out no")).contains("not a run: none"));
    assert!(!folder.path("no").exists());
}

/// A model of bytes makes any of them. A terminal must not obey them; a pipe gets them as they are.
#[cfg(target_os = "linux")]
#[test]
fn what_a_terminal_would_obey_is_written_out() {
    let folder = Folder::new("lm-control");
    std::fs::write(folder.path("text.txt"), "\x1b[31m\x07 ".repeat(300)).unwrap();
    folder.succeed(&SHORT.replace("train lm", "train lm --tokenizer bytes --out run"));
    let obeyed = |bytes: &[u8]| bytes.iter().filter(|byte| matches!(byte, 0x07 | 0x1b)).count();
    let report = std::fs::read(folder.path("run/report.md")).unwrap();
    assert!(obeyed(&report) == 0 && String::from_utf8_lossy(&report).contains("\\x1b[31m"), "the sample");
    let piped = folder.succeed("generate run --tokens 60 --device cpu").into_bytes();
    assert!(obeyed(&piped) > 4, "a pipe gets what the model made: {piped:?}");
    for command in ["generate run --tokens 60 --device cpu", "chat run --tokens 30 --device cpu"] {
        let farad = env!("CARGO_BIN_EXE_farad");
        let mut terminal = std::process::Command::new("script");
        terminal.args(["-qec", &format!("{farad} {command}"), "/dev/null"]).current_dir(folder.path(""));
        let mut child = terminal
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script is part of util-linux");
        child.stdin.take().unwrap().write_all(b" \n/quit\n").unwrap();
        let shown = child.wait_with_output().unwrap().stdout;
        assert_eq!(obeyed(&shown), 0, "{command}: {}", String::from_utf8_lossy(&shown));
        assert!(String::from_utf8_lossy(&shown).contains("\\x1b["), "{command}");
    }
}

#[test]
fn flags_overrule_a_config_file() {
    let folder = with_text("lm-config");
    std::fs::write(folder.path("model.toml"), "layers = 2\nwidth = 16\nbatch = 3\nactivation = \"swiglu\"\n")
        .unwrap();
    let quick = "train lm --data text.txt --device cpu --heads 2 --context 8 --updates 2 --width 24 --quiet";
    folder.succeed(&format!("{quick} --config model.toml --out run"));
    let config = std::fs::read_to_string(folder.path("run/config.toml")).unwrap();
    for line in ["layers = 2", "width = 24", "batch = 3", "activation = \"swiglu\"", "kind = \"lm\""] {
        assert!(config.contains(line), "{line} is not in {config}");
    }
    std::fs::write(folder.path("wrong.toml"), "layerz = 2\n").unwrap();
    let text = folder.fail(&format!("{quick} --config wrong.toml --out no"));
    assert!(text.contains("settings: there is no key `layerz`; did you mean `layers`?"), "{text}");
    assert!(!folder.path("no").exists());
}

#[test]
fn what_cannot_be_trained_is_said_and_nothing_is_made() {
    let folder = with_text("lm-refused");
    std::fs::write(folder.path("empty.txt"), "").unwrap();
    std::fs::write(folder.path("short.txt"), "abc").unwrap();
    std::fs::write(folder.path("bytes.bin"), [b'a', 0xff, b'b']).unwrap();
    for (arguments, wanted) in [
        ("--data empty.txt", "data: no text: empty.txt (0 bytes in 1 file)"),
        ("--data short.txt", "data: text is shorter than the context: short.txt (2 tokens vs at least 129)"),
        ("--data bytes.bin", "data: not UTF-8: bytes.bin: byte 1\nhelp: use --tokenizer bytes or bpe"),
        ("--data bytes.bin --tokenizer words", "data: not UTF-8: bytes.bin: byte 1"),
        ("--data nothing.txt", "data: file nothing.txt: "),
        ("--data text.txt --width 130", "model: heads do not divide the width: width 130, heads 4"),
        ("--data text.txt --tokenizer letters", "tokenizer: there is no `letters`"),
        ("--data text.txt --vocabulary 3", "tokenizer: vocabulary is too small"),
        ("--data text.txt --set batchs=3", "settings: there is no key `batchs`; did you mean `batch`?"),
        (
            "--data text.txt --optimizer adamx",
            "settings: there is no optimizer `adamx`; did you mean `adam`?",
        ),
        ("--data text.txt --schedule cosine", "train: lm does not take --schedule"),
        ("", "train: lm needs --data"),
    ] {
        let text = folder.fail(&format!("train lm {arguments} --device cpu --out run"));
        assert!(text.contains(wanted), "{arguments}: {text}");
        assert!(!folder.path("run").exists(), "{arguments}");
    }
    assert!(folder.fail("train mnist --layers 2").contains("train: mnist does not take --layers"));
    assert!(folder.fail("runs nowhere").contains("runs: no such folder: nowhere"));
}

#[test]
fn what_does_not_fit_a_model_is_said() {
    let folder = with_text("lm-misfit");
    let quick = SHORT.replace("--updates 60", "--updates 2") + " --set evaluate_every=2";
    folder.succeed(&format!("{quick} --out run"));
    let long = "the cat ".repeat(20);
    let output = farad(&folder, &["generate", "run", "--prompt", &long], "");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("(160 vs 16"), "{text}");
    assert!(
        folder.fail("generate run --prompt ümlaut").contains("a character that the model does not know: 'ü'")
    );
    assert!(folder.fail("generate run --temperature=-1").contains("temperature takes a number from 0 on"));
    // A checkpoint of a run with another vocabulary.
    folder.succeed(&format!("{quick} --tokenizer bytes --out bytes"));
    for file in ["best.safetensors", "checkpoint.safetensors"] {
        std::fs::copy(folder.path("bytes").join(file), folder.path("run").join(file)).unwrap();
    }
    for command in ["generate run", "eval run", "train --resume run"] {
        let text = folder.fail(command);
        assert!(
            text.contains("checkpoint: another vocabulary: run/") && text.contains("bytes with 256 entries"),
            "{text}"
        );
    }
    assert!(
        folder
            .fail("train --resume run --layers 3")
            .contains("train: a run that goes on does not take --layers")
    );
    std::fs::remove_file(folder.path("bytes/best.safetensors")).unwrap();
    std::fs::remove_file(folder.path("bytes/checkpoint.safetensors")).unwrap();
    assert!(folder.fail("generate bytes").contains("nothing was learned yet"));
}
