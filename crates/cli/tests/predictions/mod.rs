//! `farad predict` on what small runs have learned: tables, pictures, folders, arrays, and what is refused.

use farad::data::{Dataset, digits};
use farad::run::Picture;
use farad::{Device, Tensor, write_npy};
use serde_json::Value;

use crate::folder::Folder;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Refused with these words, exit code 1 and nothing on stdout.
fn refused(folder: &Folder, arguments: &str, words: &[&str]) {
    let output = folder.farad(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments}: {error}");
    words.iter().for_each(|word| assert!(error.contains(word), "{arguments}: {word:?} is not in {error}"));
}

#[test]
fn words_dates_and_empty_fields_are_read_by_the_rules_of_the_run() {
    let folder = Folder::new("predict-words");
    let (mut table, mut full) =
        (String::from("color,day,size,price\n"), String::from("color,day,size,price\n"));
    for n in 0..240 {
        let (color, day, size) = (["red", "blue", "green"][n % 3], 1 + n % 28, (n * 7 % 40) as f32 / 4.0);
        let price = [10.0, 50.0, 90.0][n % 3] + day as f32 + size;
        let shown = if n % 11 == 5 { String::from("NA") } else { size.to_string() };
        table += &format!("{color},2024-02-{day:02},{shown},{price}\n");
        full += &format!("{color},2024-02-{day:02},{size},{price}\n");
    }
    table += "red,,1,12\n";
    std::fs::write(folder.path("table.csv"), table).unwrap();
    std::fs::write(folder.path("full.csv"), full).unwrap();
    std::fs::write(folder.path("new.csv"), "size,color,day\n,teal,2024-02-03\n2,green,2024-02-10\n").unwrap();
    std::fs::write(folder.path("bad.csv"), "size,color,day\n2,green,soon\n").unwrap();
    let train = "--device cpu --quiet --epochs 80 --set warm_up=0 --set learning_rate=0.01";
    folder.succeed(&format!("train csv --data table.csv {train} --out net"));
    let config = std::fs::read_to_string(folder.path("net/config.toml")).unwrap();
    for word in ["green", "2024", "median"] {
        let report = std::fs::read_to_string(folder.path("net/report.md")).unwrap();
        assert!(report.contains(word), "{word} is not in {report}");
    }
    assert!(config.contains("year_first"), "{config}");
    let said = lines(&folder.succeed("predict net --data full.csv --device cpu --json"));
    // Half of the price is told by a word, so that words that are not read would show.
    let off: Vec<f64> = (0..240)
        .map(|n| {
            let wanted = [10.0, 50.0, 90.0][n % 3] + (1 + n % 28) as f64 + (n * 7 % 40) as f64 / 4.0;
            (said[n]["value"].as_f64().unwrap() - wanted).abs()
        })
        .collect();
    let mean = off.iter().sum::<f64>() / 240.0;
    assert!(mean < 6.0, "{mean}");
    let output = folder.farad("predict net --data new.csv --device cpu");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    for words in ["`size`: 1 empty, filled with", "not there in training, such as `teal`"] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    refused(
        &folder,
        "predict net --data bad.csv --device cpu",
        &["csv: not a date: bad.csv: line 2, column `day`"],
    );
    refused(
        &folder,
        "train csv --data table.csv --set empty=refuse --out no",
        &["csv: a value is missing: table.csv"],
    );
    assert!(!folder.path("no").exists());
}

