//! Folders as Hugging Face's: what the transformers library computes with them, and what is wrong with them.

#[path = "../../farad/tests/devices/mod.rs"]
mod devices;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use devices::{devices, turn};
use farad::prelude::*;
use farad_lm::hub::{ChatMessage, ChatTemplate, FAMILIES, HubFolder, write_folder};
use farad_lm::{Generator, Sampling, TextBatch, Transformer, WeightFormat};

/// Every family, rotary positions scaled in every way, shards, f32 and bf16, older and newer files.
const FOLDERS: [&str; 6] = ["gpt2", "llama", "linear", "yarn", "qwen2", "mistral"];

const GREEDY: Sampling =
    Sampling { temperature: 0.0, top_k: 0, top_p: 1.0, repetition_penalty: 1.0, seed: 0 };

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hub").join(name)
}

fn expected(name: &str) -> HashMap<String, Tensor> {
    farad::load(fixture(name).join("expected.safetensors"), &Device::cpu())
        .expect("a fixture that is shipped")
}

fn loaded(name: &str, device: &Device) -> (HubFolder, Transformer) {
    let folder = HubFolder::open(fixture(name), 0).unwrap_or_else(|error| panic!("{name}: {error}"));
    let model = folder.load(device).unwrap_or_else(|error| panic!("{name}: {error}"));
    (folder, model)
}

/// The largest difference, as a share of the largest number.
fn error(found: &Tensor, wanted: &Tensor) -> f32 {
    assert_eq!(found.shape(), wanted.shape());
    let (found, wanted) = (found.to_vec::<f32>().expect("numbers"), wanted.to_vec::<f32>().expect("numbers"));
    let most = wanted.iter().fold(0f32, |most, x| most.max(x.abs()));
    found.iter().zip(&wanted).fold(0f32, |worst, (a, b)| worst.max((a - b).abs())) / most
}

/// A copy of a folder that may be damaged.
struct Copied(PathBuf);

impl Copied {
    fn of(name: &str, what: &str) -> Copied {
        let path = std::env::temp_dir().join(format!("farad-hub-{name}-{what}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        for entry in std::fs::read_dir(fixture(name)).expect("a fixture") {
            let entry = entry.expect("an entry");
            std::fs::copy(entry.path(), path.join(entry.file_name())).expect("copies");
        }
        Copied(path)
    }

    /// Changes a text file.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.0.join(file);
        let text = std::fs::read_to_string(&path).expect("reads");
        assert!(text.contains(from), "{from} is not in {file}");
        std::fs::write(path, text.replace(from, to)).expect("writes");
    }

