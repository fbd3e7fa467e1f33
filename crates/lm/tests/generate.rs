//! Text made token by token: the same numbers as at once, a bounded number of plans, and what is refused.

#[path = "../../farad/tests/devices/mod.rs"]
mod devices;

use devices::{devices, turn};
use farad::prelude::*;
use farad_lm::{
    Activation, Cache, Error, Generator, ModelOptions, Positions, Sampler, Sampling, TextBatch, Transformer,
};

fn options() -> ModelOptions {
    ModelOptions { layers: 2, heads: 2, width: 16, context: 24, vocabulary: 31, ..Default::default() }
}

fn model(options: &ModelOptions, device: &Device) -> Transformer {
    farad::seed(5);
    let model = Transformer::new(options).expect("sound sizes");
    // Larger weights than new ones, so that logits tell tokens apart.
    for parameter in model.parameters().iter().filter(|p| p.value().rank() > 1) {
        parameter.set((parameter.value() * 8.0).detach().expect("room"));
    }
    model.to_device(device)
}

fn tokens(count: usize) -> Vec<u32> {
    (0..count as u32).map(|n| (n * 7 + n * n * 3) % 31).collect()
}

/// The logits after the last of some tokens, all computed at once.
fn at_once(model: &Transformer, tokens: &[u32]) -> Vec<f32> {
    let ids: Vec<i32> = tokens.iter().map(|&token| token as i32).collect();
    let logits = model.forward(&Tensor::from_vec(ids, [1, tokens.len()], &model.device()));
    logits.narrow(1, tokens.len() - 1, 1).to_vec().expect("logits")
}

fn close(got: &[f32], wanted: &[f32], what: &str) {
    let scale = wanted.iter().fold(1f32, |most, x| most.max(x.abs()));
    for (a, b) in got.iter().zip(wanted) {
        assert!((a - b).abs() <= 1e-5 * scale, "{what}: {a} and {b}");
    }
}

#[test]
fn cached_and_full_forward_agree() {
    let _turn = turn();
    let rotary = ModelOptions {
        positions: Positions::Rotary,
        activation: Activation::Swiglu,
        tied: false,
        bias: false,
        ..options()
    };
    for device in devices() {
        for options in [options(), rotary.clone()] {
            let model = model(&options, &device);
            let text = tokens(24);
            let mut cache = Cache::new(&model).expect("room");
            // A chunk that is filled up, one that is not, one that reaches beyond the end when filled up.
            for end in [5, 6, 7, 15, 19, 24] {
                let logits = cache.advance(&model, &text[cache.len()..end]).expect("room");
                close(&logits, &at_once(&model, &text[..end]), &format!("{device}, {end} tokens"));
            }
            assert_eq!(cache.room(), 0);
        }
    }
}

#[test]
fn dropout_is_off_while_generating() {
    let _turn = turn();
    let model = model(&ModelOptions { dropout: 0.5, ..options() }, &Device::cpu());
    let first = Cache::new(&model).expect("room").advance(&model, &[1, 2]).expect("room");
    assert!(model.is_training());
    model.eval();
    close(&first, &at_once(&model, &[1, 2]), "in use");
}

#[test]
fn plans_do_not_grow_with_the_text() {
    let _turn = turn();
    for device in devices() {
        let model = model(&options(), &device);
        let mut generator =
            Generator::new(&model, Sampling { seed: 3, ..Default::default() }).expect("sound");
        generator.push(&tokens(3)).expect("a prompt");
        let before = device.counters();
        let first: Vec<u32> = generator.by_ref().take(60).map(|token| token.expect("a token")).collect();
        let some = device.counters().since(&before);
        // Chunks of 4 (the prompt) and 16 (half a context after sliding), a draw after these, and a token.
        assert!(some.plans_compiled <= 4, "{device}: {some:?}");
        let before = device.counters();
        generator.by_ref().take(40).for_each(|token| assert!(token.expect("a token") < 31));
        let more = device.counters().since(&before);
        // A GPU is a few tokens ahead, and forgets these when the context slides; then a prompt and its draw are run.
        let most = if device.is_gpu() { 80 } else { 50 };
        assert!(more.plans_compiled == 0 && (40..=most).contains(&more.runs), "{device}: {more:?}");
        let mut again = Generator::new(&model, Sampling { seed: 3, ..Default::default() }).expect("sound");
        again.push(&tokens(3)).expect("a prompt");
        let before = device.counters();
        assert_eq!(again.take(60).map(|token| token.expect("a token")).collect::<Vec<_>>(), first);
        assert_eq!(device.counters().since(&before).plans_compiled, 0, "{device}");
    }
}

#[test]
fn a_full_context_slides() {
    let _turn = turn();
    let model = model(&options(), &Device::cpu());
    let greedy = Sampling { temperature: 0.0, ..Default::default() };
    let mut generator = Generator::new(&model, greedy).expect("sound");
    generator.push(&tokens(24)).expect("it just fits");
    let mut text = tokens(24);
    for step in 0..30 {
        let token = generator.next_token().expect("a token");
        // The newer half stays, and what was added since.
        let seen = if step == 0 { 24 } else { 12 + (step - 1) % 13 };
        let logits = at_once(&model, &text[text.len() - seen..]);
        let best = (0..31).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).expect("tokens");
        assert_eq!(token as usize, best, "step {step}");
        text.push(token);
    }
    let one = ModelOptions { context: 1, ..options() };
    let one = Transformer::new(&one).expect("sound sizes");
    let mut generator = Generator::new(&one, greedy).expect("sound");
    generator.push(&[3]).expect("it just fits");
    assert_eq!(generator.take(5).filter(|token| token.is_ok()).count(), 5);
}