#[test]
fn tables_are_predicted_by_the_names_of_their_columns() {
    let folder = Folder::new("predict-tables");
    let (mut table, mut fresh) =
        (String::from("id,width,height,kind\n"), String::from("kind;height;id;width\n"));
    for n in 0..300 {
        let (width, height) = (n as f32 / 30.0, (n * 7 % 50) as f32 / 5.0);
        let kind = if width > height { "wide" } else { "high" };
        table += &format!("{n},{width},{height},{kind}\n");
        fresh += &format!("{kind};{height};{};{width}\n", n + 1000);
    }
    std::fs::write(folder.path("table.csv"), table).unwrap();
    std::fs::write(folder.path("new.csv"), fresh).unwrap();
    let train = "--data table.csv --device cpu --quiet --set ignore=id";
    folder.succeed(&format!("train csv {train} --epochs 20 --set warm_up=0 --out net"));
    folder.succeed(&format!(
        "train logic-table {train} --updates 60 --set layers=40,40 --set simplify_seconds=0 --set repair=never --out gates"
    ));
    // What is needed travels with the run.
    std::fs::remove_file(folder.path("table.csv")).unwrap();
    for run in ["net", "gates"] {
        let out = folder.succeed(&format!("predict {run} --data new.csv --json --quiet"));
        let said = lines(&out);
        assert_eq!(said.len(), 300);
        let right = said.iter().filter(|one| one["class"] == one["target"]).count();
        assert!(right > 240, "{run}: {right} of 300");
        let wide = &said[299];
        assert_eq!((wide["row"].as_u64(), wide["class"].as_str()), (Some(300), Some("wide")), "{wide}");
        let sum: f64 = wide["probabilities"].as_object().unwrap().values().map(|p| p.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-5 && wide["probabilities"]["wide"].as_f64() > Some(0.5), "{wide}");
        let shown = folder.succeed(&format!("predict {run} --data new.csv --quiet"));
        assert!(shown.starts_with("sample  class  probability  then\n1       "), "{shown}");
        assert!(
            shown.ends_with(&format!("accuracy {:.2} % ({right} of 300)\n", right as f64 / 3.0)),
            "{shown}"
        );
        let one = lines(&folder.succeed(&format!("predict {run} --data new.csv --json --quiet --top 1")));
        assert_eq!(one[0]["probabilities"].as_object().unwrap().len(), 1);
        // Without the target there is nothing to be right about.
        std::fs::write(folder.path("bare.csv"), "width,height\n9,1\n1,9\n").unwrap();
        let bare = lines(&folder.succeed(&format!("predict {run} --data bare.csv --json --quiet")));
        assert_eq!((bare[0]["class"].as_str(), bare[1]["class"].as_str()), (Some("wide"), Some("high")));
        assert!(bare[0].get("target").is_none());
        std::fs::write(folder.path("other.csv"), "width,kind\n9,wide\n").unwrap();
        refused(
            &folder,
            &format!("predict {run} --data other.csv"),
            &["csv: columns are missing: other.csv: height (1 vs 2"],
        );
        std::fs::write(folder.path("text.csv"), "width,height\n9,tall\n").unwrap();
        refused(
            &folder,
            &format!("predict {run} --data text.csv"),
            &["csv: not a number: text.csv: line 2, column `height`"],
        );
        refused(
            &folder,
            &format!("predict {run} --data nowhere.csv"),
            &[
                "predict: no such file or folder: nowhere.csv\nhelp: the model takes rows with the columns width, height",
            ],
        );
        refused(
            &folder,
            &format!("predict {run} --data ."),
            &["predict: not what the model takes: .: a folder"],
        );
        write_npy(
            folder.path("rows.npy"),
            &Tensor::from_vec(vec![9.0f32, 1.0, 1.0, 9.0], [2, 2], &Device::cpu()),
        )
        .unwrap();
        let rows = lines(&folder.succeed(&format!("predict {run} --data rows.npy --json --quiet")));
        assert_eq!((&rows[0]["class"], &rows[1]["class"]), (&bare[0]["class"], &bare[1]["class"]));
        write_npy(folder.path("wide.npy"), &Tensor::ones([2, 3], &Device::cpu())).unwrap();
        refused(
            &folder,
            &format!("predict {run} --data wide.npy"),
            &["wide.npy: predict: the samples have another shape: ([2, 3] vs [n, 2] or [2])"],
        );
    }
}

