//! Data sets: what they give, that real files are read where there are some, and what damaged ones say.

mod folder;

use std::io::Write;
use std::path::{Path, PathBuf};

use farad::Error;
use farad::data::*;
use folder::Folder;

/// Fails unless something was refused with an error of the data part.
macro_rules! refused {
    ($result:expr, $pattern:pat) => {
        assert!(matches!($result.err().as_ref().and_then(Error::part), Some($pattern)))
    };
}

/// An idx file of bytes.
fn idx(sizes: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    sizes.iter().for_each(|size| bytes.extend(size.to_be_bytes()));
    bytes.extend(data);
    bytes
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn write(folder: &Folder, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.at(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Three images of 2 × 2 and their labels, the images gzipped.
fn small_mnist(folder: &Folder) {
    write(
        folder,
        "train-images-idx3-ubyte.gz",
        &gzipped(&idx(&[3, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255])),
    );
    write(folder, "train-labels-idx1-ubyte", &idx(&[3], &[7, 0, 9]));
}

/// A folder of real data, if `FARAD_DATA` names one; otherwise says so.
fn real(name: &str) -> Option<PathBuf> {
    let root = farad::ENVIRONMENT.data.as_ref()?;
    let path = root.join(name);
    if !path.exists() {
        let _ = writeln!(std::io::stderr(), "skipped: no {name} in {}", root.display());
        return None;
    }
    Some(path)
}

#[test]
fn mnist_is_read_gzipped_and_plain() {
    let folder = Folder::new("mnist");
    small_mnist(&folder);
    let set = mnist(&folder.0, Split::Train).unwrap();
    assert_eq!(set.len(), 3);
    let sample = set.get(2).unwrap();
    assert_eq!(sample.input, Array::new(vec![8u8, 9, 10, 255], [1, 2, 2]));
    assert_eq!(sample.target, Array::class(9));
    assert_eq!(set.classes()[9], "9");
    assert_eq!(fashion_mnist(&folder.0, Split::Train).unwrap().classes()[9], "ankle boot");
    refused!(set.get(3), DataError::NoSample { index: 3, len: 3 });
}

#[test]
fn the_real_mnist_is_read_where_it_is() {
    let Some(path) = real("mnist") else {
        let _ = writeln!(std::io::stderr(), "skipped: the real MNIST: FARAD_DATA names no folder with it");
        return;
    };
    let (train, test) = (mnist(&path, Split::Train).unwrap(), mnist(&path, Split::Test).unwrap());
    assert_eq!((train.len(), test.len()), (60_000, 10_000));
    let (mean, deviation) = train.statistics();
    assert!(
        (mean[0] - 0.1307).abs() < 1e-4 && (deviation[0] - 0.3081).abs() < 1e-4,
        "{mean:?} {deviation:?}"
    );
    assert_eq!(train.get(0).unwrap().target, Array::class(5));
    assert!(fashion_mnist(&path, Split::Test).unwrap_err().to_string().contains("MNIST's digits"));
}

#[test]
fn wrong_idx_files_say_what_is_wrong() {
    let folder = Folder::new("idx");
    let error = |bytes: &[u8]| read_idx(write(&folder, "x", bytes)).unwrap_err();
    assert!(matches!(error(&[0, 0, 8]), Error::Truncated { found: 3, wanted: 4, .. }));
    assert!(matches!(error(b"\x89PNG....."), Error::Foreign { wanted: "an idx file", .. }));
    assert!(matches!(error(&idx(&[3, 2], &[1, 2, 3])), Error::Truncated { wanted: 6, .. }));
    assert!(matches!(error(&idx(&[2], &[1, 2, 3])), Error::Damaged { .. }));
    // Sizes that nobody could hold are refused before anything is allocated.
    assert!(error(&idx(&[u32::MAX; 4], &[])).to_string().contains("absurd sizes"));
    assert!(matches!(error(&idx(&[1 << 30], &[1])), Error::Truncated { .. }));
    assert!(matches!(error(&gzipped(&idx(&[1 << 30], &[1]))), Error::Truncated { .. }));
    let mut strange = idx(&[2], &[1, 2]);
    strange[2] = 0x0b;
    assert!(error(&strange).to_string().contains("kind 0x0b"));
    strange[3] = 0;
    strange[2] = 8;
    assert!(error(&strange).to_string().contains("rank outside (0 vs 1 to 8)"));
    let whole = gzipped(&idx(&[64], &(0..64).collect::<Vec<u8>>()));
    assert!(matches!(error(&whole[..whole.len() / 2]), Error::Truncated { .. }));
    let mut flipped = whole.clone();
    *flipped.iter_mut().rev().nth(6).unwrap() ^= 1; // the checksum at its end
    let text = error(&flipped).to_string();
    assert!(text.starts_with("idx: damaged file: ") && text.contains("/x: corrupt"), "{text}");
    assert!(matches!(read_idx(folder.at("nothing")), Err(Error::File { op: "idx", .. })));
}

#[test]
fn sets_that_do_not_fit_together_are_refused() {
    let folder = Folder::new("fit");
    let images = write(&folder, "images", &idx(&[2, 1, 1], &[1, 2]));
    let error = |bytes: &[u8]| {
        idx_set(&images, write(&folder, "labels", bytes), &["a", "b"]).unwrap_err().to_string()
    };
    assert!(error(&idx(&[3], &[0, 1, 0])).contains("one label per image: ([3] vs 2)"));
    assert!(error(&idx(&[2], &[0, 2])).contains("labels: record 1: label outside (2 vs below 2)"));
    assert!(error(&idx(&[2, 1, 1], &[0, 1])).contains("one label per image"));
    let missing = mnist(folder.at("none"), Split::Test).unwrap_err();
    let text = missing.to_string();
    assert!(
        text.starts_with("mnist: files are missing: ") && text.contains("t10k-labels-idx1-ubyte.gz"),
        "{text}"
    );
    assert!(text.contains("help: get them from https://") && text.ends_with("none"), "{text}");
    // As large as MNIST and not MNIST.
    write(&folder, "t10k-images-idx3-ubyte", &idx(&[10_000, 1, 1], &[0; 10_000]));
    write(&folder, "t10k-labels-idx1-ubyte", &idx(&[10_000], &[0; 10_000]));
    refused!(mnist(&folder.0, Split::Test), DataError::Checksum { wanted: 0x9137_3bdf, .. });
    let a = Array::new(vec![0f32; 6], [3, 2]);
    let unequal = TensorSet::from_arrays(a, Array::new(vec![0i32; 2], [2])).unwrap_err().to_string();
    assert_eq!(unequal, "data: inputs and targets differ in length: [3, 2] and [2] (3 vs 2)");
}

#[test]
fn cifar10_is_read_and_damaged_files_are_named() {
    let folder = Folder::new("cifar10");
    let record = |class: u8| [vec![class], vec![class * 10; 3072]].concat();
    for n in 1..=5 {
        write(&folder, &format!("cifar-10-batches-bin/data_batch_{n}.bin"), &[record(n), record(0)].concat());
    }
    let set = cifar10(&folder.0, Split::Train).unwrap();
    assert_eq!((set.len(), set.get(2).unwrap().target), (10, Array::class(2)));
    assert_eq!(set.get(2).unwrap().input, Array::new(vec![20u8; 3072], [3, 32, 32]));
    refused!(cifar10(&folder.0, Split::Test), DataError::MissingData { .. });
    let error = |bytes: &[u8]| {
        write(&folder, "cifar-10-batches-bin/test_batch.bin", bytes);
        cifar10(&folder.0, Split::Test).unwrap_err()
    };
    assert!(matches!(error(&record(1)[..3000]), Error::Truncated { found: 3000, wanted: 3073, .. }));
    assert!(matches!(error(&[]), Error::Truncated { .. }));
    let bad = error(&[record(1), record(10)].concat()).to_string();
    assert!(bad.ends_with("test_batch.bin: record 1: class outside (10 vs below 10)"), "{bad}");
}

/// A PNG of 2 × 1 pixels, red and black.
fn png_of(path: &Path) {
    let pixels = [255, 0, 0, 0, 0, 0];
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 2, 1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, file).unwrap();
}

/// A JPEG of 8 × 8 gray pixels of one brightness, written by hand: one component, one block, short tables.
fn jpeg_of(path: &Path) {
    let mut bytes = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
    bytes.extend([1; 64]);
    bytes.extend([0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0]);
    for class in [0x00, 0x10] {
        // One code, of one bit, for 0: no difference, no coefficients.
        bytes.extend([0xff, 0xc4, 0, 20, class, 1]);
        bytes.extend([0; 15]);
        bytes.push(0);
    }
    bytes.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0x3f, 0xff, 0xd9]);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A PNG may say that it is large; its bytes must be able to hold so much before memory is taken for it.
#[test]
fn a_picture_of_few_bytes_cannot_be_huge() {
    let folder = Folder::new("huge");
    png_of(&folder.at("x/a.png"));
    let mut bytes = std::fs::read(folder.at("x/a.png")).unwrap();
    bytes[16..24].copy_from_slice(&[0, 0, 0x1f, 0x40, 0, 0, 0x1f, 0x40]);
    let mut sum = flate2::Crc::new();
    sum.update(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&sum.sum().to_be_bytes());
    std::fs::write(folder.at("x/a.png"), bytes).unwrap();
    let error = read_image(folder.at("x/a.png"), Channels::Color).unwrap_err().to_string();
    assert!(error.ends_with("absurd size: 8000 × 8000"), "{error}");
}

#[test]
fn pictures_are_classes_by_folder() {
    let folder = Folder::new("images");
    png_of(&folder.at("red/a.png"));
    png_of(&folder.at("red/b.PNG"));
    jpeg_of(&folder.at("gray/a.jpeg"));
    write(&folder, "gray/notes.txt", b"no picture");
    let set = ImageFolder::open(&folder.0).unwrap();
    assert_eq!((set.len(), set.classes()), (3, &["gray".to_string(), "red".to_string()][..]));
    assert_eq!(set.get(1).unwrap().input, Array::new(vec![255u8, 0, 0, 0, 0, 0], [3, 1, 2]));
    assert_eq!(set.get(0).unwrap().input, Array::new(vec![128u8; 192], [3, 8, 8]));
    assert_eq!(set.get(2).unwrap().target, Array::class(1));
    assert_eq!(
        read_image(folder.at("red/a.png"), Channels::Gray).unwrap(),
        Array::new(vec![76u8, 0], [1, 1, 2])
    );
    let whole = std::fs::read(folder.at("red/a.png")).unwrap();
    let error = |bytes: &[u8]| read_image(write(&folder, "x.png", bytes), Channels::Color).unwrap_err();
    assert!(matches!(error(&whole[..30]), Error::Damaged { op: "image", .. }));
    assert!(matches!(error(b"GIF89a"), Error::Foreign { .. }));
    let mut large = whole.clone();
    large[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    assert!(matches!(error(&large), Error::Damaged { .. }));
    let whole = std::fs::read(folder.at("gray/a.jpeg")).unwrap();
    assert!(matches!(error(&whole[..whole.len() - 2]), Error::Damaged { .. }));
    let empty = ImageFolder::open(folder.at("red")).unwrap_err().to_string();
    assert!(empty.starts_with("images: no pictures: "), "{empty}");
}

#[test]
fn a_test_folder_has_the_classes_of_its_training_folder() {
    let folder = Folder::new("image-parts");
    for path in [
        "train/a/1.png",
        "train/b/1.png",
        "train/c/1.png",
        "train/.cache/1.png",
        "test/b/1.png",
        "test/c/1.png",
    ] {
        png_of(&folder.at(path));
    }
    std::fs::create_dir_all(folder.at("train/empty")).unwrap();
    let train = ImageFolder::open(folder.at("train")).unwrap();
    assert_eq!(train.classes(), ["a", "b", "c"]);
    let test = ImageFolder::open_as(folder.at("test"), train.classes()).unwrap();
    assert_eq!((test.classes(), test.len()), (train.classes(), 2));
    assert_eq!([0, 1].map(|n| test.get(n).unwrap().target), [Array::class(1), Array::class(2)]);
    png_of(&folder.at("test/zebra/1.png"));
    let other = ImageFolder::open_as(folder.at("test"), train.classes()).unwrap_err().to_string();
    assert!(other.starts_with("images: another class: ") && other.contains("zebra"), "{other}");
    assert!(other.contains("help: the classes are a, b, c"), "{other}");
}

#[test]
fn tables_are_separated_by_what_their_first_line_has_most_of() {
    let folder = Folder::new("csv-separators");
    let read = |csv: Csv, text: &str| csv.read(write(&folder, "t.csv", text.as_bytes()));
    for separator in [",", ";", "\t", "|"] {
        let text = ["a,b;c", "1,2;3"].map(|line| line.replace([',', ';'], separator)).join("\n");
        let set = read(Csv::new(), &text).unwrap();
        assert_eq!(set.inputs(), &Array::new(vec![1f32, 2.0], [1, 2]), "{separator:?}");
    }
    let quoted = read(Csv::new(), "\"a;b;c;d\",e\n1,2\n").unwrap();
    assert_eq!(quoted.inputs().shape()[..], [1, 1]);
    // A name comes before a number.
    let years = "2,1,0\n10,20,30\n";
    let target = |column: &str| read(Csv::new().target(column), years).unwrap().targets().to_f32();
    assert_eq!(["2", "1", "0"].map(target), [[10.0], [20.0], [30.0]]);
    assert_eq!(read(Csv::new().target("1"), "a,b\n1,2\n").unwrap().targets().to_f32(), [2.0]);
    let nothing = read(Csv::new().ignore("a"), "a,b\n1,2\n").unwrap_err().to_string();
    assert!(nothing.starts_with("csv: no column is left to learn from: "), "{nothing}");
}

#[test]
fn tables_name_line_and_column_of_what_is_wrong() {
    let folder = Folder::new("csv");
    let read = |csv: Csv, text: &str| csv.read(write(&folder, "t.csv", text.as_bytes()));
    let flowers = "id,length,width,kind\n1,1.5,2,b\n2,3,4.5,\"a, or so\"\n";
    let set = read(Csv::new().ignore("id"), flowers).unwrap();
    assert_eq!(set.classes(), ["a, or so", "b"]);
    assert_eq!(set.targets(), &Array::new(vec![1i32, 0], [2]));
    assert_eq!(set.inputs(), &Array::new(vec![1.5f32, 2.0, 3.0, 4.5], [2, 2]));
    let set = read(Csv::new().target(1).ignore(3), flowers).unwrap();
    assert_eq!(set.targets(), &Array::new(vec![1.5f32, 3.0], [2, 1]));
    let plain = "1;10\n2;9\n3;10\n";
    let set = read(Csv::new().without_header().separator(b';').kind(TargetKind::Class), plain).unwrap();
    assert_eq!((set.len(), set.classes()), (3, &["9".to_string(), "10".to_string()][..]));
    let text = |csv: Csv, text: &str| read(csv, text).unwrap_err().to_string();
    let missing = text(Csv::new(), "a,b\n1,2\n3,NA\n");
    assert!(
        missing.contains("t.csv: line 3, column `b`") && missing.starts_with("csv: a value is missing"),
        "{missing}"
    );
    assert!(text(Csv::new(), "a,b\n,2\n").contains("line 2, column `a`"));
    let word = text(Csv::new(), "a,b\n1,2\nx,3\n");
    assert!(word.starts_with("csv: not a number: ") && word.contains("line 3, column `a`: `x`"), "{word}");
    assert!(text(Csv::new().kind(TargetKind::Number), "a,b\n1,x\n").contains("column `b`: `x`"));
    assert!(text(Csv::new(), "a,b\n1,2\n1\n").contains("t.csv: line 3: another number of columns (1 vs 2)"));
    assert!(text(Csv::new().target("c"), "a,b\n1,2\n").contains("no such column: "));
    refused!(read(Csv::new(), "a,b\n"), DataError::EmptyTable { .. });
    refused!(read(Csv::new(), ""), DataError::EmptyTable { .. });
}

#[test]
fn texts_are_windows_with_their_next_letters() {
    let text = Text::new("hello, wörld", 3).unwrap();
    assert_eq!(text.len(), 3);
    let Sample { input, target } = text.get(2).unwrap();
    let read = |array: &Array| array.to_f32().iter().map(|&n| n as i32).collect::<Vec<_>>();
    assert_eq!(
        (text.decode(&read(&input)), text.decode(&read(&target))),
        (" wö".to_string(), "wör".to_string())
    );
    refused!(Text::new("abc", 3), DataError::TextTooShort { letters: 3, length: 3 });
    refused!(Text::new("abc", 0), DataError::TextTooShort { .. });
    refused!(Text::with_letters("abc", &['a', 'b'], 1), DataError::UnknownLetter { letter: 'c', place: 2 });
    let folder = Folder::new("text");
    let bad = Text::read(write(&folder, "t", b"ab\xff"), 1).unwrap_err().to_string();
    assert!(bad.ends_with("t: byte 2: it is not UTF-8"), "{bad}");
}

#[test]
fn synthetic_sets_follow_their_seeds() {
    assert_eq!(digits(40, 3), digits(40, 3));
    assert_ne!(digits(40, 3), digits(40, 4));
    // More samples begin with the same ones.
    assert_eq!(digits(40, 3).get(17).unwrap(), digits(20, 3).get(17).unwrap());
    for set in [spirals(60, 3, 0.02, 1), moons(60, 0.05, 1), blobs(60, 3, 0.05, 1), digits(60, 1)] {
        let count = set.classes().len();
        assert!((0..60).all(|n| set.get(n).unwrap().target == Array::class(n % count)));
        assert!(set.inputs().to_f32().iter().all(|v| v.is_finite()));
    }
    // The nearest center says the class of a blob.
    let (mean, deviation) = blobs(3000, 3, 0.05, 2).statistics();
    assert!(
        mean.iter().all(|m| m.abs() < 0.05) && deviation.iter().all(|d| (d - 0.5f32.sqrt()).abs() < 0.05)
    );
    let series = sine(5, 12, 0.0, 1);
    assert_eq!(series.get(1).unwrap().input.to_f32()[11], series.get(0).unwrap().target.to_f32()[0]);
}

#[test]
fn transforms_do_what_they_say() {
    let image = Array::new((1..=12).collect::<Vec<u8>>(), [2, 2, 3]);
    let apply = |t: &dyn Transform, place: u64| t.apply(image.clone(), &mut Random::at(1, 0, place)).unwrap();
    let flips: Vec<Array> = (0..32).map(|place| apply(&HorizontalFlip, place)).collect();
    let mirrored = Array::new(vec![3u8, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10], [2, 2, 3]);
    assert!(flips.iter().all(|flip| *flip == image || *flip == mirrored));
    assert!(flips.contains(&image) && flips.contains(&mirrored));
    let crops: Vec<Array> = (0..200).map(|place| apply(&RandomCrop { padding: 1 }, place)).collect();
    let down_right = Array::new(vec![5u8, 6, 0, 0, 0, 0, 11, 12, 0, 0, 0, 0], [2, 2, 3]);
    assert!(crops.contains(&image) && crops.contains(&down_right));
    let kinds: std::collections::HashSet<Vec<u32>> =
        crops.iter().map(|crop| crop.to_f32().iter().map(|v| v.to_bits()).collect()).collect();
    assert_eq!(kinds.len(), 9);
    let by_channel = apply(&Normalize::new([0.0, 7.0 / 255.0], [1.0 / 255.0, 0.0]), 0).to_f32();
    assert!(
        (by_channel[0] - 1.0).abs() < 1e-5
            && (by_channel[6]).abs() < 1e-6
            && (by_channel[7] - 1.0 / 255.0).abs() < 1e-6
    );
    let wrong =
        Normalize::new([0.0; 3], [1.0; 3]).apply(image.clone(), &mut Random::at(0, 0, 0)).unwrap_err();
    assert_eq!(wrong.to_string(), "normalize: inputs have another shape: ([2, 2, 3] vs [3, ..])");
    assert_eq!(apply(&Flatten, 0).shape()[..], [12]);
    assert_eq!(apply(&Resize { height: 4, width: 6 }, 0).shape()[..], [2, 4, 6]);
    let halved = Resize { height: 1, width: 1 }
        .apply(Array::new(vec![0f32, 2.0, 4.0, 6.0], [1, 2, 2]), &mut Random::at(0, 0, 0));
    assert_eq!(halved.unwrap().to_f32(), [3.0]);
    assert!(
        RandomCrop { padding: 1 }.apply(Array::new(vec![0f32; 4], [4]), &mut Random::at(0, 0, 0)).is_err()
    );
}

/// A bright pixel of a dark picture, and where it is after a warp: its center of mass, down and right.
fn center_after(motion: Motion, place: u64) -> (f32, f32) {
    let mut levels = vec![0f32; 21 * 21];
    levels[5 * 21 + 10] = 1.0;
    let warp = Warp::new([motion]);
    let bent = warp.apply(Array::new(levels, [1, 21, 21]), &mut Random::at(7, 0, place)).unwrap().to_f32();
    let total: f32 = bent.iter().sum();
    let mean = |of: &dyn Fn(usize) -> usize| {
        bent.iter().enumerate().map(|(n, level)| level * of(n) as f32).sum::<f32>() / total
    };
    (mean(&|n| n / 21) - 10.0, mean(&|n| n % 21) - 10.0)
}

#[test]
fn motions_move_a_pixel_as_far_as_they_say() {
    // The pixel is five above the middle.
    let extent = |motion: Motion, of: &dyn Fn((f32, f32)) -> f32| {
        let all: Vec<f32> = (0..60).map(|place| of(center_after(motion, place))).collect();
        let most = |sign: f32| all.iter().map(|x| sign * x).fold(f32::MIN, f32::max);
        (-most(-1.0), most(1.0))
    };
    let near = |(low, high): (f32, f32), wanted: (f32, f32)| {
        let off = (low - wanted.0).abs().max((high - wanted.1).abs());
        assert!(off < 0.25, "{low} to {high}, not {wanted:?}");
    };
    let side = 5.0 * 30f32.to_radians().sin();
    near(extent(Motion::Rotate(30.0), &|(_, right)| right), (-side, side));
    near(extent(Motion::Rotate(30.0), &|(down, right)| down.hypot(right)), (5.0, 5.0));
    let slope = 5.0 * 30f32.to_radians().tan();
    near(extent(Motion::Shear(30.0), &|(_, right)| right), (-slope, slope));
    near(extent(Motion::Shear(30.0), &|(down, _)| down), (-5.0, -5.0));
    near(extent(Motion::Scale(0.2), &|(down, _)| down), (-6.0, -4.0));
    near(extent(Motion::Shift(0.1), &|(down, _)| down), (-5.0 - 2.1, -5.0 + 2.1));
    // On a slope every pixel says where it looks. Moves between -1 and 1 that are alike over 3 pixels have a deviation of
    // 0.58 / (2 · √π · 3).
    let elastic = Warp::new([Motion::Elastic { alpha: 30.0, sigma: 3.0 }]);
    let slope = Array::new((0..21 * 21).map(|n| (n % 21) as f32).collect::<Vec<f32>>(), [1, 21, 21]);
    let moved =
        |place| elastic.apply(slope.clone(), &mut Random::at(7, 0, place)).unwrap().to_f32()[220] - 10.0;
    let moves: Vec<f32> = (0..200).map(moved).collect();
    let deviation = (moves.iter().map(|x| x * x).sum::<f32>() / 200.0).sqrt();
    assert!((1.4..1.9).contains(&deviation), "{deviation} vs 1.63");
}

#[test]
fn warps_repeat_and_keep_what_inputs_are() {
    let warp = Warp::new([Motion::Rotate(20.0), Motion::Elastic { alpha: 20.0, sigma: 2.0 }]);
    let picture = digits(1, 3).get(0).unwrap().input;
    let bent = |place| warp.apply(picture.clone(), &mut Random::at(1, 0, place)).unwrap();
    assert_eq!(bent(3), bent(3));
    assert_ne!(bent(3), bent(4));
    assert!(matches!(bent(3).elements(), Elements::U8(_)));
    let none = Warp::new([]).apply(picture.clone(), &mut Random::at(1, 0, 0)).unwrap();
    assert_eq!(none, picture);
}

#[test]
fn edge_crops_go_on_with_the_edge() {
    let image = Array::new((1..=6).collect::<Vec<u8>>(), [1, 2, 3]);
    let crop = |place| EdgeCrop { padding: 1 }.apply(image.clone(), &mut Random::at(1, 0, place)).unwrap();
    let crops: Vec<Array> = (0..200).map(crop).collect();
    let up_left = Array::new(vec![1u8, 1, 2, 1, 1, 2], [1, 2, 3]);
    let down_right = Array::new(vec![5u8, 6, 6, 5, 6, 6], [1, 2, 3]);
    assert!([image.clone(), up_left, down_right].iter().all(|wanted| crops.contains(wanted)));
}

#[test]
fn splits_share_nothing_and_lose_nothing() {
    let (train, rest) = split(digits(50, 1), 0.7, 9);
    assert_eq!((train.len(), rest.len()), (35, 15));
    let image = |set: &dyn Dataset, n: usize| format!("{:?}", set.get(n).unwrap().input);
    let mut all: Vec<String> =
        (0..35).map(|n| image(&train, n)).chain((0..15).map(|n| image(&rest, n))).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 50);
}
