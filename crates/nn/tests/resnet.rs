//! Narrow residual networks with torchvision's weights give torchvision's outputs (`tools/fixtures/resnet.py`).

use farad::nn::{Layer, Module, ResNet, ResNetOptions};
use farad::{StateDict, Tensor};

fn weights(name: &str) -> StateDict {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    StateDict::read(format!("{folder}/{name}.safetensors")).expect("the fixture")
}

fn farthest(name: &str, options: ResNetOptions) -> f32 {
    let all = weights(name);
    let [x, y]: [Tensor; 2] = ["x", "y"].map(|key| all.get(key).expect("a tensor").clone());
    let model = ResNet::new(&ResNetOptions { width: 2, ..options });
    model.load(all.select("model.**").strip_prefix("model.").unwrap()).unwrap();
    model.eval();
    let (found, wanted) = (model.forward(&x).to_vec::<f32>().unwrap(), y.to_vec::<f32>().unwrap());
    assert_eq!(found.len(), 10);
    found.iter().zip(&wanted).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f32::max)
}

#[test]
fn outputs_are_those_of_torchvision() {
    let (small, large) = (ResNetOptions::resnet18(5), ResNetOptions::resnet50(5));
    let found = [farthest("resnet18", small), farthest("resnet50", large)];
    assert!(found.iter().all(|far| *far < 1e-4), "{found:?}");
}

#[test]
fn weights_of_another_network_are_refused() {
    let model = ResNet::new(&ResNetOptions { width: 2, ..ResNetOptions::resnet50(5) });
    let other = weights("resnet18").select("model.**").strip_prefix("model.").unwrap();
    let error = model.load(other).unwrap_err().to_string();
    assert!(error.contains("layer1.0.conv3.weight"), "{error}");
}
