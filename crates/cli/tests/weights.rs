//! Models that others have published, as users of the command meet them: text, chats, judging, fine-tuning, exports.
#![cfg(feature = "tokenizers")]

mod folder;

use std::io::Write;
use std::process::Stdio;

use folder::{Folder, results};
use serde_json::Value;

fn fixture(name: &str) -> String {
    format!("{}/../lm/tests/fixtures/hub/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// `farad` with arguments that may have spaces, and something to read: stdout and stderr.
fn farad(folder: &Folder, arguments: &[&str], input: &str) -> (String, String) {
    let mut command = folder.command("");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let [out, error] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{arguments:?}: {error}");
    (out, error)
}

/// Conversations in which the answer follows from the question.
fn chats(folder: &Folder) {
    let line = |n: usize| {
        let (asked, said) =
            [("the cat", "the dog"), ("the boat", "the bridge"), ("the bird", "the river")][n % 3];
        format!(
            "{{\"messages\":[{{\"role\":\"user\",\"content\":\"{asked}\"}},{{\"role\":\"assistant\",\"content\":\"{said}\"}}]}}\n"
        )
    };
    std::fs::write(folder.path("chats.jsonl"), (0..60).map(line).collect::<String>()).unwrap();
}

#[test]
fn text_is_made_alone_and_side_by_side() {
    let folder = Folder::new("weights-generate");
    let llama = fixture("llama");
    let start = ["generate", "--weights", &llama, "--device", "cpu", "--tokens", "12", "--temperature", "0"];
    let with = |more: &[&str]| farad(&folder, &[&start[..], more].concat(), "");
    let (text, told) = with(&["--prompt", "The river"]);
    assert!(text.starts_with("The river"), "{text}");
    assert!(
        told.contains("llama with 33,440 parameters: weights 131 KiB") && told.contains("cpu has "),
        "{told}"
    );
    let (one, _) = with(&["--prompt", "The river", "--json", "--quiet"]);
    let one = json(&one);
    assert_eq!(format!("The river{}", one["text"].as_str().unwrap()), text.strip_suffix('\n').unwrap());
    // Two at once are as each alone.
    let (both, _) = with(&["--prompt", "The river", "--prompt", "one", "--json", "--quiet"]);
    let both: Vec<Value> = both.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((both.len(), &both[0]["text"], both[1]["prompt"].as_str()), (2, &one["text"], Some("one")));
    let (alone, _) = with(&["--prompt", "one", "--json", "--quiet"]);
    assert_eq!(both[1]["text"], json(&alone)["text"]);
    // An adapter changes the text.
    let adapter = fixture("adapter");
    let (adapted, _) = with(&["--prompt", "The river", "--json", "--quiet", "--adapter", &adapter]);
    assert_ne!(json(&adapted)["text"], one["text"]);
}

#[test]
fn chats_go_through_the_template_and_end_where_the_model_ends() {
    let folder = Folder::new("weights-chat");
    let qwen2 = fixture("qwen2");
    let start =
        ["chat", "--weights", &qwen2, "--device", "cpu", "--tokens", "6", "--temperature", "0", "--json"];
    let (said, _) =
        farad(&folder, &[&start[..], &["--quiet"]].concat(), "Hello\nWho are you?\n/new\nHello\n");
    let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), 3);
    assert_eq!(said[0]["text"], said[2]["text"], "a new conversation begins as the first");
    let (other, _) = farad(&folder, &[&start[..], &["--quiet", "--system", "Count."]].concat(), "Hello\n");
    assert_ne!(json(&other)["text"], said[0]["text"]);
    // Long conversations forget their beginning.
    let (long, _) =
        farad(&folder, &[&start[..], &["--quiet", "--context", "48"]].concat(), &"Hello\n".repeat(6));
    assert_eq!(long.lines().count(), 6);
    let refused = folder.fail(&format!("chat --weights {} --device cpu --system Hi", fixture("gpt2")));
    assert!(refused.contains("chat: --system needs a model with a chat template"), "{refused}");
}

#[test]
fn texts_and_conversations_are_judged() {
    let folder = Folder::new("weights-eval");
    chats(&folder);
    std::fs::write(folder.path("text.txt"), "The river runs under the old stone bridge. ".repeat(8)).unwrap();
    let judged = |data: &str| {
        json(&folder.succeed(&format!(
            "eval --weights {} --data {data} --device cpu --json --quiet",
            fixture("qwen2")
        )))
    };
    let text = judged("text.txt");
    let (loss, perplexity) = (text["loss"].as_f64().unwrap(), text["perplexity"].as_f64().unwrap());
    // Random weights: worse than guessing among 304 tokens, but not by much.
    assert!((4.0..12.0).contains(&loss) && (perplexity / loss.exp() - 1.0).abs() < 1e-9, "{text}");
    assert_eq!(text["family"], "qwen2");
    assert!(judged("chats.jsonl")["tokens"].as_u64() < Some(600), "only answers count");
    let refused = |arguments: &str, wanted: &str| {
        let text = folder.fail(&format!("eval --weights {arguments}"));
        assert!(text.contains(wanted), "{arguments}: {text}");
    };
    refused(&fixture("qwen2"), "eval: --weights needs a text to judge on");
    refused(&format!("{} --data chats.jsonl", fixture("gpt2")), "data: conversations need a chat template");
    refused("nowhere --data text.txt", "weights: there is no config.json in nowhere");
}

