//! Networks on data sets, as users train them: runs, reports, going on in mid-epoch, and what is refused.

mod exported;
mod folder;
mod predictions;

use folder::{Folder, events, results};
use serde_json::Value;

/// Drawn digits and a small network: seconds.
const SHORT: &str = "train mnist --model mlp --data synthetic --device cpu --epochs 2 --batch 200 \
    --set sizes=32 --set checkpoint_every=7 --set log_every=5 --quiet";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_network_is_trained_judged_and_inspected() {
    let folder = Folder::new("network");
    let trained = json(&folder.succeed(&format!("{SHORT} --out run --json")));
    assert!(trained["accuracy"].as_f64() > Some(0.8), "{trained}");
    assert_eq!((trained["samples"].as_u64(), trained["steps"].as_u64()), (Some(1000), Some(2 * 29)));
    let report = std::fs::read_to_string(folder.path("run/report.md")).unwrap();
    for text in [
        "# mnist by mlp",
        "**Test accuracy ",
        "| is \\ seen as |",
        "plots/samples.svg",
        "Next: `farad eval run`",
    ] {
        assert!(report.contains(text), "{text} is not in {report}");
    }
    for file in ["loss.svg", "goodness.svg", "confusion.svg", "samples.svg", "filters.svg"] {
        assert!(folder.path("run/plots").join(file).exists(), "{file}");
    }
    let judged = json(&folder.succeed("eval run --json"));
    assert_eq!((&judged["accuracy"], &judged["loss"]), (&trained["accuracy"], &trained["loss"]));
    assert!(folder.succeed("eval run").starts_with("test accuracy "));
    let shown = json(&folder.succeed("runs run --json --quiet"))["result"].clone();
    assert_eq!(shown["name"], "test accuracy");
    assert!(
        (shown["value"].as_f64().unwrap() - trained["accuracy"].as_f64().unwrap()).abs() < 1e-9,
        "{shown}"
    );
    let inspected = json(&folder.succeed("inspect run --json"));
    assert_eq!((inspected["kind"].as_str(), inspected["steps"].as_u64()), (Some("fit"), Some(58)));
    assert_eq!(inspected["tensors"].as_array().unwrap().len(), 4, "{inspected}");
    assert!(folder.succeed("inspect run").contains("model              mlp"));
    let kinds: Vec<String> =
        events(&folder.path("run")).iter().map(|e| e["event"].as_str().unwrap().into()).collect();
    assert!(kinds[0] == "start" && kinds[kinds.len() - 1] == "end", "{kinds:?}");
}

/// Ctrl-C somewhere in an epoch, then on to the end: nothing shows that it was broken off.
#[cfg(unix)]
#[test]
fn a_run_stopped_in_mid_epoch_ends_as_an_unbroken_one() {
    use std::process::Command;
    use std::time::{Duration, Instant};
    let folder = Folder::new("network-resumed");
    folder.succeed(&format!("{SHORT} --out whole"));
    let mut child = folder.command(&format!("{SHORT} --out broken")).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    let saved = || folder.path("broken/checkpoint.safetensors").exists();
    while !saved() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    // 0 if it was done before the signal came.
    assert!(matches!(child.wait().unwrap().code(), Some(0 | 130)));
    let broken_off = events(&folder.path("broken")).iter().any(|event| event["event"] == "interrupted");
    folder.succeed("train --resume broken --quiet");
    assert!(results(&folder.path("whole")) == results(&folder.path("broken")), "broken off: {broken_off}");
    // Killed without a word: the last checkpoint counts, which may be in mid-epoch too.
    let mut child = folder.command(&format!("{SHORT} --out killed")).spawn().unwrap();
    while !folder.path("killed/checkpoint.safetensors").exists() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    folder.succeed("train --resume killed --quiet");
    assert!(results(&folder.path("whole")) == results(&folder.path("killed")));
    // More epochs than were asked for at first.
    let more = json(&folder.succeed("train --resume killed --epochs 3 --quiet --json"));
    assert_eq!(more["steps"].as_u64(), Some(3 * 29));
    let fewer = folder.fail("train --resume killed --epochs 2");
    assert!(fewer.contains("fit: epochs: more steps were made already (58 vs 87)"), "{fewer}");
    // What was refused left nothing behind.
    folder.succeed("train --resume killed --quiet");
}

