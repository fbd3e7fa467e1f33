//! Residual networks that others have published, by command: predictions, and training that begins from their weights.

mod folder;

use farad::nn::{Layer, ResNet, ResNetOptions};
use farad::run::Picture;
use farad::{Device, StateDict, Tensor, save, write_npy};
use folder::Folder;
use serde_json::Value;

/// A narrow ResNet-18 of torchvision's, as a file of its own.
fn weights(folder: &Folder) -> StateDict {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../nn/tests/fixtures/resnet18.safetensors");
    let all = StateDict::read(path).unwrap().select("model.**").strip_prefix("model.").unwrap();
    let tensors: Vec<(&str, &Tensor)> = all.names().map(|name| (name, all.get(name).unwrap())).collect();
    save(folder.path("narrow.safetensors"), &tensors).unwrap();
    all
}

#[test]
fn pictures_are_classified_by_published_weights() {
    let folder = Folder::new("resnets-predict");
    let all = weights(&folder);
    let model = ResNet::new(&ResNetOptions { width: 2, ..ResNetOptions::resnet18(5) });
    model.load(all).unwrap();
    farad::nn::Module::eval(&model);
    let cpu = Device::cpu();
    cpu.seed(4);
    let x = Tensor::rand([2, 3, 224, 224], &cpu).detach().unwrap();
    write_npy(folder.path("x.npy"), &x).unwrap();
    let color = |colors: [f32; 3]| Tensor::from_vec(colors.to_vec(), [1, 3, 1, 1], &cpu);
    let normal = (x - color([0.485, 0.456, 0.406])) / color([0.229, 0.224, 0.225]);
    let wanted = model.forward(&normal).softmax(1).to_vec::<f32>().unwrap();
    let out = folder.succeed("predict narrow.safetensors --data x.npy --json --device cpu");
    for (row, line) in out.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        for class in 0..5 {
            let found = line["probabilities"][class.to_string()].as_f64().unwrap() as f32;
            assert!((found - wanted[row * 5 + class]).abs() < 1e-4, "{row} {class}: {line}");
        }
    }
    assert_eq!(out.lines().count(), 2);
    // Pictures of any size, and names of classes.
    std::fs::write(folder.path("classes.txt"), "ant\nbee\ncat\ndog\nelk\n").unwrap();
    picture(&folder, "wide.png", 300, 0);
    let out = folder.succeed("predict narrow.safetensors --data wide.png --device cpu");
    assert!(["ant", "bee", "cat", "dog", "elk"].iter().any(|name| out.contains(name)), "{out}");
    std::fs::write(folder.path("classes.txt"), "ant\n").unwrap();
    let error = folder.fail("predict narrow.safetensors --data wide.png");
    assert!(error.contains("it names other classes than the weights have (1 vs 5)"), "{error}");
    save(folder.path("other.safetensors"), &[("w", &Tensor::zeros([2], &cpu))]).unwrap();
    let error = folder.fail("predict other.safetensors --data wide.png");
    assert!(error.contains("there is no conv1.weight") && error.contains("resnet18"), "{error}");
}

/// A picture of one color or another.
fn picture(folder: &Folder, name: &str, side: usize, color: usize) {
    let levels = (0..side * side).flat_map(|n| {
        let level = if n % 7 == 0 { 0.5 } else { 1.0 };
        (0..3).map(move |channel| if channel == color { level } else { 0.1 })
    });
    Picture::from_channels(side, side, &levels.collect::<Vec<f32>>()).write_png(folder.path(name)).unwrap();
}

#[test]
fn training_begins_from_published_weights() {
    let folder = Folder::new("resnets-train");
    weights(&folder);
    for (class, color) in ["red", "green", "blue"].into_iter().zip(0..) {
        std::fs::create_dir_all(folder.path(&format!("photos/{class}"))).unwrap();
        (0..8).for_each(|n| picture(&folder, &format!("photos/{class}/{n}.png"), 24 + n, color));
    }
    let start =
        "train images --data photos --device cpu --set size=32 --batch 6 --set test=0.25 --set validation=0";
    folder
        .succeed(&format!("{start} --from narrow.safetensors --epochs 1 --set learning_rate=0 --out still"));
    let config = std::fs::read_to_string(folder.path("still/config.toml")).unwrap();
    assert!(
        config.contains("model = \"resnet18\"") && config.contains("sizes = [2, 2, 2, 2, 2]"),
        "{config}"
    );
    // Without a rate the convolutions are those of the file, and the last layer is new.
    let run = farad::load_run(folder.path("still")).unwrap();
    let state: std::collections::BTreeMap<String, Tensor> = run.state().into_iter().collect();
    let file = StateDict::read(folder.path("narrow.safetensors")).unwrap();
    let name = "layer4.1.conv2.weight";
    let values = |tensor: &Tensor| tensor.to_vec::<f32>().unwrap();
    assert_eq!(values(&state[name]), values(file.get(name).unwrap()));
    assert_eq!(state["fc.weight"].shape()[0], 3);
    let out = folder.succeed(&format!(
        "{start} --from narrow.safetensors --epochs 40 --set learning_rate=0.01 --json --out learned"
    ));
    let last: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert!(last["accuracy"].as_f64().unwrap() > 0.8, "{out}");
    // The weights are not needed any more.
    std::fs::remove_file(folder.path("narrow.safetensors")).unwrap();
    folder.succeed("predict learned --data photos/red/1.png");
    folder.succeed("train --resume learned --epochs 41");
    let error = folder.fail(&format!("{start} --model resnet18 --set sizes=4,1,1 --out bad"));
    assert!(error.contains("sizes of channels, then blocks of four stages"), "{error}");
    assert!(!folder.path("bad").exists());
}
