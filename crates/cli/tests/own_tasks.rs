//! `farad train rule`, `grow` and `pattern`: what users bring is learned, kept in the run, and refused where it is too much.

mod folder;

use farad::run::Picture;
use folder::Folder;
use serde_json::Value;

/// A few updates, and only a look at the circuits.
const SHORT: &str = "--device cpu --updates 3 --quick --quiet";

/// A picture of `side`×`side` pixels in so many colors.
fn drawn(folder: &Folder, name: &str, side: usize, colors: usize) {
    let level = |x: usize, y: usize| ((x / 2 + y) % colors) as f32 / 255.0;
    let values: Vec<f32> =
        (0..side * side).flat_map(|cell| [level(cell % side, cell / side), 0.5, 0.1]).collect();
    Picture::from_channels(side, side, &values).write_png(folder.path(name)).unwrap();
}

fn judged(folder: &Folder, run: &str) -> Value {
    serde_json::from_str(folder.succeed(&format!("eval {run} --json")).lines().next().unwrap()).unwrap()
}

/// A rule of few gates is learned to the last neighborhood, on strips too.
#[test]
fn a_rule_is_learned_and_kept_in_its_run() {
    let folder = Folder::new("own-rule");
    folder.succeed("train rule --rule 170 --device cpu --updates 600 --quiet --out run");
    let seen = judged(&folder, "run");
    assert_eq!(seen["exact"], true, "{seen}");
    let sizes = seen["sizes"].as_array().unwrap();
    assert!(sizes.iter().all(|size| size["right"] == true) && sizes.iter().any(|size| size["height"] == 1));
    let config = std::fs::read_to_string(folder.path("run/config.toml")).unwrap();
    assert!(config.contains("rule = \"170\""), "{config}");
    // The configuration makes the same run again, without the flag.
    folder.succeed(&format!("train rule --config run/config.toml {SHORT} --out again"));
}

#[test]
fn a_rule_may_be_a_file() {
    let folder = Folder::new("own-rule-file");
    std::fs::write(folder.path("left.txt"), "# what is left of it\n...1..... -> 1\nelse 0\n").unwrap();
    folder.succeed(&format!("train rule --rule left.txt {SHORT} --out run"));
    // The run has no need of the file.
    std::fs::remove_file(folder.path("left.txt")).unwrap();
    folder.succeed("train --resume run --updates 5 --quick --quiet");
}

#[test]
fn pictures_grow_and_textures_come_out_of_noise() {
    let folder = Folder::new("own-pictures");
    drawn(&folder, "four.png", 6, 4);
    folder.succeed(&format!(
        "train grow --picture four.png --steps 5 {SHORT} --set checkpoint_every=1 --out grown"
    ));
    let config = std::fs::read_to_string(folder.path("grown/config.toml")).unwrap();
    for line in ["steps = 5", "width = 6", "colors = [", "recipe = \"grow\""] {
        assert!(config.contains(line), "{line}: {config}");
    }
    std::fs::remove_file(folder.path("four.png")).unwrap();
    let seen = judged(&folder, "grown");
    assert_eq!(seen["of"], 72, "two channels of 36 cells: {seen}");
    folder.succeed("simulate grown --grid 6x6 --steps 5 --start center --gif film.gif --quiet");
    drawn(&folder, "tile.png", 4, 2);
    folder.succeed(&format!("train pattern --picture tile.png --steps 2 {SHORT} --out texture"));
}

#[test]
fn what_is_too_much_is_refused_with_numbers() {
    let folder = Folder::new("own-refused");
    drawn(&folder, "large.png", 65, 2);
    drawn(&folder, "colorful.png", 20, 17);
    drawn(&folder, "plain.png", 8, 1);
    std::fs::write(folder.path("gap.txt"), "111111111 1\n").unwrap();
    for (command, words) in [
        ("train grow --picture large.png", "65×65 pixels (vs at most 64×64)"),
        ("train grow --picture colorful.png", "17 (vs at most 16)"),
        ("train pattern --picture plain.png", "one color only"),
        ("train grow --picture nowhere.png", "nowhere.png"),
        ("train grow", "grow needs --picture"),
        ("train rule", "rule needs --rule"),
        ("train rule --rule B9/S", "0 to 8 living neighbors"),
        ("train rule --rule gap.txt", "511 vs 0 neighborhoods are missing"),
        ("train life --rule B2/S", "--rule is not for life"),
        ("train rule --rule 30 --picture large.png", "--picture is not for rule"),
    ] {
        let text = folder.fail(&format!("{command} --device cpu --out run"));
        assert!(text.contains(words), "{command}: {text}");
        assert!(!folder.path("run").exists(), "{command} left a run behind");
    }
}

/// A full adder of two bits each, with a carry, ends exact; its circuit is exported with the names of the columns.
#[test]
fn a_boolean_function_is_learned_from_its_table() {
    let folder = Folder::new("own-table");
    let mut rows = "a0,a1,b0,b1,s0,s1,s2\n".to_string();
    for n in 0..16 {
        let (a, b) = (n & 3, n >> 2);
        let bits = [a & 1, a >> 1, b & 1, b >> 1, (a + b) & 1, (a + b) >> 1 & 1, (a + b) >> 2];
        rows += &(bits.map(|bit| bit.to_string()).join(",") + "\n");
    }
    std::fs::write(folder.path("adder.csv"), rows).unwrap();
    folder.succeed(
        "train table --data adder.csv --set target=s0,s1,s2 --updates 300 --device cpu --quiet --out run",
    );
    let seen = judged(&folder, "run");
    assert_eq!(
        (&seen["exact"], &seen["of"], &seen["complete"]),
        (&true.into(), &16.into(), &true.into()),
        "{seen}"
    );
    assert!(seen["simplified_gates"].as_u64().is_some_and(|gates| (7..60).contains(&gates)), "{seen}");
    folder.succeed("export run --format c --out c --quiet");
    let text: String = std::fs::read_dir(folder.path("c"))
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert!(text.contains("a0") && text.contains("s2"), "{text}");
    folder.succeed("inspect run --quiet");
    folder.succeed("train --resume run --updates 310 --quiet");
}

/// From some of the rows of a function that looks at three of twenty inputs: most others are guessed right.
#[test]
fn samples_are_enough_and_some_are_held_back() {
    let folder = Folder::new("own-samples");
    let names: Vec<String> = (0..20).map(|n| format!("x{n}")).collect();
    let mut rows = names.join(",") + ",y\n";
    let mut state = 1u64;
    for _ in 0..600 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let bit = |n: u64| state >> (30 + n) & 1;
        let y = (bit(2) & bit(7)) | bit(11);
        let bits: Vec<String> = (0..20).map(|n| bit(n).to_string()).chain([y.to_string()]).collect();
        rows += &(bits.join(",") + "\n");
    }
    std::fs::write(folder.path("samples.csv"), rows).unwrap();
    folder.succeed("train table --data samples.csv --updates 400 --device cpu --quiet --out run");
    let seen = judged(&folder, "run");
    assert_eq!((&seen["exact"], &seen["complete"]), (&true.into(), &false.into()), "{seen}");
    assert!(seen["accuracy"].as_f64().is_some_and(|share| share > 0.9), "{seen}");
    let text = folder.fail("train table --data nowhere.csv --out other");
    assert!(text.contains("nowhere.csv"), "{text}");
    assert!(folder.fail("train table").contains("--data"));
}