/// Numbers of any size, other separators, columns that are called like numbers, settings that do not fit, and training that
/// goes wrong.
fn tables_as_people_have_them(folder: &Folder) {
    let mut prices = String::from("1999;area;age\n");
    for n in 0..300 {
        let (area, age) = (40 + n * 37 % 150, n * 13 % 60);
        prices += &format!("{};{area};{age}\n", 50_000 + 4_000 * area - 1_500 * age);
    }
    std::fs::write(folder.path("prices.csv"), prices).unwrap();
    let csv = "train csv --data prices.csv --set target=1999 --device cpu --quiet --json";
    let learned = json(&folder.succeed(&format!("{csv} --epochs 40 --out prices")));
    assert!(learned["explained_variance"].as_f64() > Some(0.98), "{learned}");
    // In squares of what a price is counted in, of which a deviation has billions.
    assert!(learned["loss"].as_f64() > Some(1e5), "{learned}");
    assert_eq!(json(&folder.succeed("eval prices --json"))["loss"], learned["loss"]);
    let refused = |more: &str, words: &str| {
        let text = folder.fail(&format!("{csv} {more} --out refused"));
        assert!(text.contains(words), "{more}: {text}");
        assert!(!folder.path("refused").exists(), "{more} left a run behind");
    };
    refused("--set ignore=area,age", "csv: no column is left to learn from");
    refused("--set means=1", "settings: means takes a number per column or channel, not `[1.0]`");
    refused(
        "--set means=1,2 --set deviations=1",
        "settings: deviations takes a number per column or channel",
    );
    refused("--model cnn", "the model does not take these inputs");
    let wild = folder.fail(&format!("{csv} --learning-rate 1e30 --set clip=0 --optimizer sgd --out wild"));
    assert!(wild.contains("fit: the loss is not finite: step ") && wild.contains("learning rate"), "{wild}");
    let text = std::fs::read_to_string(folder.path("prices.csv")).unwrap();
    let fewer: Vec<&str> = text.lines().take(200).collect();
    std::fs::write(folder.path("prices.csv"), fewer.join("\n")).unwrap();
    for command in ["eval prices", "train --resume prices --epochs 50"] {
        let text = folder.fail(command);
        assert!(text.contains("other samples than the run was made with (199 vs 300)"), "{text}");
    }
}

#[test]
fn every_kind_of_network_and_set_trains() {
    let folder = Folder::new("network-kinds");
    let mut table = String::from("number,width,height,kind\n");
    let mut lines = String::from("x,y\n");
    for n in 0..300 {
        let (width, height) = (n as f32 / 30.0, (n * 7 % 50) as f32 / 5.0);
        table += &format!("{n},{width},{height},{}\n", if width > height { "wide" } else { "high" });
        lines += &format!("{width},{}\n", 3.0 * width - 2.0);
    }
    std::fs::write(folder.path("table.csv"), table).unwrap();
    std::fs::write(folder.path("lines.csv"), lines).unwrap();
    let csv = "train csv --device cpu --quiet --json --set warm_up=0";
    let shapes = json(&folder.succeed(&format!("{csv} --data table.csv --set ignore=number --out table")));
    assert!(shapes["accuracy"].as_f64() > Some(0.9), "{shapes}");
    let numbers =
        json(&folder.succeed(&format!("{csv} --data lines.csv --set target=y --epochs 40 --out lines")));
    assert!(numbers["explained_variance"].as_f64() > Some(0.98), "{numbers}");
    assert!(
        std::fs::read_to_string(folder.path("lines/report.md"))
            .unwrap()
            .contains("**Test explained variance ")
    );
    let listed = folder.succeed("runs .");
    assert!(listed.contains("test explained variance ") && listed.contains("test accuracy "), "{listed}");
    tables_as_people_have_them(&folder);
    let untested = folder.fail("train csv --data table.csv --set test=0 --out untested");
    assert!(untested.starts_with("error: train: nothing is left to judge on: 300 samples"), "{untested}");
    assert!(!folder.path("untested").exists());
    let small = "--data synthetic --device cpu --quiet --json";
    let cnn = json(&folder.succeed(&format!(
        "train cifar10 {small} --epochs 1 --set sizes=4,8 --out cnn --optimizer muon --schedule one-cycle"
    )));
    assert_eq!(cnn["model"], "cnn");
    let rnn = json(
        &folder.succeed(&format!("train fashion-mnist --model rnn {small} --epochs 3 --learning-rate 0.01 --set sizes=32 --mixed --out rnn")),
    );
    assert!(rnn["accuracy"].as_f64() > Some(0.4), "{rnn}");
}