    /// What is said about the folder.
    fn refused(&self) -> String {
        let loaded = HubFolder::open(&self.0, 0).and_then(|folder| folder.load(&Device::cpu()));
        match loaded {
            Ok(_) => panic!("{}: it was taken", self.0.display()),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn logits_are_those_of_transformers() {
    let _turn = turn();
    for device in devices() {
        for name in FOLDERS {
            let (folder, model) = loaded(name, &device);
            let expected = expected(name);
            let tokens = expected["tokens"].to_device(&device).expect("room");
            let error = error(&model.forward(&tokens), &expected["logits"]);
            assert!(error < 1e-4, "{name} on {device}: {error}");
            assert_eq!(folder.ends(), [2]);
            assert_eq!(folder.needs(1).weights, 4 * model.parameter_count() as u128, "{name}");
        }
    }
    let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
    assert!(names.iter().all(|name| FOLDERS.contains(name)), "a family without a fixture: {names:?}");
}

#[test]
fn greedy_text_is_that_of_transformers_with_and_without_cache() {
    let _turn = turn();
    for device in devices() {
        for name in FOLDERS {
            let (_, model) = loaded(name, &device);
            let expected = expected(name);
            let tokens: Vec<i32> = expected["tokens"].to_vec().expect("tokens");
            let greedy: Vec<i32> = expected["greedy"].to_vec().expect("tokens");
            let prompts = [&tokens[..9], &tokens[24..27]]
                .map(|part| part.iter().map(|&t| t as u32).collect::<Vec<_>>());
            let mut batch = TextBatch::new(&model, GREEDY, 2).expect("room");
            for (n, prompt) in prompts.iter().enumerate() {
                let wanted: Vec<u32> = greedy[20 * n..][..20].iter().map(|&token| token as u32).collect();
                let mut generator = Generator::new(&model, GREEDY).expect("room");
                generator.push(prompt).expect("fits");
                let cached: Vec<u32> = generator.take(20).collect::<Result<_, _>>().expect("tokens");
                assert_eq!(cached, wanted, "{name} on {device}, text {n}");
                batch.push(n, prompt).expect("fits");
            }
            // Both at once, though one is longer.
            let drawn: Vec<Vec<Option<u32>>> =
                (0..20).map(|_| batch.next_tokens().expect("tokens")).collect();
            for n in 0..2 {
                let wanted = greedy[20 * n..][..20].iter().map(|&token| Some(token as u32));
                assert!(drawn.iter().map(|row| row[n]).eq(wanted), "{name} on {device}, text {n} of both");
            }
            // Without a cache.
            let mut text = prompts[0].clone();
            for (n, &wanted) in greedy[..6].iter().enumerate() {
                let ids: Vec<i32> = text.iter().map(|&token| token as i32).collect();
                let logits = model.forward(&Tensor::from_vec(ids, [1, text.len()], &device));
                let last = logits.narrow(1, text.len() - 1, 1).argmax(-1).cast(DType::I32);
                let next = last.to_vec::<i32>().expect("a token")[0];
                assert_eq!(next, wanted, "{name} on {device}, token {n}");
                text.push(next as u32);
            }
        }
    }
}

#[test]
fn weights_in_other_formats_are_smaller_and_nearly_as_good() {
    let _turn = turn();
    for device in devices() {
        for name in ["gpt2", "llama", "qwen2"] {
            let expected = expected(name);
            let tokens = expected["tokens"].to_device(&device).expect("room");
            let mut before = u128::MAX;
            for (format, most) in [
                (WeightFormat::F32, 1e-4),
                (WeightFormat::F16, 5e-3),
                (WeightFormat::BF16, 3e-2),
                (WeightFormat::I8, 5e-2),
            ] {
                let folder = HubFolder::open(fixture(name), 0).expect("a folder").with_format(format);
                let model = folder.load(&device).expect("loads");
                let off = error(&model.forward(&tokens), &expected["logits"]);
                assert!(off < most, "{name} as {} on {device}: {off}", format.name());
                // What is said about memory is what is held.
                let held =
                    |(_, tensor): (String, Tensor)| tensor.numel() as u128 * tensor.dtype().size() as u128;
                let weights = folder.needs(1).weights;
                assert_eq!(
                    weights,
                    model.state().into_iter().map(held).sum::<u128>(),
                    "{name} as {}",
                    format.name()
                );
                assert!(weights < before || format == WeightFormat::BF16, "{name} as {}", format.name());
                before = weights;
                let mut generator = Generator::new(&model, GREEDY).expect("room");
                generator.push(&[5, 6, 7]).expect("fits");
                assert_eq!(generator.take(5).filter(Result::is_ok).count(), 5);
            }
        }
    }
}

#[test]
fn a_smaller_context_forgets_and_goes_on() {
    for name in ["gpt2", "mistral"] {
        let folder = HubFolder::open(fixture(name), 12).expect("a folder");
        assert!(folder.needs(1).cache < HubFolder::open(fixture(name), 0).expect("a folder").needs(1).cache);
        let model = folder.load(&Device::cpu()).expect("loads");
        assert_eq!(model.options().context, 12);
        let mut generator = Generator::new(&model, GREEDY).expect("room");
        generator.push(&[5, 6, 7]).expect("fits");
        assert_eq!(generator.take(30).filter(Result::is_ok).count(), 30);
    }
    let text = HubFolder::open(fixture("gpt2"), 65).err().expect("refused").to_string();
    assert!(text.contains("the model sees fewer tokens at once (65 vs 64)"), "{text}");
}

#[test]
fn conversations_are_rendered_as_transformers_renders_them() {
    #[derive(serde::Deserialize)]
    struct Rendered {
        template: String,
        messages: Vec<ChatMessage>,
        prompt: bool,
        text: Option<String>,
    }
    let text = std::fs::read_to_string(fixture("chats.json")).expect("a fixture");
    let all: Vec<Rendered> = serde_json::from_str(&text).expect("JSON");
    assert!(all.len() >= 120 && all.iter().filter(|chat| chat.text.is_some()).count() >= 100);
    for Rendered { template, messages, prompt, text } in all {
        let own = ChatTemplate::of_folder(&fixture(&template)).expect("sound").expect("there is one");
        assert_eq!(own.render(&messages, prompt).ok(), text, "{template}: {messages:?}");
        // In pieces it is the same text, up to the last answer.
        if let (Some(text), Ok(pieces)) = (text.filter(|_| !prompt), own.pieces(&messages)) {
            let joined: String = pieces.iter().map(|(piece, _)| piece.as_str()).collect();
            assert!(text.starts_with(&joined), "{template}: {joined}");
            let answers = messages.iter().filter(|message| message.role == "assistant");
            for (answer, (piece, _)) in answers.zip(pieces.iter().filter(|(_, said)| *said)) {
                assert!(piece.contains(answer.content.trim()), "{piece}");
            }
        }
    }
    // Marks of what the model says, and loops that end early; the text is the library's.
    let marked = "{%- for m in messages %}
    {%- if m.role == 'assistant' %}
        {%- generation %}
        {{- 'A: ' + m.content }}
        {% endgeneration -%}
    {%- else %}
        {{- 'U: ' + m.content }}
        {%- if m.content == 'stop' %}{% break %}{% endif %}
    {% endif %}
{%- endfor %}
{% generation %}end{% endgeneration %}
";
    let talk = [("user", "Hi"), ("assistant", "Ho"), ("user", "stop"), ("user", "no")];
    let talk = talk.map(|(role, content)| ChatMessage::new(role, content));
    let marked = ChatTemplate::new(marked, "<s>", "</s>").expect("sound");
    assert_eq!(marked.render(&talk, false).expect("renders"), "U: HiA: Ho\nU: stopend");
    assert!(ChatTemplate::of_folder(&fixture("gpt2")).expect("sound").is_none());
    let text = ChatTemplate::new("{% for m in %}", "", "").unwrap_err().to_string();
    assert!(text.starts_with("template: "), "{text}");
}

#[test]
fn a_folder_is_written_back() {
    for name in FOLDERS {
        let (_, model) = loaded(name, &Device::cpu());
        let copied = Copied::of(name, "back");
        let out = copied.0.join("out");
        write_folder(&model, &fixture(name), &out).expect("writes");
        let again = HubFolder::open(&out, 0).expect("a folder").load(&Device::cpu()).expect("loads");
        let expected = expected(name);
        let error = error(&again.forward(&expected["tokens"]), &expected["logits"]);
        assert!(error < 1e-4, "{name}: {error}");
        assert!(out.join("tokenizer.json").exists());
    }
}

#[test]
fn damaged_folders_are_refused() {
    let refused = |name: &str, what: &str, damage: &dyn Fn(&Copied), wanted: &str| {
        let copied = Copied::of(name, what);
        damage(&copied);
        let text = copied.refused();
        assert!(text.contains(wanted) && text.contains("\nhelp: "), "{what}: {text}");
    };
    let remove = |file: &'static str| {
        move |copied: &Copied| std::fs::remove_file(copied.0.join(file)).expect("removes")
    };
    let edit = |file: &'static str, from: &'static str, to: &'static str| {
        move |copied: &Copied| copied.edit(file, from, to)
    };
    let cut = |file: &'static str| {
        move |copied: &Copied| {
            let bytes = std::fs::read(copied.0.join(file)).expect("reads");
            std::fs::write(copied.0.join(file), &bytes[..bytes.len() / 2]).expect("writes");
        }
    };
    const CONFIG: &str = "config.json";
    const SHARD: &str = "model-00002-of-00005.safetensors";
    refused("gpt2", "config", &remove(CONFIG), "there is no config.json in");
    refused("gpt2", "weights", &remove("model.safetensors"), "there is no model.safetensors in");
    refused("gpt2", "cut", &cut("model.safetensors"), "cut or damaged");
    refused("gpt2", "json", &cut(CONFIG), "no JSON");
    refused("llama", "shard-cut", &cut(SHARD), SHARD);
    refused(
        "llama",
        "index",
        &edit("model.safetensors.index.json", "weight_map", "weights"),
        "there is no weight_map",
    );
    let renamed = edit("model.safetensors.index.json", "model.norm.weight", "model.nrm.weight");
    refused("llama", "index-name", &renamed, "there is no model.nrm.weight in it");
    refused(
        "llama",
        "type",
        &edit(CONFIG, "\"llama\"", "\"mamba\""),
        "model_type `mamba` is not known (known: gpt2, llama",
    );
    refused(
        "llama",
        "rope",
        &edit(CONFIG, "\"llama3\"", "\"spiral\""),
        "rope_type `spiral` is not supported",
    );
    refused(
        "llama",
        "width",
        &edit(CONFIG, "\"hidden_size\": 32", "\"hidden_size\": 48"),
        "has another shape than config.json says",
    );
    refused(
        "llama",
        "layers",
        &edit(CONFIG, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3"),
        "there is no model.layers.2.",
    );
    refused(
        "llama",
        "fewer",
        &edit(CONFIG, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1"),
        "tensors that a model of family llama does not have",
    );
    refused("qwen2", "biases", &edit(CONFIG, "\"qwen2\"", "\"llama\""), "k_proj.bias");
    refused(
        "mistral",
        "heads",
        &edit(CONFIG, "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3"),
        "heads of keys do not divide",
    );
    refused("mistral", "key", &edit(CONFIG, "hidden_size", "hidden_sise"), "there is no hidden_size");
    refused(
        "mistral",
        "kind",
        &edit(CONFIG, "\"vocab_size\": 304", "\"vocab_size\": \"many\""),
        "vocab_size is of another kind",
    );
    refused("mistral", "act", &edit(CONFIG, "\"silu\"", "\"relu\""), "hidden_act `relu` is not supported");
    refused(
        "mistral",
        "head",
        &edit(CONFIG, "\"head_dim\": 12", "\"head_dim\": 1000000"),
        "heads are too wide",
    );
    refused(
        "gpt2",
        "unscaled",
        &edit(CONFIG, "\"scale_attn_weights\": true", "\"scale_attn_weights\": false"),
        "scale_attn_weights is false",
    );
    let rope = |what: &str, to: &'static str, wanted: &str| {
        refused("yarn", what, &edit(CONFIG, "\"rope_type\": \"yarn\"", to), wanted);
    };
    rope("part", "\"rope_type\": \"yarn\", \"partial_rotary_factor\": 0.5", "partial_rotary_factor is not 1");
    rope("cut-line", "\"rope_type\": \"yarn\", \"truncate\": false", "truncate is false");
    rope("layers-rope", "\"full_attention\": {\"rope_type\": \"yarn\"}", "different for each kind of layer");
    refused(
        "yarn",
        "rope-kind",
        &edit(CONFIG, "\"tie_word", "\"rope_scaling\": \"yarn\",\n  \"tie_word"),
        "rope_scaling is of another kind: \"yarn\"",
    );
    let missing = Copied::of("llama", "shard");
    std::fs::remove_file(missing.0.join(SHARD)).expect("removes");
    assert!(missing.refused().contains(SHARD));
}

/// Configurations that the transformers library reads as the same model.
#[test]
fn configs_say_the_same_in_several_ways() {
    const ORIGINAL: &str = "\"original_max_position_embeddings\": 16";
    for (n, (name, from, to)) in [
        // The base outside of the newer part, and the newer part under the older name.
        ("linear", "\"rope_scaling\"", "\"rope_parameters\""),
        ("yarn", "\"rope_parameters\"", "\"rope_scaling\""),
        // The factor is what the contexts say.
        ("yarn", "\"factor\": 4.0", "\"factor\": null"),
        // The original context outside counts.
        ("yarn", ORIGINAL, "\"original_max_position_embeddings\": 48"),
        ("mistral", "\"head_dim\": 12", "\"head_dim\": 12, \"rope_scaling\": {}"),
    ]
    .into_iter()
    .enumerate()
    {
        let copied = Copied::of(name, &format!("way-{n}"));
        copied.edit("config.json", from, to);
        if from == ORIGINAL {
            copied.edit("config.json", "\"tie_word", &format!("{ORIGINAL},\n  \"tie_word"));
        }
        let model = HubFolder::open(&copied.0, 0).and_then(|folder| folder.load(&Device::cpu()));
        let model = model.unwrap_or_else(|error| panic!("{name}, {to}: {error}"));
        let expected = expected(name);
        let error = error(&model.forward(&expected["tokens"]), &expected["logits"]);
        assert!(error < 1e-4, "{name}, {to}: {error}");
    }
}

#[test]
fn models_that_do_not_fit_are_refused_with_numbers() {
    let options = farad::DeviceOptions { memory_limit: Some(100 << 10), ..Default::default() };
    let device = Device::cpu_with(options);
    let folder = HubFolder::open(fixture("llama"), 0).expect("a folder");
    let text = folder.load(&device).expect_err("too large").to_string();
    assert!(text.starts_with("weights: too large for the device: cpu: weights 1"), "{text}");
    assert!(text.contains(" vs 100 KiB)\nhelp: "), "{text}");
}

#[cfg(feature = "tokenizers")]
#[test]
fn tokenizers_that_do_not_fit_are_refused() {
    let folder = HubFolder::open(fixture("llama"), 0).expect("a folder");
    let tokenizer = folder.tokenizer().expect("reads");
    let tokens = tokenizer.encode("The river — 12".as_bytes()).expect("encodes");
    assert_eq!(tokenizer.decode(&tokens), "The river — 12");
    let copied = Copied::of("llama", "tokenizer");
    copied.edit("tokenizer.json", "\"<|end|>\": 4", "\"<|end|>\": 400");
    let folder = HubFolder::open(&copied.0, 0).expect("a folder");
    let text = folder.tokenizer().unwrap_err().to_string();
    assert!(text.contains("it has more tokens than the model") && text.contains("(401 vs 304)"), "{text}");
    std::fs::remove_file(copied.0.join("tokenizer.json")).expect("removes");
    assert!(folder.tokenizer().unwrap_err().to_string().contains("there is no tokenizer.json in"));
}
