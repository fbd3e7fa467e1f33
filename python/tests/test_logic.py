"""Gates, circuits, ONNX files and runs."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import farad as fd
from farad import logic, nn

BITS = np.array([[a, b] for a in (0, 1) for b in (0, 1)], dtype=np.float32)


@pytest.fixture(scope="module")
def network():
    fd.seed(3)
    network = logic.GateNetwork([2, 16, 8, 1], seed=3)
    opt = fd.optim.AdamW(network.parameters(), learning_rate=0.1, weight_decay=0.0)
    x, y = fd.array(BITS), fd.array([[0.0], [1.0], [1.0], [0.0]])
    for _ in range(200):
        opt.step(network(x).mean_squared_error(y))
    return network


def test_gates_learn_and_become_a_circuit(network):
    assert network.hard(fd.array(BITS)).tolist() == [[0.0], [1.0], [1.0], [0.0]]
    circuit = network.harden("exclusive_or")
    assert circuit.statistics()["gates"] == 16 + 8 + 1
    small = circuit.simplify()
    assert small.statistics()["gates"] == 1
    assert small.prove(circuit) is True
    assert small.simulate(fd.array(BITS) > 0.5).tolist() == [[False], [True], [True], [False]]


def test_circuits_are_exported_and_read_again(network, tmp_path):
    circuit = network.harden("exclusive_or").simplify()
    assert "module exclusive_or" in circuit.verilog()
    assert "uint64_t" in circuit.c()
    assert any(name.endswith(".blif") for name in circuit.export("blif"))
    circuit.save(tmp_path / "c.json")
    assert logic.Circuit.load(tmp_path / "c.json").to_json() == circuit.to_json()
    assert "<svg" in circuit._repr_html_()
    with pytest.raises(fd.FaradError):
        circuit.export("paper")
    with pytest.raises(fd.FaradError):
        logic.Circuit.from_json("{}")
    with pytest.raises(fd.FileError):
        logic.Circuit.load(tmp_path / "none.json")
    with pytest.raises(fd.OpError):
        circuit.simulate(fd.zeros((4, 3)))
    with pytest.raises(TypeError):
        circuit.film(4, 4, 1)


def test_a_wrong_circuit_is_told_apart(network):
    circuit = network.harden("pair").simplify()
    text = json.loads(circuit.to_json())
    other = logic.GateNetwork([2, 4, 1], seed=1).harden("pair")
    same = other.simulate(fd.array(BITS) > 0.5).tolist() == circuit.simulate(fd.array(BITS) > 0.5).tolist()
    assert text and circuit.prove(other) is same


def test_onnx_there_and_back(tmp_path):
    model = nn.Sequential(nn.Linear(4, 8), nn.Relu(), nn.Linear(8, 3))
    fd.onnx.save(tmp_path / "m.onnx", model, (4,))
    read = fd.onnx.load(tmp_path / "m.onnx")
    x = fd.random.uniform((5, 4)).detach()
    np.testing.assert_allclose(np.asarray(read(x)), np.asarray(model(x)), rtol=1e-5)
    assert read.inputs == ["x"] and read.outputs == ["y"]
    assert {name for name, _ in read.named_parameters()} >= {"0.weight", "2.bias"}
    with pytest.raises(fd.FaradError):
        read(fd.ones((2, 9)))
    with pytest.raises(fd.FileError):
        fd.onnx.load(tmp_path / "none.onnx")


@pytest.fixture
def table(tmp_path):
    """A file with a class that a line tells apart."""
    x = np.random.default_rng(0).random((200, 2))
    rows = "".join(f"{a},{b},{'high' if a + b > 1 else 'low'}\n" for a, b in x)
    path = tmp_path / "table.csv"
    path.write_text("a,b,label\n" + rows)
    return path


def test_a_training_is_a_run_with_curves(tmp_path, table):
    seen = []
    run = fd.train("csv", tmp_path / "run", data=table, device="cpu", epochs=8, progress=lambda *told: seen.append(told))
    steps, losses = run.curves["loss"]
    assert len(steps) == len(losses) > 3 and losses[-1] < losses[0]
    assert seen and seen[-1][0] == seen[-1][1] == steps[-1]
    assert run.results[0]["accuracy"] > 0.6 and "accuracy" in run.report
    assert "<svg" in run._repr_html_() and "accuracy" in repr(run)
    assert {"csv", "mnist", "checkerboard", "cartpole"} <= set(fd.train_subjects())
    said = run.predict(np.array([[0.9, 0.9], [0.1, 0.1]], dtype=np.float32))
    assert said.shape == (2,) and said.dtype == fd.int32


def test_bad_orders_are_exceptions(tmp_path, table):
    with pytest.raises(fd.FaradError, match="nothing of this name"):
        fd.train("nothing_of_the_kind")
    with pytest.raises(TypeError, match="has no settings"):
        fd.train("csv", tmp_path / "a", data=table, colour=3)
    with pytest.raises(fd.FaradError):
        fd.train("csv", tmp_path / "b", data=table, epochs="many", progress=False)
    with pytest.raises(fd.FaradError):
        fd.train("csv", tmp_path / "c", data=tmp_path / "none.csv", progress=False)
    with pytest.raises(FileNotFoundError):
        fd.Run(tmp_path / "none")


def test_an_exception_in_the_callback_ends_the_training(tmp_path, table):
    def fails(done, steps, losses, words):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fd.train("csv", tmp_path / "run", data=table, device="cpu", epochs=8, progress=fails)
    whole = fd.train("csv", tmp_path / "whole", data=table, device="cpu", epochs=8, progress=False)
    again = fd.Run(tmp_path / "run").resume(progress=False)
    assert again.curves == whole.curves


def test_control_c_saves_and_ends(tmp_path, table):
    code = f"""
        import os, signal
        import farad as fd
        # What is started in the background ignores Ctrl-C, and so would Python.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        def stop(done, steps, losses, words):
            os.kill(os.getpid(), signal.SIGINT)
        try:
            fd.train("csv", {str(tmp_path / "run")!r}, data={str(table)!r}, device="cpu", epochs=100000, progress=stop)
        except KeyboardInterrupt:
            print("stopped")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "stopped", done.stderr
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()


