"""Small programs, as people type them who come from numpy, PyTorch or JAX."""

import copy
import pickle

import numpy as np
import pytest

import farad as fd
from farad import nn

N = np.arange(24).reshape(2, 3, 4)


def same(got, wanted):
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-6)
    assert got.shape == np.shape(wanted)


CALLS = {
    "sum": lambda m, x: m.sum(x, 0), "max": lambda m, x: m.max(x, 1), "mean": lambda m, x: m.mean(x, -1), "argmax": lambda m, x: m.argmax(x, 1),
    "any": lambda m, x: m.any(x > 3, 0), "concatenate": lambda m, x: m.concatenate([x, x], 1), "stack": lambda m, x: m.stack([x, x], 1),
    "expand_dims": lambda m, x: m.expand_dims(x, 0), "squeeze": lambda m, x: m.squeeze(x[:1]), "flip": lambda m, x: m.flip(x, 0),
    "roll": lambda m, x: m.roll(x, 1, 0), "sort": lambda m, x: m.sort(x, 0), "argsort": lambda m, x: m.argsort(x, 1),
    "repeat": lambda m, x: m.repeat(x, 2, 0), "tile": lambda m, x: m.tile(x, 2), "take": lambda m, x: m.take(x, [0, 2], 1),
    "where": lambda m, x: m.where(x > 4)[1], "clip": lambda m, x: m.clip(x, 2, 5), "linspace": lambda m, x: m.linspace(0, 1),
    "zeros": lambda m, x: m.zeros((2, 3), "int32"), "full": lambda m, x: m.full((2,), 7), "eye": lambda m, x: m.eye(3), "tril": lambda m, x: m.tril(x, 1),
    "dot": lambda m, x: m.dot(x[0], x[1]), "diag": lambda m, x: m.diag(x[0], -1),
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
    "dot": lambda x: x[0].dot(x[1].swapaxes(0, 1)), "trace": lambda x: x[0].trace(), "diagonal": lambda x: x[1].diagonal(),
    "repeat": lambda x: x.repeat(2, axis=1), "take": lambda x: x.take([5, -1]), "take rows": lambda x: x.take([1, 0], axis=0),
    "searchsorted": lambda x: x[0, 0].searchsorted([1, 9]), "nonzero": lambda x: x.nonzero()[2],
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
    assert half.dtype == fd.bfloat16


def test_states_come_from_numpy_and_in_other_floats():
    layer = nn.Linear(2, 2)
    layer.load_state_dict({"weight": np.ones((2, 2)), "bias": np.zeros(2, np.float16)})
    assert layer.weight.value.dtype == fd.float32 and layer(fd.ones((1, 2))).tolist() == [[2.0, 2.0]]
    layer.load_state_dict({"weight": np.zeros((2, 2)), "more": np.zeros(1)}, strict=False)
    assert layer(fd.ones((1, 2))).tolist() == [[0.0, 0.0]]
    with pytest.raises(fd.OpError, match="dtypes differ: bias"):
        layer.load_state_dict({"weight": fd.ones((2, 2)), "bias": fd.array([1, 2])})
    assert layer(fd.ones((1, 2))).tolist() == [[0.0, 0.0]]  # nothing has changed


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