#[test]
fn what_cannot_be_done_says_why_and_what_to_do() {
    let folder = Folder::new("network-refused");
    let refused = |arguments: &str, texts: &[&str]| {
        let mut command = folder.command(arguments);
        let output = command.env_remove("FARAD_DATA").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.status.code() != Some(101), "{error}");
        texts.iter().for_each(|text| assert!(error.contains(text), "{text} is not in {error}"));
    };
    refused("train mnist", &["error: train: no data: mnist is in none of data/mnist", "--data synthetic"]);
    refused(
        "train mnist --data nowhere",
        &["mnist: files are missing: nowhere", "train-images-idx3-ubyte.gz", "help: get them from"],
    );
    refused("train csv", &["train: csv needs --data"]);
    refused("train mnits", &["there is nothing called `mnits` to learn; did you mean `mnist`?"]);
    refused("train life --epochs 3", &["train: life does not take --epochs", "help: use --updates"]);
    refused("train mnist --updates 3 --data synthetic", &["train: mnist does not take --updates"]);
    refused(
        "train mnist --data synthetic --set bach=3",
        &["settings: there is no key `bach`; did you mean `batch`?"],
    );
    refused("train mnist --data synthetic --optimizer adamx", &["settings: there is no optimizer `adamx`"]);
    std::fs::write(folder.path("holes.csv"), "a,b\n1,2\n,3\n").unwrap();
    refused(
        "train csv --data holes.csv --set empty=refuse",
        &["csv: a value is missing: holes.csv: line 3, column `a`"],
    );
    std::fs::write(folder.path("t10k-images-idx3-ubyte"), "nothing").unwrap();
    assert!(folder.succeed("train --list").contains("fashion-mnist"));
    assert!(folder.succeed("train mnist --list").contains("learning_rate"));
    assert!(!folder.path("runs").exists(), "a refusal leaves no run");
}

/// What schedulers send saves as Ctrl-C does, and a terminal that closes ends nothing that `nohup` started.
#[cfg(unix)]
#[test]
fn sigterm_saves_and_nohup_holds() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let folder = Folder::new("network-terminated");
    let farad = folder.command(&format!("{} --out run", SHORT.replace("--epochs 2", "--epochs 5000")));
    let mut nohup = Command::new("nohup");
    nohup
        .arg(farad.get_program())
        .args(farad.get_args())
        .current_dir(folder.path(""))
        .env_remove("FARAD_DEVICE");
    let mut child = nohup.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    while !folder.path("run/checkpoint.safetensors").exists() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    let send = |signal: &str, process: u32| {
        assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
    };
    send("-HUP", child.id());
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "SIGHUP ended what nohup started");
    send("-TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130), "broken off and saved");
    let told = events(&folder.path("run"));
    assert!(told.iter().any(|event| event["event"] == "interrupted"), "{told:?}");
}

