//! `farad sweep` from end to end: all combinations, draws, halving, trials that fail, kills, bad files.

mod folder;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use folder::Folder;
use serde_json::Value;

/// What all files here have in common.
const COMMON: &str =
    "train = \"csv\"\ndevice = \"cpu\"\n\n[fixed]\ndata = \"flowers.csv\"\nbatch = 8\nwarm_up = 0\n";
const BY_LOSS: &str = "\n[score]\nfigure = \"loss\"\nbest = \"min\"\n";

/// A folder with a table of flowers and the file of a sweep.
fn folder(name: &str, rest: &str) -> Folder {
    let folder = Folder::in_memory(name);
    let row = |n: usize| {
        format!("{},{},{}\n", n % 7, (n * 5) % 11, ["high", "wide", "flat"][(n % 7 + n * 5 % 11) % 3])
    };
    let rows: String = (0..60).map(row).collect();
    std::fs::write(folder.path("flowers.csv"), format!("width,height,kind\n{rows}")).unwrap();
    std::fs::write(folder.path("s.toml"), format!("{COMMON}{rest}{BY_LOSS}")).unwrap();
    folder
}

/// The lines of `--json`.
fn trials(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn scores(trials: &[Value]) -> Vec<f64> {
    trials.iter().filter_map(|trial| trial["score"].as_f64()).collect()
}

/// A table without times, which no two sweeps share, and without the folder.
fn timeless(trials: &[Value]) -> Vec<Value> {
    let without = |trial: &Value| {
        let mut trial = trial.clone();
        trial.as_object_mut().unwrap().retain(|key, _| key != "seconds" && key != "run");
        trial
    };
    trials.iter().map(without).collect()
}

#[test]
fn a_grid_trains_every_combination_and_ranks_them() {
    let folder = folder(
        "sweep-grid",
        "epochs = 3\n[space]\nlearning_rate = [1e-5, 0.05]\nsizes = [[4], [8, 4]]\n[search]\nkind = \"grid\"\n",
    );
    let done = trials(&folder.succeed("sweep s.toml --json --quiet"));
    assert_eq!(done.len(), 4, "{done:?}");
    let found = scores(&done);
    assert!(found.len() == 4 && found.is_sorted(), "{found:?}");
    assert_eq!(done[0]["settings"]["learning_rate"], 0.05, "a rate of 1e-5 learns nothing");
    let keys: BTreeSet<&str> = done[0].as_object().unwrap().keys().map(String::as_str).collect();
    let help = folder.succeed("sweep --help");
    let keys_of_help = help.split_once("Keys of --json:\n").unwrap().1.lines().next().unwrap();
    assert_eq!(keys, keys_of_help.split(',').map(str::trim).collect());
    // Each trial is an ordinary run.
    for trial in &done {
        let run = trial["run"].as_str().unwrap();
        let judged: Value =
            serde_json::from_str(&folder.succeed(&format!("eval {run} --json --quiet"))).unwrap();
        assert_eq!(judged["loss"], trial["score"], "{run}");
    }
    assert_eq!(folder.succeed("runs runs/s --json").lines().count(), 4);
    for file in [
        "sweep.toml",
        "sweep.json",
        "report.md",
        "report.html",
        "plots/trials.svg",
        "plots/score-learning_rate.svg",
    ] {
        assert!(folder.path("runs/s").join(file).is_file(), "{file}");
    }
    let page = std::fs::read_to_string(folder.path("runs/s/report.md")).unwrap();
    assert!(
        page.contains("**Loss ") && page.contains("in trial 0") && page.contains("learning_rate 0.05"),
        "{page}"
    );
    // The same file again is another sweep; a finished one trains nothing more.
    let first = std::fs::metadata(folder.path("runs/s/001/events.jsonl")).unwrap().len();
    assert_eq!(timeless(&trials(&folder.succeed("sweep --resume runs/s --json --quiet"))), timeless(&done));
    assert_eq!(std::fs::metadata(folder.path("runs/s/001/events.jsonl")).unwrap().len(), first);
    let again = folder.farad("sweep s.toml --jobs 3");
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("runs/s is there already and stays; this sweep is runs/s-2"), "{said}");
    assert!(
        said.contains("001  learning_rate 0.00001, sizes 4: loss ") && said.contains("runs runs/s-2"),
        "{said}"
    );
    let table = String::from_utf8_lossy(&again.stdout);
    assert!(table.starts_with("trial  learning_rate  sizes") && table.lines().count() == 5, "{table}");
    assert_eq!(
        timeless(&trials(&folder.succeed("sweep --resume runs/s-2 --json --quiet"))),
        timeless(&done),
        "with other jobs"
    );
}