def test_progress_is_shown_in_a_terminal_and_in_a_log():
    import io

    from farad._runs import ProgressBar

    plain = io.StringIO()
    bar = ProgressBar("digits", plain)
    for step in range(1, 101):
        bar(step, 100, [0.5], "loss 0.5")
    bar.close()
    assert len(plain.getvalue().splitlines()) == 11

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    bar = ProgressBar("digits", screen)
    bar(100, 100, [0.5], "loss 0.5")
    bar.close()
    assert "█" in screen.getvalue() and "100/100" in screen.getvalue()


def test_automata_are_trained_and_filmed(tmp_path):
    run = fd.train("checkerboard", tmp_path / "run", device="cpu", updates=4, no_repair=True, progress=False)
    assert "image/gif;base64" in run._repr_html_()
    circuit = run.circuit()
    assert circuit.is_automaton
    film = circuit.film(8, 8, 5, seed=1)
    assert film.shape == (6, 8, 8) and film.dtype == fd.bool
    wanted = np.ones((6, 6), dtype=bool)
    better, wrong, before = circuit.repair(wanted, 3, candidates=2000, seconds=20)
    assert wrong <= before and better.is_automaton
    if wrong == 0:
        assert np.asarray(better.film(6, 6, 3, seed=5))[-1].all()
    with pytest.raises(fd.OpError):
        circuit.repair(np.ones((2, 6, 6), dtype=bool), 3)
    with pytest.raises(ValueError):
        circuit.repair(wanted, 3, origin="elsewhere")
    with pytest.raises(ValueError):
        circuit.repair(wanted, 3, seconds=-1)