#[test]
fn what_cannot_be_gone_on_with_is_refused() {
    let _turn = turn();
    let model = model(&options(), &Device::cpu());
    let mut generator = Generator::new(&model, Sampling::default()).expect("sound");
    assert!(matches!(generator.next_token(), Err(Error::NoTokens)));
    let text = generator.push(&[31]).unwrap_err().to_string();
    assert_eq!(text, "generate: the model does not know token 31 (31 vs 31 tokens)");
    let text = generator.push(&tokens(25)).unwrap_err().to_string();
    assert!(
        text.starts_with("generate: the prompt is longer than the context: 25 tokens (25 vs 24)\nhelp: "),
        "{text}"
    );
    let mut cache = Cache::new(&model).expect("room");
    cache.advance(&model, &tokens(20)).expect("room");
    let text = cache.advance(&model, &tokens(5)).unwrap_err().to_string();
    assert_eq!(text, "generate: no room in the context: 20 tokens cached, 5 more (25 vs 24)");
    assert_eq!(cache.len(), 20);
}

#[test]
fn room_is_made_as_a_text_grows() {
    let _turn = turn();
    let options = ModelOptions { layers: 1, context: 600, positions: Positions::Rotary, ..options() };
    let model = model(&options, &Device::cpu());
    let text = tokens(600);
    let mut cache = Cache::new(&model).expect("room");
    // Within the first places, across their end by a long and by a short step, and up to the last.
    for end in [200, 256, 257, 300, 511, 513, 600] {
        let logits = cache.advance(&model, &text[cache.len()..end]).expect("room");
        close(&logits, &at_once(&model, &text[..end]), &format!("{end} tokens"));
    }
    assert_eq!(cache.room(), 0);
}

#[test]
fn texts_of_other_lengths_and_later_words_do_not_change_a_text() {
    let _turn = turn();
    for device in devices() {
        let model = model(&options(), &device);
        for sampling in [
            Sampling { temperature: 0.0, ..Default::default() },
            Sampling { seed: 3, temperature: 0.8, ..Default::default() },
            Sampling { seed: 4, top_k: 5, ..Default::default() },
            Sampling { seed: 5, top_p: 0.7, top_k: 20, ..Default::default() },
        ] {
            let alone = |prompt: &[u32], more: &[u32]| {
                let mut generator = Generator::new(&model, sampling).expect("sound");
                generator.push(prompt).expect("a prompt");
                let mut text: Vec<u32> =
                    generator.by_ref().take(5).map(|token| token.expect("a token")).collect();
                generator.push(more).expect("room");
                text.extend(generator.take(6).map(|token| token.expect("a token")));
                text
            };
            let prompts = [tokens(3), tokens(9), tokens(1)];
            let wanted: Vec<Vec<u32>> = prompts.iter().map(|prompt| alone(prompt, &[7, 8])).collect();
            let mut batch = TextBatch::new(&model, sampling, 3).expect("sound");
            let mut found = vec![vec![]; 3];
            for round in 0..11 {
                let new = match round {
                    0 => Some(&prompts[..]),
                    5 => Some(&[vec![7, 8], vec![7, 8], vec![7, 8]][..]),
                    _ => None,
                };
                for (text, new) in new.into_iter().flatten().enumerate() {
                    batch.push(text, new).expect("room");
                }
                for (text, token) in batch.next_tokens().expect("tokens").into_iter().enumerate() {
                    found[text].extend(token);
                }
                // The middle one ends early; the others do not notice.
                if round == 7 {
                    batch.end(1);
                }
            }
            assert_eq!(found[1], wanted[1][..8], "{device} {sampling:?}");
            assert_eq!([&found[0], &found[2]], [&wanted[0], &wanted[2]], "{device} {sampling:?}");
        }
    }
}

#[test]
fn devices_draw_as_the_host_does() {
    let _turn = turn();
    for device in devices() {
        let model = model(&options(), &device);
        for sampling in [
            Sampling { seed: 11, ..Default::default() },
            Sampling { seed: 12, top_k: 3, temperature: 1.5, ..Default::default() },
            Sampling { seed: 13, top_p: 0.5, ..Default::default() },
        ] {
            let mut generator = Generator::new(&model, sampling).expect("sound");
            generator.push(&tokens(4)).expect("a prompt");
            let mut sampler = Sampler::new(sampling).expect("sound");
            let mut text = tokens(4);
            for step in 0..15 {
                let wanted = sampler.sample(&at_once(&model, &text), &text).expect("numbers");
                text.push(generator.next_token().expect("a token"));
                assert_eq!(text.last(), Some(&wanted), "{device} {sampling:?}, step {step}");
            }
        }
    }
}