#[test]
fn draws_repeat_and_a_larger_count_adds_to_them() {
    let text = |count: usize, seed: usize| {
        format!(
            "[space]\nlearning_rate = {{ from = 1e-4, to = 0.1, scale = \"log\" }}\nbatch_norm = [true, false]\n\
             [search]\nkind = \"random\"\ncount = {count}\nseed = {seed}\n"
        )
    };
    let drawn = |count, seed| {
        let folder = folder(
            "sweep-draws",
            &text(count, seed).replace("batch_norm = [true, false]", "dropout = [0.0, 0.1]"),
        );
        trials(&folder.succeed("sweep s.toml --list --json"))
    };
    let first = drawn(6, 1);
    assert_eq!(first.len(), 6);
    assert_eq!(first, drawn(6, 1));
    assert_ne!(first, drawn(6, 2));
    assert_eq!(drawn(9, 1)[..6], first);
    let rates = first.iter().map(|trial| trial["settings"]["learning_rate"].as_f64().unwrap());
    assert!(rates.clone().all(|rate| (1e-4..=0.1).contains(&rate)), "{first:?}");
    assert_eq!(rates.map(|rate| rate.to_string()).collect::<BTreeSet<_>>().len(), 6);
}

#[test]
fn halving_lets_the_better_half_go_on() {
    let folder = folder(
        "sweep-halving",
        "[space]\nlearning_rate = [1e-6, 0.001, 0.01, 0.05]\n[search]\nkind = \"halving\"\nrungs = [1, 2, 4]\nkeep = 0.5\n",
    );
    let done = trials(&folder.succeed("sweep s.toml --json --quiet"));
    let rungs = |trial: &Value| trial["rungs"].as_array().unwrap().clone();
    assert_eq!(done.iter().map(|trial| rungs(trial).len()).collect::<Vec<_>>(), [3, 2, 1, 1], "{done:?}");
    assert_eq!(
        done.iter().map(|trial| trial["state"].as_str().unwrap()).collect::<Vec<_>>(),
        ["done", "dropped", "dropped", "dropped"]
    );
    let at = |trial: &Value, rung: usize| rungs(trial)[rung]["score"].as_f64().unwrap();
    for kept in &done[..2] {
        assert!(done[2..].iter().all(|dropped| at(kept, 0) <= at(dropped, 0)), "{done:?}");
    }
    assert!(at(&done[0], 1) <= at(&done[1], 1), "{done:?}");
    assert_eq!(
        rungs(&done[0]).iter().map(|rung| rung["until"].as_u64().unwrap()).collect::<Vec<_>>(),
        [1, 2, 4]
    );
    // What went on is one run that was trained for longer: 1 epoch of 6 steps, then 2, then 4.
    let listed = trials(&folder.succeed("runs runs/s --json"));
    let steps = |trial: &Value| {
        listed.iter().find(|run| run["run"] == trial["run"]).unwrap()["updates"].as_u64().unwrap()
    };
    assert_eq!(steps(&done[0]), 4 * steps(&done[2]));
    assert_eq!(steps(&done[1]), 2 * steps(&done[2]));
}