#[test]
fn adapters_are_trained_on_answers_and_exported() {
    let folder = Folder::new("weights-lora");
    chats(&folder);
    let llama = fixture("llama");
    std::fs::create_dir_all(folder.path("base")).unwrap();
    for entry in std::fs::read_dir(&llama).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), folder.path("base").join(entry.file_name())).unwrap();
    }
    let quick = "train lm --from base --lora 8 --data chats.jsonl --device cpu --context 64 --batch 8 --updates 150 \
         --learning-rate 0.01 --warm-up 5 --set evaluate_every=50 --set sample=10 --quiet";
    let trained = json(&folder.succeed(&format!("{quick} --out run --json")));
    // Three answers to tell apart, from seven nats at first.
    assert!(trained["loss"].as_f64() < Some(1.0), "{trained}");
    let said = farad(
        &folder,
        &["chat", "run", "--temperature", "0", "--tokens", "8", "--json", "--quiet"],
        "the cat\n/new\nthe boat\n/new\nthe bird\n",
    );
    let said: Vec<Value> = said.0.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<&str> = said.iter().filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(said, ["the dog", "the bridge", "the river"]);
    folder.succeed(&format!("{quick} --out again"));
    assert_eq!(results(&folder.path("run")), results(&folder.path("again")));
    // The run goes on without the folder that it began from.
    std::fs::remove_dir_all(folder.path("base")).unwrap();
    folder.succeed("train --resume again --updates 152 --quiet");
    // The adapter alone, and the whole model with it.
    folder.succeed("export run --format peft --out adapter");
    folder.succeed("export run --format huggingface --out whole");
    let prompt = [
        "--prompt",
        "the cat",
        "--device",
        "cpu",
        "--temperature",
        "0",
        "--tokens",
        "8",
        "--json",
        "--quiet",
    ];
    let text = |start: &[&str]| {
        json(&farad(&folder, &[&["generate"], start, &prompt[..]].concat(), "").0)["text"].clone()
    };
    let learned = text(&["run"]);
    assert_eq!(text(&["--weights", "whole"]), learned);
    assert_eq!(text(&["--weights", &llama, "--adapter", "adapter"]), learned);
    assert_ne!(text(&["--weights", &llama]), learned);
    assert!(folder.fail("export run --format peft --out adapter").contains("a file is there already"));
}

#[test]
fn whole_weights_are_trained_from_a_folder_and_from_a_run() {
    let folder = Folder::new("weights-whole");
    std::fs::write(folder.path("text.txt"), "The river runs under the old stone bridge. ".repeat(60))
        .unwrap();
    let gpt2 = fixture("gpt2");
    let quick = "--data text.txt --device cpu --context 16 --batch 4 --updates 40 --learning-rate 0.003 --warm-up 4 \
                 --set evaluate_every=20 --set sample=5 --quiet --json";
    let first =
        json(&folder.succeed(&format!("train lm --from {gpt2} {quick} --set recompute=true --out one")));
    assert!(first["loss"].as_f64() < Some(3.0), "{first}");
    let second = json(&folder.succeed(&format!("train lm --from one {quick} --out two")));
    assert!(second["loss"].as_f64() < first["loss"].as_f64(), "{second}");
    folder.succeed("export two --format huggingface --out whole");
    let judged = json(&folder.succeed("eval --weights whole --data text.txt --device cpu --json --quiet"));
    assert!(judged["loss"].as_f64() < Some(2.0), "{judged}");
    assert!(folder.fail("export two --format peft --out adapter").contains("the run has no adapters"));
    for (flags, wanted) in [
        ("--layers 3", "train: the sizes of the model are those of its weights"),
        ("--context 65", "the model sees fewer tokens at once (65 vs 64)"),
        ("--lora 4 --set lora_targets=q_proj", "there is no product `q_proj`"),
    ] {
        let text =
            folder.fail(&format!("train lm --from {gpt2} --data text.txt --device cpu {flags} --out no"));
        assert!(text.contains(wanted), "{flags}: {text}");
    }
    folder.succeed("train lm --data text.txt --device cpu --updates 1 --context 8 --width 16 --heads 2 --layers 1 --quiet --out own");
    assert!(
        folder
            .fail("export own --format huggingface --out no")
            .contains("did not begin from published weights")
    );
}
