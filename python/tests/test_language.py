"""Language models: trained from Python, opened, written with, and published ones."""

import json
import math

import numpy as np
import pytest

import farad as fd
from farad import lm, nn

TEXT = "the cat sat on the mat.\n" * 200


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lm")
    (folder / "text.txt").write_text(TEXT)
    sizes = dict(layers=1, heads=2, width=32, context=32, batch=8, learning_rate=0.01)
    return fd.train("lm", folder / "run", data=folder / "text.txt", updates=150, device="cpu", progress=False, **sizes)


def test_a_run_learns_and_its_model_writes(run):
    assert run.curves["loss"][1][-1] < 0.5 * run.curves["loss"][1][0]
    model = lm.load(run)
    assert (model.tokenizer, model.context) == ("chars", 32) and "parameters" in repr(model)
    assert model.vocabulary == len(set(TEXT))
    assert model.generate("the cat ", tokens=15, temperature=0) == "sat on the mat."
    assert model.decode(model.encode("the mat")) == "the mat"


def test_texts_are_written_side_by_side_and_in_pieces(run):
    model = lm.load(run.folder)
    prompts = ["the cat sat ", "on the "]
    alone = [model.generate(prompt, tokens=9, top_p=0.9, seed=4) for prompt in prompts]
    assert model.generate(prompts, tokens=9, top_p=0.9, seed=4) == alone
    pieces = []
    whole = model.generate("the ", tokens=12, seed=1, callback=pieces.append)
    assert "".join(pieces) == whole and len(pieces) > 3
    short = []
    cut = model.generate("the ", tokens=12, seed=1, callback=lambda piece: short.append(piece) or len(short) < 3)
    assert cut == "".join(pieces[:3])


def test_logits_are_arrays(run):
    model = lm.load(run)
    logits = model(fd.array([model.encode("the ca")]))
    assert logits.shape == (1, 6, model.vocabulary)
    assert model.decode([int(logits[0, -1].argmax())]) == "t"


def test_the_command_writes_the_same(run, farad_command):
    said = farad_command("generate", run.folder, "--prompt", "the ", "--tokens", "20", "--seed", "7", "--device", "cpu", "--json")
    assert json.loads(said)["text"] == lm.load(run).generate("the ", tokens=20, seed=7)


def test_bad_orders_are_exceptions(run, tmp_path):
    model = lm.load(run)
    for call in (
        lambda: model.generate("§"), lambda: model.generate("the", temperature=-1), lambda: model.generate("the", top_p=0),
        lambda: model.generate(["the", "§"]), lambda: lm.load(tmp_path), lambda: lm.load(tmp_path / "none"),
        lambda: model.chat([{"role": "user", "content": "the"}]), lambda: fd.train("lm", tmp_path / "a", progress=False),
        lambda: model(fd.zeros((1, 99), dtype=fd.int32)),
    ):
        with pytest.raises(fd.FaradError):
            call()
    for call in (lambda: model.generate(3), lambda: model.generate("the", tokens=-1), lambda: model.generate("the", width=3)):
        with pytest.raises((TypeError, OverflowError)):
            call()
    with pytest.raises(ZeroDivisionError):
        model.generate("the", callback=lambda piece: 1 / 0)


def test_a_transformer_is_a_layer():
    fd.seed(1)
    model = nn.Transformer(layers=1, heads=2, width=16, context=8, vocabulary=4)
    assert lm.Transformer is nn.Transformer
    x = fd.array([[0, 1, 2, 3, 0, 1, 2, 3]])
    y = fd.array([1, 2, 3, 0, 1, 2, 3, 0])
    opt = fd.optim.AdamW(model.parameters(), learning_rate=0.01)
    first = model(x).reshape(8, 4).cross_entropy(y).item()
    assert abs(first - math.log(4)) < 0.2
    for _ in range(60):
        opt.step(model(x).reshape(8, 4).cross_entropy(y))
    assert model(x).argmax(axis=-1).tolist() == [y.tolist()]
    assert "h.0.attn.c_attn.weight" in model.state_dict()
    with pytest.raises(fd.FaradError, match="heads do not divide"):
        nn.Transformer(layers=1, heads=3, width=16, context=8, vocabulary=4)


def published(folder):
    """A folder as Hugging Face's: a small GPT-2 with random weights, and letters as tokens."""
    layers, width, context, letters = 1, 8, 16, "abcdefgh"
    drawn = np.random.default_rng(3)
    part = lambda *shape: fd.array(drawn.normal(0, 0.5, shape).astype(np.float32))
    state = {"wte.weight": part(len(letters), width), "wpe.weight": part(context, width)}
    for name, shape in (("ln_1", None), ("attn.c_attn", (width, 3 * width)), ("attn.c_proj", (width, width)), ("ln_2", None),
                        ("mlp.c_fc", (width, 4 * width)), ("mlp.c_proj", (4 * width, width))):
        state[f"h.0.{name}.weight"] = part(*shape) if shape else fd.ones((width,))
        state[f"h.0.{name}.bias"] = fd.zeros((shape[1] if shape else width,))
    state |= {"ln_f.weight": fd.ones((width,)), "ln_f.bias": fd.zeros((width,))}
    fd.save(folder / "model.safetensors", state)
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": layers, "n_head": 2, "n_embd": width,
              "n_positions": context, "n_ctx": context, "vocab_size": len(letters), "activation_function": "gelu_new",
              "layer_norm_epsilon": 1e-5, "eos_token_id": 7}
    (folder / "config.json").write_text(json.dumps(config))
    vocabulary = {letter: place for place, letter in enumerate(letters)}
    model = {"type": "BPE", "vocab": vocabulary, "merges": [], "unk_token": None}
    tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
                 "decoder": {"type": "Fuse"}, "truncation": None, "padding": None, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": template, "eos_token": "h"}))


def test_published_models_write_and_answer(tmp_path):
    published(tmp_path)
    model = lm.load(tmp_path, context=12)
    assert (model.context, model.vocabulary, model.tokenizer) == (12, 8, "tokenizer.json")
    text = model.generate("abc", tokens=6, temperature=0)
    assert set(text) <= set("abcdefg") and len(text) <= 6
    assert model.chat([{"role": "user", "content": "abc"}], tokens=6, temperature=0) == text
    with pytest.raises(TypeError, match="role"):
        model.chat([{"content": "abc"}])
