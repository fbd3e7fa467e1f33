//! Low-rank adapters: PEFT's files, what is trained and what is not, merging, and what is refused.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use farad::prelude::*;
use farad_lm::hub::{HubFolder, LoraOptions, adapt, read_adapter, write_adapter};
use farad_lm::{Error, Transformer};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hub").join(name)
}

fn loaded(name: &str) -> (HubFolder, Transformer) {
    let folder = HubFolder::open(fixture(name), 0).expect("a fixture");
    let model = folder.load(&Device::cpu()).expect("loads");
    (folder, model)
}

fn tensors(path: PathBuf) -> HashMap<String, Tensor> {
    farad::load(path, &Device::cpu()).expect("a file of tensors")
}

fn close(found: &Tensor, wanted: &Tensor, what: &str) {
    assert_eq!(found.shape(), wanted.shape(), "{what}");
    let [found, wanted] = [found, wanted].map(|tensor| tensor.to_vec::<f32>().expect("numbers"));
    let most = wanted.iter().fold(0f32, |most, x| most.max(x.abs()));
    let error = found.iter().zip(&wanted).fold(0f32, |worst, (a, b)| worst.max((a - b).abs())) / most;
    assert!(error < 1e-4, "{what}: {error}");
}

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("farad-adapters-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_adapter_of_peft_gives_its_logits_beside_the_weights_and_merged() {
    let (folder, mut model) = loaded("llama");
    let expected = tensors(fixture("adapter/expected.safetensors"));
    read_adapter(&mut model, folder.family(), &fixture("adapter")).expect("reads");
    close(&model.forward(&expected["tokens"]), &expected["logits"], "beside the weights");
    let adapted = model.parameter_count();
    model.merge().expect("merges");
    close(&model.forward(&expected["tokens"]), &expected["logits"], "merged");
    assert!(model.parameter_count() < adapted);
}

#[test]
fn only_adapters_are_trained_and_they_come_back_from_their_files() {
    for name in ["gpt2", "llama", "qwen2"] {
        farad::seed(3);
        let (folder, mut model) = loaded(name);
        let expected = tensors(fixture(name).join("expected.safetensors"));
        let before: Vec<(String, Vec<f32>)> = model
            .state()
            .into_iter()
            .map(|(name, tensor)| (name, tensor.to_vec().expect("numbers")))
            .collect();
        let options = LoraOptions { rank: 4, alpha: 8.0, targets: vec![] };
        adapt(&mut model, folder.family(), &options).expect("adapts");
        close(&model.forward(&expected["tokens"]), &expected["logits"], "a new adapter changes nothing");
        let tokens = &expected["tokens"];
        let (x, y) = (tokens.narrow(1, 0, 23), tokens.narrow(1, 1, 23));
        model.train();
        let mut adam = model.optimizer(0.01, 0.0);
        let mut losses = vec![];
        for _ in 0..30 {
            let loss = model.loss(&x, &y);
            adam.step(&loss).expect("a step");
            losses.push(loss.item().expect("a number"));
        }
        assert!(losses[29] < 0.7 * losses[0], "{name}: {losses:?}");
        let after: HashMap<String, Tensor> = model.state().into_iter().collect();
        for (weight, old) in &before {
            let new = after[weight].to_vec::<f32>().expect("numbers");
            assert!(
                old.iter().zip(&new).all(|(a, b)| a.to_bits() == b.to_bits()),
                "{name}: {weight} has changed"
            );
        }
        model.eval();
        let learned = model.forward(tokens);
        let scratch = Scratch::new(name);
        write_adapter(&mut model, folder.family(), &options, name, &scratch.0).expect("writes");
        let (_, mut again) = loaded(name);
        read_adapter(&mut again, folder.family(), &scratch.0).expect("reads");
        close(&again.forward(tokens), &learned, &format!("{name} from files"));
        again.merge().expect("merges");
        close(&again.forward(tokens), &learned, &format!("{name} merged"));
    }
}