#[test]
fn a_trial_that_fails_is_told_and_ends_nothing() {
    let folder = folder(
        "sweep-fails",
        "epochs = 3\n[space]\nlearning_rate = [1e30, 0.01]\n[search]\nkind = \"grid\"\n",
    );
    let done = trials(&folder.succeed("sweep s.toml --json --quiet"));
    assert_eq!((done[0]["trial"].as_u64(), done[0]["state"].as_str()), (Some(2), Some("done")));
    assert_eq!((done[1]["trial"].as_u64(), done[1]["state"].as_str()), (Some(1), Some("failed")));
    let why = done[1]["error"].as_str().unwrap();
    assert!(why.contains("the loss is not finite"), "{why}");
    let page = std::fs::read_to_string(folder.path("runs/s/report.md")).unwrap();
    assert!(page.contains("1 done, 0 dropped, 1 failed") && page.contains("not finite"), "{page}");
    let text = std::fs::read_to_string(folder.path("s.toml")).unwrap();
    std::fs::write(folder.path("all.toml"), text.replace(", 0.01]", "]")).unwrap();
    let output = folder.farad("sweep all.toml --quiet");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("error: sweep: no trial succeeded (1 failed): "), "{error}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("failed"), "the table comes all the same");
}

#[test]
fn another_figure_needs_no_other_training() {
    let folder = folder(
        "sweep-figure",
        "epochs = 2\n[space]\nlearning_rate = [0.01, 0.05]\n[search]\nkind = \"grid\"\n",
    );
    let text = std::fs::read_to_string(folder.path("s.toml")).unwrap();
    std::fs::write(folder.path("s.toml"), text.replace("\"loss\"", "\"lost\"")).unwrap();
    let error = folder.fail("sweep s.toml --jobs 1");
    assert!(
        error.contains(": score.figure: the results have no `lost`; did you mean `loss`?\nhelp: they have "),
        "{error}"
    );
    let plan = folder.path("runs/s/sweep.toml");
    std::fs::write(
        &plan,
        std::fs::read_to_string(&plan).unwrap().replace("\"lost\"", "\"accuracy\"").replace("min", "max"),
    )
    .unwrap();
    let trained = |run: &str| folder::events(&folder.path(run)).len();
    let before = trained("runs/s/001");
    let done = trials(&folder.succeed("sweep --resume runs/s --json --quiet"));
    assert_eq!((done.len(), trained("runs/s/001")), (2, before));
    assert!(scores(&done).iter().all(|score| (0.0..=1.0).contains(score)), "{done:?}");
    // More trials may be added, and no other ones.
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, text.replace("[0.01, 0.05]", "[0.02, 0.05]")).unwrap();
    let error = folder.fail("sweep --resume runs/s");
    assert!(error.contains("asks for other trials than were trained: trial 1 differs"), "{error}");
    std::fs::write(&plan, text.replace("[0.01, 0.05]", "[0.01, 0.05, 0.02]")).unwrap();
    assert_eq!(trials(&folder.succeed("sweep --resume runs/s --json --quiet")).len(), 3);
}

