//! One look for all commands: words, colors, exit codes, closed pipes, what `--json` and `--quiet` mean.

mod folder;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use folder::Folder;
use serde_json::Value;

const TINY: &str = "train life --device cpu --updates 3";

/// Exit code, stdout, stderr.
fn answer(folder: &Folder, arguments: &str) -> (Option<i32>, String, String) {
    let output = folder.farad(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn bad_command_lines_are_answered_in_one_form() {
    let folder = Folder::new("look-bad");
    folder.succeed(&format!("{TINY} --quiet --out runs/life-5"));
    std::fs::write(folder.path("text.txt"), "the cat sat on the mat. ".repeat(40)).unwrap();
    std::fs::write(folder.path("empty.csv"), "width,height,kind\n").unwrap();
    bad_files(&folder);
    for (arguments, code, wanted) in [
        (
            "trian",
            2,
            "error: farad: there is no command `trian`; did you mean `train`?\nhelp: `farad --help`",
        ),
        (
            "train lizzard",
            2,
            "error: train: there is nothing called `lizzard` to learn; did you mean `lizard`?\nhelp: ",
        ),
        ("train lizzard --list", 2, "did you mean `lizard`?"),
        (
            "train life --devise cpu",
            2,
            "error: train: there is no flag `--devise`; did you mean `--device`?\nhelp: ",
        ),
        ("train life --device tpu", 2, "error: device: unknown name: tpu\nhelp: "),
        (
            "train life --seeds 0",
            2,
            "error: train: --seeds takes a whole number from 1 to 1,024, not `0`\nhelp: ",
        ),
        ("train life --set learningrate=1", 2, "did you mean `learning_rate`?\nhelp: the keys are "),
        ("train life --updates 0", 2, "error: train: --updates takes a whole number from 1 on, not `0`"),
        (
            "train life --updates -5",
            2,
            "error: train: --updates takes a whole number from 1 on, not `-5`\nhelp: ",
        ),
        ("train life --seed -1", 2, "error: train: --seed takes a whole number from 0 on, not `-1`"),
        ("simulate runs/life-5 --steps -3", 2, "simulate: --steps takes a whole number from 0 on, not `-3`"),
        ("simulate runs/life-5 --grid -4x4", 2, "error: simulate: the grid is not WIDTHxHEIGHT"),
        ("generate runs/life-5 --temperature -1", 2, "--temperature takes a number from 0 on, not `-1`"),
        (
            "train life --updates 3 --set updates=4",
            2,
            "error: train: --updates and --set updates=… are the same\nhelp: ",
        ),
        (
            "train csv --data text.txt --recipe reference",
            2,
            "error: train: csv does not take --recipe\nhelp: ",
        ),
        ("train lm --data text.txt --recipe reference", 2, "error: train: lm does not take --recipe\nhelp: "),
        ("train logic-table --data text.txt --recipe reference", 2, "does not take --recipe\nhelp: "),
        (
            "train --resume runs/life-5 --updates 2",
            1,
            "more were made already (2 vs 3)\nhelp: ask for more than 3",
        ),
        ("train life --profile=nowhere/t.json", 1, "error: profile: the folder of this file is not there: "),
        (
            "simulate runs/life-5 --gif nowhere/x.gif",
            1,
            "error: simulate: the folder of this file is not there: ",
        ),
        ("bench --filter , --device cpu", 2, "error: bench: no case matches: "),
        ("train life --set batch", 2, "error: settings: `batch` is not key=value"),
        ("train life --set batch=x", 2, "error: settings: batch takes "),
        ("train life --layers 2", 2, "error: train: life does not take --layers\nhelp: use "),
        (
            "train life --resume runs/life-5",
            2,
            "error: train: RECIPE does not go with --resume\nhelp: `farad train --resume runs/life-5` goes on",
        ),
        (
            "train mnist --data synthetic --optimizer adamm",
            2,
            "there is no optimizer `adamm`; did you mean `adam`?\nhelp: ",
        ),
        (
            "train mnist --data synthetic --schedule cosin",
            2,
            "there is no schedule `cosin`; did you mean `cosine`?",
        ),
        (
            "train mnist --model cmn",
            2,
            "error: train: --model does not take `cmn`; did you mean `cnn`?\nhelp: it takes mlp",
        ),
        (
            "train lm --data text.txt --tokenizer chras",
            2,
            "there is no `chras`; did you mean `chars`?\nhelp: ",
        ),
        ("train lm --data text.txt --set batchs=3", 2, "did you mean `batch`?"),
        ("train lm --quick --data text.txt", 2, "error: train: lm does not take --quick\nhelp: "),
        ("train csv", 2, "error: train: csv needs --data\nhelp: "),
        (
            "train mnist --data text.txt",
            1,
            "error: mnist: a file, where a folder is expected: text.txt\nhelp: name the folder that holds train-images",
        ),
        (
            "train logic-mnist --data text.txt",
            1,
            "error: mnist: a file, where a folder is expected: text.txt",
        ),
        ("train cifar10 --data text.txt", 1, "error: cifar10: a file, where a folder is expected: text.txt"),
        ("train images --data text.txt", 1, "error: images: a file, where a folder is expected: text.txt"),
        ("train csv --data runs", 1, "error: csv: a folder, where a file is expected: runs\nhelp: "),
        ("train csv --data empty.csv", 1, "error: csv: no samples: empty.csv: "),
        ("train logic-table --data empty.csv", 1, "error: csv: no samples: empty.csv: "),
        ("train csv --data absent.csv", 1, "absent.csv"),
        (
            "train --resume runs/lief-5",
            1,
            "no such folder; did you mean `runs/life-5`?\nhelp: the runs here are runs/life-5",
        ),
        ("eval", 2, "error: eval: RUN is missing\nusage: farad eval"),
        ("eval life-5", 1, "did you mean `runs/life-5`?"),
        ("eval text.txt", 1, "error: run: not a run: text.txt"),
        ("train nowhere.json", 1, "nowhere.json: No such file or directory"),
        (
            "watch runs/life-5",
            1,
            "error: watch: nothing acts in this run: runs/life-5 is a run of kind automaton\nhelp: ",
        ),
        ("eval runs/life-5 --speed", 2, "error: eval: --speed is not for a run of kind automaton\nhelp: "),
        (
            "eval runs/life-5 --device cpu",
            2,
            "error: eval: --device is not for a run of kind automaton\nhelp: ",
        ),
        (
            "export runs/life-5 --format verilg --out v",
            2,
            "there is no format `verilg`; did you mean `verilog`?\nhelp: ",
        ),
        ("export runs/life-5 --format c --seed 99 --out v", 2, "the run has no seed 99\nhelp: "),
        ("export runs/life-5", 2, "error: export: --format and --out are missing\nusage: farad export"),
        ("inspect runs/life-6", 1, "did you mean `runs/life-5`?\nhelp: "),
        ("simulate runs/life-5 --grid 4", 2, "error: simulate: the grid is not WIDTHxHEIGHT"),
        ("simulate text.txt", 1, "text.txt"),
        (
            "generate runs/life-5",
            1,
            "error: run: not a language model: runs/life-5 is a run of kind automaton\nhelp: ",
        ),
        (
            "predict runs/life-5 --data text.txt",
            1,
            "error: predict: neither classes nor numbers come from this: runs/life-5 is a run of kind automaton\nhelp: `farad simulate runs/life-5`",
        ),
        ("predict runs/lief-5 --data text.txt", 1, "did you mean `runs/life-5`?"),
        ("predict runs/life-5", 2, "error: predict: --data is missing\nusage: farad predict"),
        ("predict runs/life-5 --data x --top 0", 2, "predict: --top takes a whole number from 1 on, not `0`"),
        ("bench --filter teleport --device cpu", 2, "error: bench: no case matches: teleport (0 vs "),
        ("tune --device cpu", 1, "error: tune: nothing to tune: cpu"),
        ("sweep", 2, "error: sweep: FILE.toml is missing\nusage: farad sweep"),
        ("sweep nowhere.toml", 1, "nowhere.toml: No such file or directory"),
        ("sweep --resume runs", 1, "error: sweep: not a sweep: runs: it has no sweep.toml\nhelp: "),
        ("sweep text.txt", 1, "error: sweep: text.txt:1: it is not TOML: "),
        ("sweep a.toml --resume runs", 2, "error: sweep: FILE.toml does not go with --resume\nhelp: "),
        ("sweep a.toml --jobs 0", 2, "error: sweep: --jobs takes a whole number from 1 to 256, not `0`"),
        ("runs nowhere", 1, "error: runs: no such folder: nowhere\nhelp: "),
        ("man tarin", 2, "error: man: there is no page for `tarin`; did you mean `train`?\nhelp: "),
        ("Train life", 2, "there is no command `Train`; did you mean `train`?"),
        (
            "train life --set batch=0",
            2,
            "not `0`\nhelp: `farad train NAME --list` shows what every setting takes",
        ),
        ("train csv --data txt.text", 1, "\nhelp: there is no `txt.text` where the command was started"),
        ("train csv --data runs/a/b.csv", 1, "No such file or directory\nhelp: there is no `a` in runs"),
        ("train csv --data text.txt --config empty.cvs", 1, "; did you mean `empty.csv`?"),
        ("train csv --data wide.csv", 1, "it is UTF-16\nhelp: save the table as UTF-8"),
        (
            "train csv --data ragged.csv",
            1,
            "line 3: another number of columns (2 vs 3)\nhelp: a row has a field for ",
        ),
        ("train csv --data open.csv", 1, ", and a quotation mark is not closed\nhelp: "),
        ("train csv --data same.csv", 1, "error: train: there is one class: "),
        ("train csv --data own.csv", 1, "error: train: every sample is a class of its own: "),
        (
            "train csv --data same.csv --set target=Kind",
            1,
            "`Kind`; did you mean `kind`?\nhelp: the columns are x, kind",
        ),
        (
            "train csv --data same.csv --set target=x --set class_weights=balanced",
            1,
            "class_weights is for classes",
        ),
        ("train images --data pictures", 1, "open.png: it starts with nothing, as it is empty\nhelp: "),
        ("train lm --data text.txt --lora 8", 1, "there are no weights that adapters could adapt\nhelp: "),
        ("train cartpole --config text.txt", 1, "\nhelp: a line is `key = value`"),
        ("train life --out text.txt", 1, "Not a directory\nhelp: a file is where a folder is wanted"),
        (
            "train bodys.json",
            1,
            "there is no such key; did you mean `bodies`?\nhelp: the keys here are version",
        ),
        ("generate runs/life-5 --store i8", 2, "error: generate: --store needs --weights\nhelp: "),
        ("generate runs/life-5 --speed", 2, "error: generate: --speed needs --weights\nhelp: "),
        (
            "grow runs/life-5 --out x.json",
            1,
            "error: grow: no creatures in this run: runs/life-5 is a run of kind automaton",
        ),
        ("grow --random 1 --out nowhere/x.json", 1, "error: grow: the folder of this file is not there: "),
        ("inspect text.txt", 1, "\nhelp: a circuit file is JSON"),
        ("simulate runs/life-5 --healing f.svg --steps 0", 2, "from 1 to 150, not 0\nhelp: "),
        ("export runs/life-5 --format c --out text.txt", 1, "\nhelp: a file is where a folder is wanted"),
        ("runs text.txt", 1, "error: runs: not a folder: text.txt\nhelp: "),
        ("dashboard text.txt --port 0", 1, "error: dashboard: not a folder: text.txt\nhelp: "),
        ("serve runs/life-5 --host banana", 2, "it takes an address such as 127.0.0.1"),
        ("data get", 2, "error: data: SET is missing\nusage: farad data get SET\nhelp: it is one of mnist, "),
        (
            "data get mnist --from nonsense",
            1,
            "it is no address of the web\nhelp: name an address that begins with http",
        ),
        ("sweep a.toml --retry", 2, "error: sweep: --retry needs --resume\nhelp: "),
        ("sweep lost.toml", 1, "lost.toml:2: fixed.data: no such file or folder: nowhere.csv\nhelp: "),
        ("sweep lost.toml --resume", 2, "--resume needs a value"),
        ("completions csh", 2, "error: completions: SHELL does not take `csh`"),
    ] {
        let (found, out, error) = answer(&folder, arguments);
        assert_eq!(found, Some(code), "{arguments}: {error}");
        assert!(error.contains(wanted), "{arguments}: {wanted:?} is not in {error}");
        assert_eq!((error.matches("error: ").count(), out.as_str()), (1, ""), "{arguments}: {error}");
    }
    assert!(!folder.path("v").exists() && !folder.path("data").exists());
    let left = std::fs::read_dir(folder.path("runs")).unwrap().count();
    assert_eq!(left, 1, "no command left a run or a part of one");
}

/// Files that people have by mistake.
fn bad_files(folder: &Folder) {
    let rows = |row: &dyn Fn(usize) -> String| (0..40).map(row).collect::<String>();
    for (name, text) in [
        ("ragged.csv", "a,b,c\n1,2,x\n1,2\n".to_string()),
        ("open.csv", "a,b\n\"1,x\n2,y\n".into()),
        ("same.csv", format!("x,kind\n{}", rows(&|n| format!("{n},yes\n")))),
        ("own.csv", format!("x,kind\n{}", rows(&|n| format!("{n},k{n}\n")))),
        ("bodys.json", r#"{"version": 1, "name": "x", "bodys": []}"#.into()),
        (
            "lost.toml",
            "train = \"csv\"\nfixed = { data = \"nowhere.csv\" }\nspace = { batch = [1, 2] }\nsearch = { kind = \"grid\" }\n\
             score = { figure = \"loss\", best = \"min\" }\n"
                .into(),
        ),
    ] {
        std::fs::write(folder.path(name), text).unwrap();
    }
    let wide = "\u{feff}x,kind\n1,a\n2,b\n".encode_utf16().flat_map(u16::to_le_bytes);
    std::fs::write(folder.path("wide.csv"), wide.collect::<Vec<u8>>()).unwrap();
    for class in ["cat", "dog"] {
        std::fs::create_dir_all(folder.path("pictures").join(class)).unwrap();
        for n in 0..8 {
            std::fs::write(folder.path("pictures").join(class).join(format!("{n}open.png")), "").unwrap();
        }
    }
}

/// What no device can hold is refused at once, with numbers, and leaves nothing behind.
#[test]
fn what_is_too_large_is_refused_before_there_is_a_run() {
    let folder = Folder::new("look-large");
    std::fs::write(folder.path("text.txt"), "the cat sat on the mat. ".repeat(40)).unwrap();
    let rows: String = (0..40).map(|n| format!("{n},{},{}\n", n * 7 % 5, ["a", "b"][n % 2])).collect();
    std::fs::write(folder.path("table.csv"), format!("x,y,kind\n{rows}")).unwrap();
    for arguments in [
        "train lm --data text.txt --width 1000000",
        "train lm --data text.txt --layers 4096 --width 65536",
        "train lm --data text.txt --context 16 --batch 1000000 --vocabulary 16777216",
        "train csv --data table.csv --set sizes=65536,65536,65536,65536,65536,65536,65536,65536",
        "train mnist --data synthetic --model rnn --set sizes=65536,65536,65536,65536",
        "train logic-table --data table.csv --set layers=4194302,4194302,4194302,4194302,4194302,4194302,4194302,4194302 \
         --set wiring=learned --set candidates=64 --set model=small",
        "train life --set steps=1000000000000",
        "train colored-g --seeds 1024 --set height=2000 --set width=2000 --set batch=1",
    ] {
        let begin = std::time::Instant::now();
        let (code, out, error) = answer(&folder, &format!("{arguments} --device cpu"));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{arguments}: {error}");
        for wanted in ["error: train: too large for the device: cpu: weights ", " at least vs ", "\nhelp: "] {
            assert!(error.contains(wanted), "{arguments}: {wanted:?} is not in {error}");
        }
        assert!(!error.contains(".rs"), "{arguments}: no source file: {error}");
        assert!(begin.elapsed().as_secs() < 20, "{arguments} took {:?}", begin.elapsed());
        assert!(!folder.path("runs").exists(), "{arguments} left a run");
    }
}

#[test]
fn damaged_runs_are_listed_with_what_is_wrong() {
    let folder = Folder::new("look-damaged");
    folder.succeed(&format!("{TINY} --quick --quiet --out runs/whole"));
    let config = std::fs::read_to_string(folder.path("runs/whole/config.toml")).unwrap();
    let newer = config.replace("version = 1", "version = 99");
    for (name, text, problem) in [
        ("cut", "x = [", "config.toml is damaged: "),
        ("empty", "", "its config.toml does not say format = \"farad-run\""),
        ("newer", &*newer, "newer version: "),
        ("lost", "", "it has no config.toml"),
    ] {
        let path = folder.path("runs").join(name);
        std::fs::create_dir(&path).unwrap();
        for file in ["log.csv", "events.jsonl"] {
            std::fs::copy(folder.path("runs/whole").join(file), path.join(file)).unwrap();
        }
        if name != "lost" {
            std::fs::write(path.join("config.toml"), text).unwrap();
        }
        let listed = folder.succeed("runs --quiet");
        let line = listed.lines().find(|line| line.starts_with(name)).expect(name);
        assert!(line.contains("damaged") && line.contains(problem), "{line}");
        let json = folder.succeed(&format!("runs runs/{name} --json --quiet"));
        let value: Value = serde_json::from_str(&json).unwrap();
        assert!(value["problem"].as_str().is_some_and(|text| text.contains(problem)), "{json}");
    }
    let (_, listed, told) = answer(&folder, "runs");
    assert!(listed.contains("whole") && !told.contains("go on"), "a damaged run is not offered: {told}");
}

#[test]
fn variables_that_mean_nothing_are_told() {
    let folder = Folder::new("look-variables");
    for (name, value, arguments, wanted) in [
        (
            "FARAD_DEVICE",
            "banana",
            "devices",
            "FARAD_DEVICE does not take `banana`: the cpu is used\nhelp: it takes best",
        ),
        ("FARAD_DEVICE", "gpu:99", "devices", "there is no device FARAD_DEVICE=gpu:99: the cpu is used"),
        ("FARAD_DEVICE", "banana", "train life --updates 1 --quick", "FARAD_DEVICE=banana cannot be used"),
        ("FARAD_DEBUG", "plam", "runs", "FARAD_DEBUG does not know `plam`"),
        (
            "FARAD_FAULT",
            "memory",
            "runs",
            "FARAD_FAULT does not take `memory`\nhelp: it takes lose-device:N or memory:BYTES",
        ),
        ("FARAD_DATA", "nowhere", "train mnist", "FARAD_DATA=nowhere is no folder"),
    ] {
        let output = folder.command(arguments).env(name, value).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(wanted), "{name}={value} farad {arguments}: {error}");
    }
}

#[test]
fn newcomers_are_told_what_to_do() {
    let folder = Folder::new("look-new");
    let (code, _, text) = answer(&folder, "");
    assert_eq!(code, Some(2));
    assert!(text.contains("Usage: farad") && text.contains("farad train checkerboard"), "{text}");
    let (code, out, text) = answer(&folder, "runs");
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert!(text.contains("no runs in runs: `farad train checkerboard` makes the first"), "{text}");
    let (_, _, text) = answer(&folder, "eval");
    assert!(
        text.contains("help: there are no runs here yet; `farad train checkerboard` makes one"),
        "{text}"
    );
    let (_, _, text) = answer(&folder, "train");
    assert!(text.contains("`farad train --list` shows all"), "{text}");
    assert!(folder.succeed("--version").starts_with("farad "));
    let (short, long) = (folder.succeed("train -h"), folder.succeed("help train"));
    assert!(long.len() > short.len() && long == folder.succeed("train --help"));
    for heading in ["Automata:", "Data sets:", "Language models:", "Output:", "Examples:"] {
        assert!(short.contains(heading), "{heading} is not in {short}");
    }
    let help = folder.succeed("--help");
    for code in ["0      done", "1      failed", "2      wrong command line", "130    interrupted"] {
        assert!(help.contains(code), "{help}");
    }
}

#[test]
fn a_training_ends_with_what_it_made_and_what_to_try() {
    let folder = Folder::new("look-end");
    let (code, out, text) = answer(&folder, TINY);
    assert_eq!(code, Some(0), "{text}");
    assert!(out.starts_with("seed  exact  wrong bits"), "{out}");
    let name = std::fs::read_dir(folder.path("runs")).unwrap().next().unwrap().unwrap().file_name();
    let run = format!("runs/{}", name.display());
    for wanted in [
        "life: Conway's Game of Life".to_string(),
        "device    cpu\n".into(),
        format!("run       {run} (Ctrl-C saves"),
        "not exact: ".into(),
        format!("report    {run}/report.md\n"),
        format!("page      {run}/report.html ("),
        "dashboard  ".into(),
        "all runs in the browser\n".into(),
        format!("pictures  {run}/plots: circuit.svg"),
        format!("circuits  {run}/circuits: seed-"),
        format!("train --resume {run} --updates N"),
    ] {
        assert!(text.contains(&wanted), "{wanted:?} is not in {text}");
    }
    let (_, _, text) = answer(&folder, TINY);
    assert!(text.contains(&format!("{run} is there already and stays; this run is {run}-2\n")), "{text}");
    let (code, out, text) = answer(&folder, &format!("{TINY} --quiet --json"));
    assert_eq!((code, text.as_str()), (Some(0), ""));
    assert_eq!(out.lines().count(), 1, "{out}");
    let listed = folder.succeed("runs");
    assert_eq!(listed.lines().count(), 4, "{listed}");
    let one = folder.succeed(&format!("runs {run}"));
    assert_eq!(one.lines().count(), 2, "{one}");
}

/// The keys that a help text documents for `--json`, after a word at the margin if there is one.
fn documented(folder: &Folder, command: &str, kind: &str) -> BTreeSet<String> {
    let help = folder.succeed(&format!("{command} --help"));
    let keys = help.split_once("Keys of --json:\n").expect("keys are documented").1;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = String::new();
    let mut lines =
        keys.lines().take_while(|line| !line.is_empty()).skip_while(|line| !line[2..].starts_with(kind));
    found += lines.next().map_or("", |line| &line[2 + kind.len()..]);
    lines.take_while(|line| indent(line) > 2 || kind.is_empty()).for_each(|line| found += line);
    found.split(',').map(|key| key.trim().to_string()).filter(|key| !key.is_empty()).collect()
}

#[test]
fn the_keys_of_json_are_those_that_help_names() {
    let folder = Folder::new("look-keys");
    let trained = folder.succeed(&format!("{TINY} --quiet --json --out run"));
    let circuit = folder.path("run/circuits").read_dir().unwrap();
    let circuit = circuit
        .map(|file| file.unwrap().path())
        .find(|path| path.display().to_string().ends_with(".simplified.json"));
    let circuit = circuit.expect("a circuit").display().to_string();
    let keys = |text: &str| -> BTreeSet<String> {
        let value: Value = serde_json::from_str(text.lines().last().expect("a line")).unwrap();
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&trained), documented(&folder, "eval", "automata"));
    let not: String = (0..30).map(|n| format!("{},{}\n", n % 2, ["yes", "no"][n % 2])).collect();
    std::fs::write(folder.path("not.csv"), format!("x,kind\n{not}")).unwrap();
    let train = "--data not.csv --device cpu --quiet";
    folder.succeed(&format!("train csv {train} --epochs 1 --out net"));
    folder.succeed(&format!("train table {train} --updates 5 --out bits"));
    let small = "--updates 1 --set worlds=4 --set horizon=8 --set validation=1 --set episodes=2";
    folder.succeed(&format!("train cartpole {small} --device cpu --quiet --out agent"));
    let small = "--updates 1 --set population=2 --set settle=0.1 --set seconds=0.1 --set films=1";
    folder.succeed(&format!("train evolve {small} --device cpu --quiet --out creatures"));
    std::fs::write(folder.path("new.csv"), "x\n1\n").unwrap();
    for (command, arguments, kind) in [
        ("eval", "run", "automata"),
        ("runs", ".", ""),
        ("devices", "", "reference"),
        ("simulate", "run --grid 4x4 --steps 2 --device cpu", ""),
        ("inspect", &*circuit, "circuit"),
        ("eval", "agent", "worlds"),
        ("eval", "creatures", "creatures"),
        ("eval", "net", "data sets"),
        ("watch", "agent --most 3", ""),
        ("watch", "creatures --most 3", ""),
        ("grow", "creatures --out world.json", ""),
        ("export", "run --format json --out json", ""),
        ("predict", "net --data new.csv", "classes"),
        ("predict", "bits --data new.csv", "numbers"),
    ] {
        let out = folder.succeed(&format!("{command} {arguments} --json"));
        assert_eq!(keys(&out), documented(&folder, command, kind), "{command}");
    }
    let devices = folder.succeed("devices --json");
    let cpu = devices.lines().find(|line| line.contains(r#""device":"cpu""#)).expect("there is a cpu");
    assert_eq!(keys(cpu), documented(&folder, "devices", "cpu"));
    let listed: Vec<BTreeSet<String>> = folder.succeed("train --list --json").lines().map(keys).collect();
    assert_eq!(documented(&folder, "dashboard", ""), BTreeSet::from(["address".to_string()]));
    assert!(!folder.succeed("train life --list").contains("00000"), "numbers are shown as they are written");
    assert!(listed.len() > 10 && listed.iter().all(|keys| keys.len() == 3), "{listed:?}");
    assert!(folder.succeed("train life --list --json").contains(r#"{"key":"learning_rate","default":"#));
}

/// Every command that is shown may be typed, wherever the run lies.
#[test]
fn paths_with_spaces_are_quoted() {
    let folder = Folder::new("look-spaces");
    let mut command = folder.command(TINY);
    let output = command.args(["--out", "sp ace/run 1"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("train --resume 'sp ace/run 1' --updates N"), "{text}");
    assert!(text.contains("train --resume 'sp ace/run 1'` goes on"), "{text}");
    let report = std::fs::read_to_string(folder.path("sp ace/run 1/report.md")).unwrap();
    assert!(report.contains("farad export 'sp ace/run 1' --format verilog"), "{report}");
}

#[test]
fn films_are_not_written_over() {
    let folder = Folder::new("look-films");
    folder.succeed(&format!("{TINY} --quiet --out run"));
    let simulate = "simulate run --grid 4x4 --steps 2 --device cpu --quiet";
    let films = [1, 2].map(|_| folder.succeed(&format!("{simulate} --gif")));
    assert!(
        films[0].contains("film run/simulation.gif") && films[1].contains("film run/simulation-2.gif"),
        "{films:?}"
    );
    folder.succeed(&format!("{simulate} --gif film.gif"));
    let named = folder.succeed(&format!("{simulate} --gif simulation.gif"));
    assert!(named.contains("film simulation.gif") && folder.path("simulation.gif").is_file(), "{named}");
    assert!(
        folder
            .fail(&format!("{simulate} --gif film.gif"))
            .contains("simulate: a file is there already: film.gif")
    );
}

#[test]
fn colors_are_for_terminals_and_those_who_ask() {
    let folder = Folder::new("look-colors");
    let escapes = |arguments: &str, name: &str, value: &str| {
        let mut command = folder.command(arguments);
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "CI"] {
            command.env_remove(name);
        }
        let output = command.env(name, value).output().unwrap();
        (output.stdout.contains(&0x1b), output.stderr.contains(&0x1b))
    };
    assert_eq!(escapes("train --list", "FARAD_DEBUG", ""), (false, false), "a pipe");
    assert_eq!(escapes("train --list", "CLICOLOR_FORCE", "1"), (true, false));
    assert_eq!(escapes("eval nowhere", "FARAD_DEBUG", ""), (false, false), "a pipe");
    assert_eq!(escapes("eval nowhere", "CLICOLOR_FORCE", "1"), (false, true));
    assert_eq!(escapes("--help", "CLICOLOR_FORCE", "1"), (true, false));
}

#[test]
fn whoever_closes_a_pipe_has_seen_enough() {
    let folder = Folder::new("look-pipes");
    for arguments in [
        "--help",
        "train --list",
        "train life --list",
        "devices",
        "completions bash",
        "man train",
        "bench --device cpu --filter xor",
    ] {
        // Of stdout one line is read, of stderr none.
        let mut child =
            folder.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "{arguments}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments}");
    }
    // A training goes on without anybody listening, and an error keeps its code.
    let mut child = folder
        .command(&format!("{TINY} --out run"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stderr.take(), child.stdout.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(folder.path("run/report.md").is_file());
    let mut child = folder.command("eval nowhere").stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[cfg(unix)]
#[test]
fn an_interrupted_training_is_saved_and_says_so() {
    let folder = Folder::new("look-interrupted");
    let start =
        "train life --device cpu --updates 1000000 --set evaluate_every=1000000 --set checkpoint_every=1";
    let mut child = folder.command(&format!("{start} --out run")).stderr(Stdio::piped()).spawn().unwrap();
    let begun = |event: &Value| event["event"] == "checkpoint";
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while !folder::events(&folder.path("run")).iter().any(begun) && std::time::Instant::now() < patience {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    assert!(text.contains("stopped and saved after ") && text.contains("train --resume run\n"), "{text}");
    assert!(!text.contains("error:"), "{text}");
    let state = folder.succeed("runs . --json");
    assert!(state.contains("\"state\":\"stopped\""), "{state}");
}
