//! What every kind of training takes from the command line: files of settings, weights of other runs, patience, the best model,
//! sentences of help, and names that earlier versions had.

mod folder;

use folder::Folder;
use serde_json::Value;

/// A small table: a second.
const SHORT: &str = "train csv --data table.csv --device cpu --epochs 6 --batch 20 --set sizes=16 --quiet";

fn with_table(name: &str) -> Folder {
    let folder = Folder::new(name);
    let mut table = String::from("width,height,kind\n");
    for n in 0..200 {
        let (width, height) = (n as f32 / 20.0, (n * 7 % 50) as f32 / 5.0);
        table += &format!("{width},{height},{}\n", if width > height { "wide" } else { "high" });
    }
    std::fs::write(folder.path("table.csv"), table).unwrap();
    folder
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn read(folder: &Folder, file: &str) -> String {
    std::fs::read_to_string(folder.path(file)).unwrap()
}

#[test]
fn settings_come_from_a_file_and_flags_overrule_them() {
    let folder = with_table("settings-file");
    std::fs::write(folder.path("mine.toml"), "batch = 50\noptimiser = \"sgd\"\nlearning_rate = 1\n").unwrap();
    let words = "--config mine.toml --learning-rate 0.01 --set clip=0.5 --out run";
    folder.succeed(&format!("{} {words}", SHORT.replace(" --batch 20", "")));
    let config = read(&folder, "run/config.toml");
    for line in ["batch = 50", "optimizer = \"sgd\"", "learning_rate = 0.01", "clip = 0.5", "epochs = 6"] {
        assert!(config.lines().any(|known| known == line), "{line} is not in {config}");
    }
    // When it is validated is a number of steps that was decided at the start: four batches of 50.
    assert!(config.contains("evaluate_every = 4\n"), "{config}");
    // A run's own file makes the same run again.
    folder.succeed("train csv --config run/config.toml --device cpu --quiet --out again");
    assert_eq!(read(&folder, "run/log.csv"), read(&folder, "again/log.csv"));
    std::fs::write(folder.path("bad.toml"), "bach = 50\n").unwrap();
    let refused = folder.fail("train csv --data table.csv --config bad.toml");
    assert!(refused.contains("settings: there is no key `bach`; did you mean `batch`?"), "{refused}");
    let refused = folder.fail("train csv --data table.csv --config nowhere.toml");
    assert!(refused.contains("settings: file nowhere.toml"), "{refused}");
}

#[test]
fn a_run_starts_from_the_weights_of_another() {
    let folder = with_table("settings-from");
    folder.succeed(&format!("{SHORT} --out first"));
    // Without a step that changes anything, it is as good as the first.
    let still = "--from first --learning-rate 0 --epochs 1 --json --out second";
    let second = json(&folder.succeed(&format!("{} {still}", SHORT.replace(" --epochs 6", ""))));
    let first = json(&folder.succeed("eval first --json"));
    assert_eq!((&first["loss"], &first["accuracy"]), (&second["loss"], &second["accuracy"]));
    let refused = folder.fail(&format!("{} --from first --out third", SHORT.replace("sizes=16", "sizes=8")));
    assert!(refused.contains("state: does not fit the module: 1 of 4 tensors fit"), "{refused}");
    assert!(!folder.path("third").exists(), "a refusal leaves no run");
}

#[test]
fn patience_ends_a_run_and_the_best_model_is_kept() {
    let folder = with_table("settings-patience");
    let flags = "--learning-rate 0 --set patience=2 --set keep_best=true --json --out run";
    let trained = json(&folder.succeed(&format!("{SHORT} {flags}")));
    // Nine batches are an epoch. The first validation is the best, and two are not better.
    assert_eq!(trained["steps"].as_u64(), Some(3 * 9));
    assert!(folder.path("run/best.safetensors").exists());
    assert_eq!(json(&folder.succeed("eval run --json"))["loss"], trained["loss"]);
    let again = json(&folder.succeed("train --resume run --quiet --json"));
    assert_eq!(again["steps"], trained["steps"], "it stays over");
}

#[test]
fn keys_are_listed_with_what_they_do() {
    let folder = Folder::new("settings-list");
    let listed = folder.succeed("train mnist --list");
    for words in ["what it does", "Passes over the training set.", "Steps between rows of the log."] {
        assert!(listed.contains(words), "{words} is not in {listed}");
    }
    // What helps no recipe stands apart.
    let listed = folder.succeed("train life --list");
    let (plain, lab) = listed.split_once("lab: ").expect("a part of its own");
    assert!(plain.contains("freeze_order") && !plain.contains("lab.entropy"), "{plain}");
    assert!(lab.contains("lab.entropy") && !lab.contains("freeze_order"), "{lab}");
    let told = folder.fail("train life --set entropy=0.1");
    assert!(told.contains("there is no key `entropy`; did you mean `lab.entropy`?"), "{told}");
    let rows: Vec<Value> = folder.succeed("train csv --list --json").lines().map(json).collect();
    assert!(rows.iter().all(|row| row["help"].as_str().is_some_and(|help| help.ends_with('.'))), "{rows:?}");
}

#[test]
fn who_takes_a_flag_is_said() {
    let folder = with_table("settings-flags");
    for (words, text) in [
        (
            "train mnist --layers 2",
            "train: mnist does not take --layers\nhelp: use --epochs, --seed and --set",
        ),
        ("train csv --quick", "train: csv does not take --quick"),
        ("train csv --updates 3", "train: csv does not take --updates"),
        (
            "train csv --model cnnn",
            "train: --model does not take `cnnn`; did you mean `cnn`?\nhelp: it takes mlp, cnn, rnn",
        ),
    ] {
        let refused = folder.fail(words);
        assert!(refused.contains(text), "{words}: {refused}");
    }
    // Names that earlier versions had.
    folder.succeed(&format!("{SHORT} --optimiser sgd --out former"));
    assert!(read(&folder, "former/config.toml").contains("optimizer = \"sgd\""));
}