/// Waits until a sweep has its first result.
fn first_result(sweep: &Path) {
    let patience = Instant::now() + Duration::from_secs(120);
    let has =
        || std::fs::read_to_string(sweep.join("sweep.json")).is_ok_and(|text| text.contains("\"loss\":"));
    while !has() {
        assert!(Instant::now() < patience, "no trial ended");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(unix)]
#[test]
fn a_sweep_that_is_killed_or_stopped_ends_with_the_same_table() {
    let folder = folder(
        "sweep-killed",
        "[space]\nlearning_rate = [0.001, 0.01, 0.03, 0.05]\n[search]\nkind = \"halving\"\nrungs = [20, 60]\n",
    );
    let whole = timeless(&trials(&folder.succeed("sweep s.toml --json --quiet --out whole --jobs 2")));
    assert!(whole.iter().any(|trial| trial["rungs"].as_array().unwrap().len() == 2), "{whole:?}");
    for (signal, code, out) in
        [("-KILL", None, "killed"), ("-TERM", Some(130), "stopped"), ("-INT", Some(130), "interrupted")]
    {
        let mut command = folder.command(&format!("sweep s.toml --out {out} --jobs 2"));
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        first_result(&folder.path(out));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let mut said = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), code, "{signal}: {said}");
        if code.is_some() {
            assert!(
                said.contains("stopped and saved; ") && said.contains(&format!("sweep --resume {out}")),
                "{said}"
            );
        }
        let ended = timeless(&trials(&folder.succeed(&format!("sweep --resume {out} --json --quiet"))));
        assert_eq!(ended, whole, "{signal}");
    }
}

