"""Small programs, as people type them who come from numpy, PyTorch or JAX."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import farad as fd
from farad import data, nn, schedule

N = np.arange(24).reshape(2, 3, 4)


def same(got, wanted):
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-6)
    assert got.shape == np.shape(wanted)


@pytest.mark.parametrize("number", [np.float32(2), np.float64(2), np.int64(2), np.int8(2)], ids=lambda number: type(number).__name__)
def test_numbers_of_numpy_take_the_dtype_of_the_array(number):
    x = fd.array([1.0, 2.0])
    for y in (number * x, x * number, x / (1 / number), x + number - number + x):
        assert y.dtype == fd.float32 and y.tolist() == [2.0, 4.0]
    assert (fd.array([1, 2]) + np.int64(1)).dtype == fd.int32
    assert fd.maximum(x, number).tolist() == [2.0, 2.0] and (x ** number).tolist() == [1.0, 4.0]


def test_dtypes_equal_what_numpy_calls_so():
    x = fd.ones((2,))
    assert x.dtype == np.float32 and x.dtype == "float32" and x.dtype == np.dtype("float32") and x.dtype != np.float64
    assert x.dtype not in (None, 1, "integral", fd.int32) and {fd.float32: 1}[x.dtype] == 1


def test_where_takes_two_numbers():
    mask = fd.array([True, False])
    assert fd.where(mask, 1.0, 0.0).tolist() == [1.0, 0.0] and fd.where(mask, 1, 0).dtype == fd.int32
    assert fd.where(mask, 1, 0.5).tolist() == [1.0, 0.5]


def test_what_others_get_by_dlpack_is_their_own():
    x = fd.array([1.0, 2.0]) * 1
    other = np.from_dlpack(x)
    other.flags.writeable and other.__setitem__(0, 9.0)
    assert x.tolist() == [1.0, 2.0]


def test_files_of_pytorch_are_refused_with_a_way(tmp_path):
    (tmp_path / "a.pt").write_bytes(b"PK")
    with pytest.raises(fd.FileError, match="help: save it once by safetensors"):
        fd.load(tmp_path / "a.pt")


def test_masks_are_counted_and_multiplied():
    mask = fd.array([1.0, -1.0, 2.0]) > 0
    assert (mask * 1.0).dtype == fd.float32 and (1.0 - mask).tolist() == [0.0, 1.0, 0.0]
    assert (mask * 2).dtype == fd.int32 and (mask + 1).tolist() == [2, 1, 2] and mask.sum().item() == 2
    assert (mask * np.float32(3)).tolist() == [3.0, 0.0, 3.0] and mask.mean().item() == pytest.approx(2 / 3)


CALLS = {
    "sum": lambda m, x: m.sum(x, 0), "max": lambda m, x: m.max(x, 1), "mean": lambda m, x: m.mean(x, -1), "argmax": lambda m, x: m.argmax(x, 1),
    "any": lambda m, x: m.any(x > 3, 0), "concatenate": lambda m, x: m.concatenate([x, x], 1), "stack": lambda m, x: m.stack([x, x], 1),
    "expand_dims": lambda m, x: m.expand_dims(x, 0), "squeeze": lambda m, x: m.squeeze(x[:1]), "flip": lambda m, x: m.flip(x, 0),
    "roll": lambda m, x: m.roll(x, 1, 0), "sort": lambda m, x: m.sort(x, 0), "argsort": lambda m, x: m.argsort(x, 1),
    "repeat": lambda m, x: m.repeat(x, 2, 0), "tile": lambda m, x: m.tile(x, 2), "take": lambda m, x: m.take(x, [0, 2], 1),
    "where": lambda m, x: m.where(x > 4)[1], "clip": lambda m, x: m.clip(x, 2, 5), "linspace": lambda m, x: m.linspace(0, 1),
    "zeros": lambda m, x: m.zeros((2, 3), "int32"), "full": lambda m, x: m.full((2,), 7), "eye": lambda m, x: m.eye(3), "tril": lambda m, x: m.tril(x, 1),
    "round": lambda m, x: m.round(x / 7, 2), "dot": lambda m, x: m.dot(x[0], x[1]), "diag": lambda m, x: m.diag(x[0], -1),
    "diag of a matrix": lambda m, x: m.diag(x[:, :3], 1), "nan_to_num": lambda m, x: m.nan_to_num(x / 0.0 if m is fd else np.divide(x, 0.0)),
    "tensordot": lambda m, x: m.tensordot(x, x, 2), "diff": lambda m, x: m.diff(x, 1, 0), "exp of a list": lambda m, x: m.exp([0.0, 1.0]),
    "sqrt of a number": lambda m, x: m.sqrt(4.0), "sum of lists": lambda m, x: m.sum([[1, 2], [3, 4]], 0),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_functions_take_arguments_as_numpys(name):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    with np.errstate(all="ignore"):
        same(CALLS[name](fd, fd.array(x)), np.asarray(CALLS[name](np, x), dtype=np.asarray(CALLS[name](np, x)).dtype))


METHODS = {
    "T": lambda x: x.T, "dot": lambda x: x[0].dot(x[0].T), "trace": lambda x: x[0].trace(), "diagonal": lambda x: x[1].diagonal(),
    "repeat": lambda x: x.repeat(2, axis=1), "take": lambda x: x.take([5, -1]), "take rows": lambda x: x.take([1, 0], axis=0),
    "round": lambda x: (x / 7).round(1), "searchsorted": lambda x: x[0, 0].searchsorted([1, 9]), "nonzero": lambda x: x.nonzero()[2],
    "conj": lambda x: x.conj(), "range": lambda x: x[0, range(2)], "swapaxes": lambda x: x.swapaxes(0, 1), "cumsum": lambda x: x.cumsum(axis=1),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_numpys(name):
    same(METHODS[name](fd.array(N)), METHODS[name](N))


def test_arrays_hold_and_are_filled():
    x = fd.array([1.0, 2.0])
    assert 2 in x and 3 not in x and x.tobytes() == np.array([1, 2], np.float32).tobytes()
    x.fill(7)
    assert x.tolist() == [7.0, 7.0]


def test_every_public_name_of_numpys_arrays_is_there_or_says_what_to_write():
    x = fd.ones((2, 2))
    for name in dir(np.ndarray):
        if not name.startswith("_") and not hasattr(x, name):
            with pytest.raises(AttributeError, match="help: write"):
                getattr(x, name)


@pytest.mark.parametrize("name", "median histogram interp percentile argwhere bincount vstack unique arcsin absolute fft vmap jit randn".split())
def test_functions_that_are_absent_say_what_to_write(name):
    with pytest.raises(AttributeError, match="help: "):
        getattr(fd, name)


@pytest.mark.parametrize("owner, name", [
    (nn, "ReLU"), (nn, "ModuleList"), (nn, "CrossEntropyLoss"), (nn, "functional"), (fd.optim, "SGD"), (fd.optim, "lr_scheduler"), (fd.random, "randn"),
    (fd.random, "shuffle"), (nn.Sequential(nn.Relu()), "zero_grad"), (nn.Linear(1, 1), "cuda"), (fd.ones((1,)), "add_"), (fd.ones((1,)), "masked_fill"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_names_of_pytorch_say_what_to_write(owner, name):
    with pytest.raises(AttributeError, match="help: write"):
        getattr(owner, name)


def test_functions_take_parameters():
    w = fd.Parameter([1.0, -2.0])
    assert fd.relu(w).tolist() == [1.0, 0.0] and fd.maximum(w, 0).tolist() == [1.0, 0.0] and fd.concat([w, w]).shape == (4,)
    assert fd.where(w > 0, w, 0).tolist() == [1.0, 0.0] and fd.sum(w).item() == -1.0
    w[1] = 5
    assert w.value.tolist() == [1.0, 5.0]
    loss = (w * w).sum()
    assert loss.gradient(w).tolist() == loss.gradient([w])[0].tolist() == [2.0, 10.0]


def test_gradients_are_of_the_argument_alone():
    x = fd.array(3.0)
    assert fd.grad(lambda a, b: a * b)(x, x).item() == 3.0
    assert fd.grad(lambda a: a * x)(x).item() == 3.0
    assert fd.grad(fd.grad(fd.grad(lambda x: x**4)))(fd.array(2.0)).item() == 48.0
    weights = fd.grad(lambda w: fd.scan(lambda c, x: (c * w + x, c), fd.array(0.0), fd.array([1.0, 2.0, 3.0]))[0])(fd.array(0.5))
    assert weights.item() == 3.0
    with pytest.raises(TypeError, match="no array in argument 0: Linear\nhelp: .*opt.gradients"):
        fd.grad(lambda model: model(fd.ones((1, 2))).sum())(nn.Linear(2, 1))
    with pytest.raises(TypeError, match="astype"):
        fd.grad(lambda x: x.sum())(fd.array([1, 2]))


def test_schedules_set_the_rate_of_every_step():
    w = fd.Parameter(fd.ones((1,)))
    opt = fd.optim.Sgd([w], schedule=schedule.Step(1.0, 2, factor=0.1))
    rates = []
    for _ in range(4):
        opt.step((w * 0).sum())
        rates.append(opt.learning_rate)
    assert rates == [1.0, 1.0, 0.1, 0.1]
    with pytest.raises(ValueError, match="a schedule sets it"):
        opt.learning_rate = 1.0
    assert fd.optim.Adam([w]).learning_rate == 0.001
    warm = schedule.Warmup(10, schedule.Cosine(1.0, 10, minimum=0.5))
    assert [round(warm(step), 3) for step in (0, 5, 10, 15, 20)] == [0.1, 0.55, 1.0, 0.75, 0.5]
    with pytest.raises(ZeroDivisionError):
        fd.optim.Sgd([w], schedule=schedule.Lambda(1.0, lambda step: 1 / step)).step((w * 1).sum())
    with pytest.raises(TypeError, match="farad.schedule"):
        fd.optim.Sgd([w], schedule=0.1)


@pytest.mark.parametrize("name", schedule.SCHEDULES)
def test_every_schedule_gives_rates(name):
    given = {"Constant": (), "Step": (10,), "MultiStep": ([3, 6],), "Exponential": (0.9,), "Lambda": (lambda step: 0.5,)}.get(name, (10,))
    made = schedule.Warmup(3, schedule.Constant(0.5)) if name == "Warmup" else getattr(schedule, name)(0.5, *given)
    assert all(0.0 <= made(step) <= 0.5 for step in range(12)) and made.rate(1) == made(1)
    assert made.__doc__


def test_a_plateau_lowers_the_rate_and_is_restored():
    plateau = schedule.Plateau(0.5, patience=1, factor=0.1)
    rates = [round(plateau.observe(loss), 6) for loss in (1.0, 1.0, 1.0, 0.5)]
    assert rates == [0.5, 0.5, 0.05, 0.05]
    other = schedule.Plateau(0.5, patience=1, factor=0.1)
    other.state = plateau.state
    assert other.observe(9.0) == plateau.observe(9.0) and other.rate == plateau.rate


@pytest.mark.parametrize("name", fd.optim.OPTIMIZERS)
def test_groups_have_rates_and_decays_of_their_own(name):
    a, b, c = (fd.Parameter(fd.ones((2, 2))) for _ in range(3))
    groups = [{"parameters": [a], "learning_rate": 0.0}, {"parameters": [b], "learning_rate": 0.5}, {"parameters": [c]}]
    opt = getattr(fd.optim, name)(groups, learning_rate=0.25, weight_decay=0.0)
    opt.step(((a + b + c) * fd.array([[1.0, 2.0], [3.0, 4.0]])).sum())
    moved = [float(abs(x.value - 1).max()) for x in (a, b, c)]
    assert moved[0] == 0.0 and moved[1] == pytest.approx(2 * moved[2], rel=1e-4) and moved[2] > 0
    with pytest.raises(TypeError, match="groups have no lr"):
        getattr(fd.optim, name)([{"parameters": [a], "lr": 1.0}])


def test_arguments_after_a_pair_keep_their_places():
    w, v = fd.Parameter(fd.ones((2,))), fd.Parameter(fd.ones((2,)))
    first = fd.optim.AdamW([w], 0.1, (0.5, 0.75), 1e-3, 0.5)
    second = fd.optim.AdamW([v], learning_rate=0.1, betas=(0.5, 0.75), epsilon=1e-3, weight_decay=0.5)
    first.step((w * w).sum())
    second.step((v * v).sum())
    assert w.value.tolist() == v.value.tolist()
    with pytest.raises(TypeError, match=r"it takes learning_rate, betas, epsilon, weight_decay"):
        fd.optim.AdamW([w], lr=0.1)


def test_averages_of_weights_and_sums_of_gradients():
    w = fd.Parameter(fd.zeros((1,)))
    sgd, sums = fd.optim.Sgd([w], learning_rate=1.0), fd.optim.Accumulator()
    for target in (1.0, 3.0):
        sums.add(sgd.gradients((w - target).square().mean()))
    assert sums.batches == 2
    average = fd.optim.WeightAverage([w], decay=0.75)
    sgd.apply(sums.take())
    average.update()
    with average:
        assert w.value.tolist() == [1.0]
    assert w.value.tolist() == [4.0] and average.values[0].tolist() == [1.0]
    again = fd.optim.WeightAverage([w], decay=0.75)
    again.load_state_dict(average.state_dict())
    assert again.values[0].tolist() == [1.0]


def test_losses_take_options():
    x, labels = fd.array([[2.0, 1.0], [0.0, 3.0]]), fd.array([0, 1])
    each = x.cross_entropy(labels, reduction="none")
    assert each.shape == (2,) and x.cross_entropy(labels, reduction="sum").item() == pytest.approx(each.sum().item())
    assert x.cross_entropy(fd.array([0, -100]), ignore=-100).item() == pytest.approx(each[0].item())
    weighted = x.cross_entropy(labels, weights=fd.array([1.0, 3.0])).item()
    assert weighted == pytest.approx((each[0].item() + 3 * each[1].item()) / 4)
    assert x.cross_entropy(labels, smoothing=0.5).item() > each.mean().item()
    sure = fd.array([4.0]).binary_cross_entropy_with_logits(fd.array([1.0]), positive_weights=fd.array(2.0)).item()
    assert sure == pytest.approx(2 * np.log1p(np.exp(-4.0)), rel=1e-4)
    assert fd.array([4.0]).focal(fd.array([1.0])).item() < sure
    pair = fd.array([[1.0, 0.0]])
    assert pair.cosine_embedding(pair, fd.array([1.0])).item() == pytest.approx(0.0, abs=1e-6)
    assert fd.array([0.25]).hinge_embedding(fd.array([-1.0])).item() == pytest.approx(0.75)
    with pytest.raises(ValueError, match="mean, sum or none"):
        x.cross_entropy(labels, reduction="average")


def test_models_are_copied_and_pickled():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
            self.scale = fd.Parameter(fd.ones((3,)))

    net = Net().eval()
    net.body[0].weight.freeze()
    twin = copy.deepcopy(net)
    assert all((a == b).all().item() for a, b in zip(net.state_dict().values(), twin.state_dict().values()))
    assert len(twin.parameters()) == len(net.parameters()) and not twin.body[2].training and repr(twin) == repr(net)
    twin.scale.value = fd.zeros((3,))
    assert net.scale.value.tolist() == [1.0, 1.0, 1.0]
    layer = pickle.loads(pickle.dumps(nn.Conv2d(1, 2, 3, padding=1)))
    assert layer(fd.ones((1, 1, 4, 4))).shape == (1, 2, 4, 4) and layer.training
    half = pickle.loads(pickle.dumps(fd.array([1.5], dtype=fd.bfloat16)))
    assert half.dtype == fd.bfloat16 and pickle.loads(pickle.dumps(fd.Device("cpu"))) == fd.Device("cpu")
    circuit = fd.logic.GateNetwork([2, 1], seed=1).harden("c")
    assert pickle.loads(pickle.dumps(circuit)).to_json() == circuit.to_json()


def test_states_come_from_numpy_and_in_other_floats():
    layer = nn.Linear(2, 2)
    layer.load_state_dict({"weight": np.ones((2, 2)), "bias": np.zeros(2, np.float16)})
    assert layer.weight.value.dtype == fd.float32 and layer(fd.ones((1, 2))).tolist() == [[2.0, 2.0]]
    layer.load_state_dict({"weight": np.zeros((2, 2)), "more": np.zeros(1)}, strict=False)
    assert layer(fd.ones((1, 2))).tolist() == [[0.0, 0.0]]
    with pytest.raises(fd.OpError, match="dtypes differ: bias"):
        layer.load_state_dict({"weight": fd.ones((2, 2)), "bias": fd.array([1, 2])})
    assert layer(fd.ones((1, 2))).tolist() == [[0.0, 0.0]]  # nothing has changed


def test_loaders_take_pairs_of_arrays():
    x, y = np.random.default_rng(1).random((10, 3), dtype=np.float32), np.arange(10)
    assert [len(inputs) for inputs, _ in data.DataLoader((x, y), 4, shuffle=True)] == [4, 4, 2]
    assert next(iter(data.DataLoader((x, y), 5, shuffle=False)))[1].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(TypeError, match="help: farad.data has data sets"):
        data.DataLoader([1, 2, 3], 2)


def test_random_numbers_of_every_day():
    fd.seed(5)
    assert set(fd.random.integers(-2, 2, (200,)).tolist()) == {-2, -1, 0, 1} and 0 <= fd.random.integers(5).item() < 5
    assert fd.random.integers(-(2**31), 2**31, (4,)).dtype == fd.int32
    assert sorted(fd.random.permutation(9).tolist()) == list(range(9)) and fd.random.permutation(0).shape == (0,)
    assert sorted(fd.random.permutation(fd.array([3, 1, 2])).tolist()) == [1, 2, 3]
    key = fd.random.key(4)
    assert fd.random.permutation(9, key=key).tolist() == fd.random.permutation(9, key=key).tolist()
    assert len(set(fd.random.choice(6, (6,), replace=False).tolist())) == 6
    assert fd.random.choice(fd.array([7.0, 8.0]), (4,), p=[1.0, 0.0]).tolist() == [7.0] * 4
    drawn = fd.random.categorical(fd.array([0.25, 0.75]).log(), (4000,)).cast(fd.float32).mean().item()
    assert 0.7 < drawn < 0.8
    for wrong in (lambda: fd.random.integers(5, 1), lambda: fd.random.choice(2, (3,), replace=False)):
        with pytest.raises(ValueError):
            wrong()


FORKED = """
import os, farad as fd
DEVICE
child = os.fork()
if child == 0:
    try:
        print((fd.ones((300, 300), device="NAME") @ fd.ones((300, 300), device="NAME")).sum().item(), flush=True)
    except fd.DeviceError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forked_children_compute_on_the_cpu_and_refuse_a_gpu_that_the_parent_opened():
    def run(device):
        opened = f'fd.ones((300, 300), device="{device}").sum().item()'
        code = FORKED.replace("DEVICE", opened).replace("NAME", device)
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert run("cpu").stdout == "27000000.0\n"
    on_gpu = run("gpu")
    assert "forked" in on_gpu.stdout or "Error" in on_gpu.stderr, on_gpu