#[test]
fn files_have_the_names_and_shapes_of_peft() {
    let (folder, mut model) = loaded("llama");
    let targets = ["q_proj", "v_proj", "down_proj"].map(String::from).to_vec();
    let options = LoraOptions { rank: 4, alpha: 8.0, targets };
    adapt(&mut model, folder.family(), &options).expect("adapts");
    let scratch = Scratch::new("names");
    write_adapter(&mut model, folder.family(), &options, "llama", &scratch.0).expect("writes");
    let shapes = |folder: &Path| {
        let all = tensors(folder.join("adapter_model.safetensors"));
        let mut all: Vec<(String, Vec<usize>)> =
            all.into_iter().map(|(name, tensor)| (name, tensor.shape().to_vec())).collect();
        all.sort();
        all
    };
    assert_eq!(shapes(&scratch.0), shapes(&fixture("adapter")));
    let config = |folder: &Path| -> serde_json::Value {
        let text = std::fs::read_to_string(folder.join("adapter_config.json")).expect("a file");
        serde_json::from_str(&text).expect("JSON")
    };
    let (own, theirs) = (config(&scratch.0), config(&fixture("adapter")));
    for key in
        ["peft_type", "task_type", "r", "lora_dropout", "fan_in_fan_out", "bias", "base_model_name_or_path"]
    {
        assert_eq!(own[key], theirs[key], "{key}");
    }
    assert_eq!(own["lora_alpha"].as_f64(), theirs["lora_alpha"].as_f64());
}

#[test]
fn adapters_that_do_not_fit_are_refused() {
    let (folder, mut model) = loaded("llama");
    let options = LoraOptions { rank: 4, alpha: 8.0, targets: vec!["c_attn".into()] };
    let text = adapt(&mut model, folder.family(), &options).unwrap_err().to_string();
    assert!(
        text.contains("no product `c_attn`") && text.contains("self_attn.q_proj, self_attn.k_proj"),
        "{text}"
    );
    let (other, mut gpt2) = loaded("gpt2");
    let text = read_adapter(&mut gpt2, other.family(), &fixture("adapter")).unwrap_err().to_string();
    assert!(text.contains("there is no product `model.layers.0.mlp.down_proj`"), "{text}");
    // A model of other sizes.
    let (wide, mut model) = loaded("mistral");
    let refused = read_adapter(&mut model, wide.family(), &fixture("adapter"));
    assert!(
        matches!(&refused, Err(Error::Adapter { what, .. }) if what.contains("another shape")),
        "{refused:?}"
    );
    let scratch = Scratch::new("config");
    std::fs::create_dir_all(&scratch.0).expect("a folder");
    let text = std::fs::read_to_string(fixture("adapter/adapter_config.json")).expect("a fixture");
    let weights = fixture("adapter/adapter_model.safetensors");
    std::fs::copy(weights, scratch.0.join("adapter_model.safetensors")).expect("copies");
    for (from, to, wanted) in [
        ("\"use_dora\": false", "\"use_dora\": true", "use_dora is not supported"),
        ("\"bias\": \"none\"", "\"bias\": \"all\"", "bias is not supported"),
        ("\"r\": 4", "\"r\": 8", "another shape"),
        ("\"r\": 4,", "", "there is no r"),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(scratch.0.join("adapter_config.json"), text.replace(from, to)).expect("writes");
        let (folder, mut model) = loaded("llama");
        let said = read_adapter(&mut model, folder.family(), &scratch.0).unwrap_err().to_string();
        assert!(said.contains(wanted) && said.contains("\nhelp: "), "{said}");
    }
}

#[test]
fn blocks_that_are_computed_again_have_the_same_gradients() {
    let (_, mut model) = loaded("mistral");
    let tokens = tensors(fixture("mistral/expected.safetensors"))["tokens"].clone();
    let (x, y) = (tokens.narrow(1, 0, 23), tokens.narrow(1, 1, 23));
    let parameters = model.parameters();
    let kept = model.loss(&x, &y).gradients(&parameters).expect("gradients");
    model.set_checkpoints(true);
    let again = model.loss(&x, &y).gradients(&parameters).expect("gradients");
    kept.iter().zip(&again).for_each(|(kept, again)| close(again, kept, "a gradient"));
}