#[test]
fn one_process_at_a_time_works_on_a_sweep() {
    let folder =
        folder("sweep-lock", "epochs = 200\n[space]\nlearning_rate = [0.01]\n[search]\nkind = \"grid\"\n");
    let mut child = folder.command("sweep s.toml --quiet").stdout(Stdio::null()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    while !folder.path("runs/s/001/config.toml").is_file() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(
        folder.fail("sweep --resume runs/s").contains("sweep: another process works on it: runs/s\nhelp: ")
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn bad_files_are_answered_with_line_and_key() {
    let good = "epochs = 2\n[space]\nlearning_rate = [0.1]\n[search]\nkind = \"grid\"\n";
    let folder = folder("sweep-bad", good);
    let whole = std::fs::read_to_string(folder.path("s.toml")).unwrap();
    for (from, to, wanted) in [
        (
            "train = \"csv\"",
            "train = \"csvs\"",
            "s.toml:1: train: there is nothing called `csvs` to learn; did you mean `csv`?\nhelp: there are ",
        ),
        ("train = \"csv\"\n", "", "s.toml: train: it is missing\nhelp: such as train = \"csv\""),
        ("train = \"csv\"", "train = 3", "s.toml:1: train: it is a name, not 3"),
        (
            "device = \"cpu\"",
            "devise = \"cpu\"",
            "s.toml:2: devise: there is no such key; did you mean `device`?",
        ),
        ("device = \"cpu\"", "device = 1", "s.toml:2: device: it is the name of a device, not 1"),
        ("epochs = 2", "epochs = 0", "s.toml:8: fixed.epochs: --epochs takes a whole number from 1 "),
        ("epochs = 2", "epoch = 2", "s.toml:8: fixed.epoch: csv has no such setting; did you mean `epochs`?"),
        ("epochs = 2", "updates = 2", "s.toml:8: fixed.updates: csv has no such setting"),
        ("epochs = 2", "device = \"gpu\"", "s.toml:8: fixed.device: the device is said once for all trials"),
        ("epochs = 2", "sizes = [0]", "s.toml:8: fixed.sizes: sizes takes whole numbers from 1 "),
        ("epochs = 2", "learning_rate = 0.1", "s.toml:8: fixed.learning_rate: it is varied, too"),
        (
            "epochs = 2",
            "epochs = { from = 1, to = 2 }",
            "s.toml:8: fixed.epochs: values are numbers, texts or lists of them",
        ),
        ("epochs = 2", "epochs = [", "it is not TOML: "),
        ("learning_rate = [0.1]", "optimizer = [\"adam\", \"adamm\"]", "s.toml:10: space.optimizer: "),
        ("learning_rate = [0.1]", "learning_rate = []", "s.toml:10: space.learning_rate: the list is empty"),
        (
            "learning_rate = [0.1]",
            "learning_rate = 0.1",
            "s.toml:10: space.learning_rate: it has the single value 0.1",
        ),
        (
            "learning_rate = [0.1]",
            "learning_rate = { from = 0.1 }",
            "s.toml:10: space.learning_rate: the range has no `to`",
        ),
        (
            "learning_rate = [0.1]",
            "learning_rate = { from = 0.1, to = 0.01, count = 2 }",
            "s.toml:10: space.learning_rate: from is not below to (0.1 vs 0.01)",
        ),
        (
            "learning_rate = [0.1]",
            "learning_rate = { from = 0, to = 1, scale = \"log\" }",
            "a logarithmic scale begins above 0, not at 0",
        ),
        (
            "learning_rate = [0.1]",
            "learning_rate = { from = 0, to = 1, scale = \"lg\" }",
            "s.toml:10: space.learning_rate.scale: it is \"linear\" or \"log\"",
        ),
        (
            "learning_rate = [0.1]",
            "learning_rate = { from = 0.1, to = 1.0 }",
            "s.toml:10: space.learning_rate: a grid needs to know how many values the range has",
        ),
        (
            "learning_rate = [0.1]",
            "learning_rate = { from = -1.0, to = 1.0, count = 3 }",
            "s.toml:10: space.learning_rate: --learning-rate takes a number from 0 on, not `-1`",
        ),
        (
            "learning_rate = [0.1]",
            "batch = { from = 1, to = 200 }\nseed = { from = 1, to = 200 }",
            "space: too many trials (40,000 trials vs at most 10,000)",
        ),
        ("[space]\nlearning_rate = [0.1]\n", "", "s.toml: space: nothing is varied"),
        (
            "kind = \"grid\"",
            "kind = \"gird\"",
            "s.toml:12: search.kind: there is no such search; did you mean `grid`?\nhelp: it is one of grid, random, halving",
        ),
        ("kind = \"grid\"", "kind = \"random\"", "s.toml:11: search.count: it is missing"),
        (
            "kind = \"grid\"",
            "kind = \"grid\"\nseed = 1",
            "s.toml:13: search.seed: a search of kind grid does not take it",
        ),
        (
            "kind = \"grid\"",
            "kind = \"random\"\ncount = 0",
            "s.toml:13: search.count: it is a whole number from 1 to 10000, not 0",
        ),
        (
            "kind = \"grid\"",
            "kind = \"halving\"\nrungs = [1, 2]",
            "s.toml:8: fixed.epochs: the rungs of halving say how long trials train",
        ),
        ("kind = \"grid\"", "kind = \"halving\"", "s.toml:11: search.rungs: it is missing"),
        (
            "kind = \"grid\"",
            "kind = \"halving\"\nrungs = [3, 2]",
            "s.toml:13: search.rungs: these are not two or more whole numbers that grow",
        ),
        (
            "kind = \"grid\"",
            "kind = \"halving\"\nrungs = [1, 2]\nby = \"updates\"",
            "s.toml:14: search.by: this training is not counted by updates\nhelp: it takes epochs",
        ),
        (
            "kind = \"grid\"",
            "kind = \"halving\"\nrungs = [1, 2]\nkeep = 1.5",
            "s.toml:14: search.keep: it is a number between 0 and 1, not 1.5",
        ),
        ("figure = \"loss\"\n", "", "s.toml:14: score.figure: it names no figure of the results"),
        ("best = \"min\"", "best = \"low\"", "s.toml:16: score.best: it is neither \"max\" nor \"min\""),
    ] {
        let text = whole.replacen(from, to, 1);
        assert_ne!(text, whole, "{from}");
        std::fs::write(folder.path("s.toml"), text).unwrap();
        let output = folder.farad("sweep s.toml");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{to}: {error}");
        assert!(
            error.starts_with("error: sweep: ") && error.contains(wanted),
            "{to}: {wanted:?} is not in {error}"
        );
        assert!(error.contains("\nhelp: "), "{to}: {error}");
        assert!(!folder.path("runs").exists(), "{to} left a folder");
    }
}