/// Tables with a rare class: both parts have it, and the report says what accuracy alone would hide.
#[test]
fn rare_classes_are_held_out_weighed_and_reported() {
    let folder = Folder::new("network-rare");
    let mut rows = String::from("a,b,ill\n");
    for n in 0..400u32 {
        let (a, b) = (n.wrapping_mul(2_654_435_761) >> 16 & 1023, n.wrapping_mul(40_503) >> 3 & 1023);
        // One in ten, with some that cannot be told.
        let ill = n % 10 == 3;
        rows += &format!("{},{},{}\n", a + if ill { 700 } else { 0 }, b, if ill { "yes" } else { "no" });
    }
    std::fs::write(folder.path("ill.csv"), rows).unwrap();
    let csv = "train csv --data ill.csv --epochs 20 --device cpu --quiet --json";
    let plain = json(&folder.succeed(&format!("{csv} --out plain")));
    assert_eq!((plain["samples"].as_u64(), plain["baseline"]["says"].as_str()), (Some(60), Some("no")));
    assert!((plain["baseline"]["accuracy"].as_f64().unwrap() - 0.9).abs() < 1e-9, "6 of 60 are ill: {plain}");
    assert!(plain["auc"].as_f64() > Some(0.8) && plain["f1"].as_f64() <= Some(1.0), "{plain}");
    let report = std::fs::read_to_string(folder.path("plain/report.md")).unwrap();
    for words in ["| F1 |", "F1, mean over classes", "AUC, mean over classes", "always `no`: 90.00 %"] {
        assert!(report.contains(words), "{words}: {report}");
    }
    let recall = |report: &str| {
        let row = report.lines().find(|line| line.starts_with("| yes |")).unwrap();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        cells[4].trim_end_matches(" %").parse::<f64>().unwrap()
    };
    folder.succeed(&format!("{csv} --set class_weights=balanced --out balanced"));
    let balanced = std::fs::read_to_string(folder.path("balanced/report.md")).unwrap();
    assert!(recall(&balanced) >= recall(&report) && recall(&balanced) > 60.0, "{balanced}");
    assert_eq!(json(&folder.succeed("eval balanced --json"))["samples"].as_u64(), Some(60));
    let refused = folder.fail(&format!("{csv} --set class_weights=heavy --out refused"));
    assert!(refused.contains("class_weights") && refused.contains("balanced"), "{refused}");
}

/// Numbers: errors in the unit of the target, what always saying the mean would reach, and predictions against the truth.
#[test]
fn errors_of_numbers_have_a_unit_and_a_baseline() {
    let folder = Folder::new("network-numbers");
    let rows: String =
        (0..300).map(|n| format!("{},{}\n", n % 37, 5.0 * f64::from(n % 37) + 100.0)).collect();
    std::fs::write(folder.path("rent.csv"), format!("area,rent\n{rows}")).unwrap();
    let said = json(&folder.succeed(
        "train csv --data rent.csv --epochs 40 --set unit=EUR --device cpu --quiet --json --out run",
    ));
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{said}"));
    assert_eq!((said["target"].as_str(), said["unit"].as_str()), (Some("rent"), Some("EUR")));
    let (error, without) =
        (number(&said["mean_absolute_error"]), number(&said["baseline"]["mean_absolute_error"]));
    assert!(error < without / 4.0 && without > 20.0, "{error} {without}");
    assert!((number(&said["baseline"]["says"]) - 190.0).abs() < 10.0, "{said}");
    let report = std::fs::read_to_string(folder.path("run/report.md")).unwrap();
    assert!(
        report.contains("mean absolute error") && report.contains(" EUR") && report.contains("predicted.svg")
    );
    let chart = std::fs::read_to_string(folder.path("run/plots/predicted.svg")).unwrap();
    assert!(chart.contains("true rent (EUR)") && chart.matches("<circle").count() >= 45, "{chart}");
}