#[test]
fn numbers_are_predicted_in_their_units() {
    let folder = Folder::new("predict-numbers");
    let price = |area: u32, age: u32| 50_000 + 4_000 * area - 1_500 * age;
    let row = |n: u32| (40 + n * 37 % 150, n * 13 % 60);
    let rows: String =
        (0..300).map(row).map(|(area, age)| format!("{},{area},{age}\n", price(area, age))).collect();
    std::fs::write(folder.path("prices.csv"), format!("price,area,age\n{rows}")).unwrap();
    folder
        .succeed("train csv --data prices.csv --set target=price --epochs 40 --device cpu --quiet --out run");
    std::fs::write(folder.path("new.csv"), "age,area,price\n10,100,435000\n50,60,\n").unwrap();
    let output = folder.farad("predict run --data new.csv --json");
    let said = lines(&String::from_utf8(output.stdout).unwrap());
    for (said, wanted) in said.iter().zip([price(100, 10), price(60, 50)]) {
        let off = (said["value"].as_f64().unwrap() - f64::from(wanted)).abs();
        assert!(off < 0.06 * f64::from(wanted), "{said} vs {wanted}");
    }
    assert!(said[0]["target"] == "435000" && said[1].get("target").is_none());
    let told = String::from_utf8(output.stderr).unwrap();
    let error = (said[0]["value"].as_f64().unwrap() - 435_000.0).abs();
    assert!(
        told.contains(&format!("mean absolute error of price {} (1 sample)", farad::run::number(error))),
        "{told}"
    );
    assert!(folder.succeed("predict run --data new.csv --quiet").starts_with("sample "));
    // A run of an earlier version has no columns; its data have them.
    let path = folder.path("run/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let later = ["columns = ", "target_name = ", "shape = "];
    let former: Vec<&str> =
        config.lines().filter(|line| !later.iter().any(|key| line.starts_with(key))).collect();
    assert_eq!(former.len() + 3, config.lines().count(), "{config}");
    std::fs::write(&path, former.join("\n")).unwrap();
    assert_eq!(lines(&folder.succeed("predict run --data new.csv --json --quiet")), said);
    std::fs::rename(folder.path("prices.csv"), folder.path("gone.csv")).unwrap();
    refused(&folder, "predict run --data new.csv", &["prices.csv"]);
}

#[test]
fn boolean_functions_answer_in_bits() {
    let folder = Folder::new("predict-bits");
    std::fs::write(folder.path("adder.csv"), "a,b,sum,carry\n0,0,0,0\n0,1,1,0\n1,0,1,0\n1,1,0,1\n").unwrap();
    folder.succeed(
        "train table --data adder.csv --set target=sum,carry --updates 50 --device cpu --quiet --out run",
    );
    std::fs::write(folder.path("new.csv"), "b,a,carry,sum\nyes,no,0,1\n1,1,1,0\n").unwrap();
    let out = folder.succeed("predict run --data new.csv --json --quiet");
    let said = lines(&out);
    assert_eq!(said[0]["value"], serde_json::json!({ "sum": 1.0, "carry": 0.0 }));
    assert_eq!(said[1]["value"], serde_json::json!({ "sum": 0.0, "carry": 1.0 }));
    let shown = folder.succeed("predict run --data new.csv --quiet");
    assert_eq!(
        shown,
        "sample  sum  carry\n1         1      0\n2         0      1\n100.00 % of rows right (2 of 2)\n"
    );
    std::fs::write(folder.path("new.csv"), "a,b\n2,0\n").unwrap();
    refused(&folder, "predict run --data new.csv", &["csv: not a bit: new.csv: line 2, column `a`: `2`"]);
}

/// Pictures whose class is their brighter half.
fn draw(folder: &Folder, part: &str, count: usize) {
    for (class, left) in [("left", true), ("right", false)] {
        let path = folder.path(&format!("pictures/{part}/{class}"));
        std::fs::create_dir_all(&path).unwrap();
        for n in 0..count {
            let level = |place: usize| {
                let (x, y, channel) = (place / 3 % 8, place / 24, place % 3);
                let bright = (x < 4) == left && (x + y + n) % 3 != 0;
                if bright { 0.7 + 0.01 * n as f32 - 0.2 * channel as f32 } else { 0.1 + 0.005 * n as f32 }
            };
            let levels: Vec<f32> = (0..3 * 48).map(level).collect();
            let picture = Picture::from_channels(8, 6, &levels);
            picture.write_png(path.join(format!("{n:02}.png"))).unwrap();
        }
    }
}

#[test]
fn pictures_are_predicted_one_by_one_and_by_folders() {
    let folder = Folder::new("predict-pictures");
    draw(&folder, "train", 24);
    draw(&folder, "test", 9);
    folder.succeed("train images --data pictures --epochs 6 --batch 8 --set augment=false --set sizes=4 --set warm_up=0 --device cpu --quiet --out run");
    let judged: Value = serde_json::from_str(&folder.succeed("eval run --json --quiet")).unwrap();
    let output = folder.farad("predict run --data pictures/test --json");
    let said = lines(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(said.len(), 18);
    let right = said.iter().filter(|one| one["class"] == one["target"]).count();
    assert_eq!(judged["accuracy"].as_f64(), Some(right as f64 / 18.0), "what eval says of the same pictures");
    assert!(right > 12, "{right} of 18");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(&format!("accuracy {:.2} % ({right} of 18)", right as f64 / 0.18)), "{told}");
    let files: Vec<&str> = said.iter().map(|one| one["file"].as_str().unwrap()).collect();
    assert!(files.is_sorted() && files[0] == "pictures/test/left/00.png", "{files:?}");
    // A folder without classes, one file, and one of another size.
    let flat = lines(&folder.succeed("predict run --data pictures/test/left --json --quiet"));
    assert_eq!(flat.len(), 9);
    // Products of other sizes may round differently.
    let likely = |said: &Value| said["probabilities"]["left"].as_f64().unwrap();
    let alike = |one: &Value| (likely(one) - likely(&said[3])).abs() < 1e-5;
    assert!(flat[3].get("target").is_none() && alike(&flat[3]), "{flat:?}");
    let one = lines(&folder.succeed("predict run --data pictures/test/left/03.png --json --quiet"));
    assert!(alike(&one[0]), "{one:?}");
    Picture::filled(30, 40, [1, 2, 3]).write_png(folder.path("large.png")).unwrap();
    let output = folder.farad("predict run --data large.png --json");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(
        told.contains("1 of 1 picture resized to 8 × 6 pixels, which the model takes; large.png has 30 × 40"),
        "{told}"
    );
    std::fs::write(folder.path("broken.png"), "no picture").unwrap();
    refused(&folder, "predict run --data broken.png", &["image: ", "broken.png"]);
    std::fs::create_dir(folder.path("empty")).unwrap();
    refused(&folder, "predict run --data empty", &["images: no pictures: empty"]);
    std::fs::write(folder.path("new.csv"), "a\n1\n").unwrap();
    refused(
        &folder,
        "predict run --data new.csv",
        &[
            "predict: not what the model takes: new.csv: a .csv file\nhelp: it takes color pictures of 8 × 6 pixels",
        ],
    );
}

/// The digits that `farad eval` judges by, as an array: the same accuracy, by networks and by circuits.
#[test]
fn arrays_are_predicted_as_eval_does() {
    let folder = Folder::new("predict-arrays");
    let common = "--data synthetic --device cpu --quiet";
    folder.succeed(&format!("train mnist {common} --model mlp --epochs 1 --set sizes=16 --out net"));
    folder.succeed(&format!(
        "train logic-mnist {common} --updates 60 --set layers=300,200 --set candidates=4 --set simplify_seconds=0 --out gates"
    ));
    let set = digits(1000, 2);
    let pixels = set.inputs().to_f32();
    let labels: Vec<String> = (0..1000).map(|n| set.get(n).unwrap().target.to_f32()[0].to_string()).collect();
    write_npy(folder.path("test.npy"), &Tensor::from_vec(pixels.clone(), [1000, 28, 28], &Device::cpu()))
        .unwrap();
    write_npy(folder.path("one.npy"), &Tensor::from_vec(pixels[..784].to_vec(), [28, 28], &Device::cpu()))
        .unwrap();
    for run in ["net", "gates"] {
        let judged: Value =
            serde_json::from_str(&folder.succeed(&format!("eval {run} --json --quiet"))).unwrap();
        let said = lines(&folder.succeed(&format!("predict {run} --data test.npy --json --quiet")));
        let right = said.iter().zip(&labels).filter(|(one, label)| one["class"] == label.as_str()).count();
        assert_eq!(judged["accuracy"].as_f64(), Some(right as f64 / 1000.0), "{run}");
        assert_eq!(said[0]["probabilities"].as_object().unwrap().len(), 10);
        let one = lines(&folder.succeed(&format!("predict {run} --data one.npy --json --quiet")));
        assert_eq!((one.len(), &one[0]["class"]), (1, &said[0]["class"]));
    }
    let levels: Vec<f32> = pixels[..784].iter().map(|level| level * 255.0).collect();
    write_npy(folder.path("levels.npy"), &Tensor::from_vec(levels, [1, 28, 28], &Device::cpu())).unwrap();
    let output = folder.farad("predict net --data levels.npy");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("levels.npy has numbers below 0 or above 1"), "{told}");
    write_npy(folder.path("small.npy"), &Tensor::ones([3, 8, 8], &Device::cpu())).unwrap();
    refused(&folder, "predict net --data small.npy", &["([3, 8, 8] vs [n, 1, 28, 28] or [1, 28, 28])"]);
}
