"""Names that people know from numpy and PyTorch: those that fit are here, the others say what to write instead."""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy

from . import _elementwise as elementwise
from . import _manipulation as manipulation
from . import _statistics as statistics
from . import linalg
from ._creation import asarray, eye
from ._farad import Array, Parameter

#: Names that arrays do not have, and what to write.
INSTEAD = {
    "backward": "opt.step(loss), loss.gradient(x) or fd.grad",
    "requires_grad": "fd.Parameter(x), or x.gradient for any array",
    "requires_grad_": "fd.Parameter(x), or x.gradient for any array",
    "grad": "loss.gradient(x)",
    "cpu": "x.to_device('cpu')",
    "cuda": "x.to_device('gpu')",
    "to": "x.to_device(device) or x.astype(dtype)",
    "float": "x.astype(fd.float32)",
    "double": "x.astype(fd.float64), on the CPU",
    "half": "x.astype(fd.float16)",
    "bfloat16": "x.astype(fd.bfloat16)",
    "bool": "x.astype(fd.bool)",
    "int": "x.astype(fd.int32)",
    "long": "x.astype(fd.int32)",
    "type": "x.astype(dtype)",
    "dim": "x.ndim",
    "numel": "x.size",
    "nelement": "x.size",
    "element_size": "x.itemsize",
    "view": "x.reshape(shape)",
    "contiguous": "x alone: arrays have no strides",
    "t": "x.T",
    "permute": "x.permute_dims(axes) or x.transpose(*axes)",
    "unsqueeze": "x.expand_dims(axis) or x[None]",
    "norm": "fd.linalg.norm(x)",
    "masked_fill": "fd.where(mask, number, x)",
    "index_add": "x.scatter_add(axis, index, source)",
    "clamp": "x.clip(low, high)",
    "chunk": "x.split(sizes, axis)",
    "eq": "x == y",
    "ne": "x != y",
    "lt": "x < y",
    "le": "x <= y",
    "gt": "x > y",
    "ge": "x >= y",
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "div": "x / y",
    "mm": "x @ y",
    "bmm": "x @ y",
    "resize": "x.reshape(shape)",
    "put": "x[places] = values",
    "itemset": "x[place] = value",
    "flat": "x.ravel()",
    "strides": "np.asarray(x).strides",
    "imag": "0: there are no complex numbers",
}

#: Names that the module does not have, and what to write.
MODULE_INSTEAD = {
    "tensor": "fd.array",
    "from_numpy": "fd.asarray",
    "cat": "fd.concat",
    "vstack": "fd.concat",
    "hstack": "fd.concat(arrays, axis=1)",
    "append": "fd.concat",
    "randn": "fd.random.normal(shape)",
    "rand": "fd.random.uniform(shape)",
    "randint": "fd.random.integers(low, high, shape)",
    "randperm": "fd.random.permutation(count)",
    "manual_seed": "fd.seed(number)",
    "no_grad": "x.detach(); only opt.step and gradient compute gradients",
    "compile": "nothing: steps are compiled anyway",
    "jit": "nothing: steps are compiled anyway",
    "vmap": "the axis out: all ops take axes in front",
    "float": "fd.float32",
    "long": "fd.int32",
    "int": "fd.int32",
    "complex64": "two arrays: there are no complex numbers",
    "complex128": "two arrays: there are no complex numbers",
    "fft": "numpy.fft: there are no complex numbers",
    "amax": "fd.max",
    "amin": "fd.min",
    "unique": "fd.unique_values, or unique_all for counts and places",
    "dstack": "fd.concat(arrays, axis=2)",
}

#: Names of torch.nn and torch.optim, and what to write.
LAYERS_INSTEAD = {
    "ReLU": "nn.Relu", "GELU": "nn.Gelu", "SiLU": "nn.Silu", "ELU": "nn.Elu", "SELU": "nn.Selu", "CELU": "nn.Celu", "PReLU": "nn.PRelu",
    "LeakyReLU": "nn.LeakyRelu", "ReLU6": "nn.Relu6", "GLU": "nn.Glu", "Hardswish": "nn.HardSwish", "Hardsigmoid": "nn.HardSigmoid",
    "Hardtanh": "nn.HardTanh", "LogSigmoid": "nn.LogSigmoid", "Tanhshrink": "nn.TanhShrink", "RNN": "nn.Rnn", "GRU": "nn.Gru", "LSTM": "nn.Lstm",
    "RMSNorm": "nn.RmsNorm", "MultiheadAttention": "nn.MultiHeadAttention", "AdaptiveAvgPool2D": "nn.AdaptiveAvgPool2d",
    "ModuleList": "a list: modules find their parts in lists", "ModuleDict": "a dictionary: modules find their parts in it",
    "ParameterList": "a list of fd.Parameter", "ParameterDict": "a dictionary of fd.Parameter",
    "Dropout2d": "nn.Dropout(probability, whole_channels=True)", "CrossEntropyLoss": "logits.cross_entropy(labels)",
    "MSELoss": "x.mean_squared_error(y)", "L1Loss": "x.mean_absolute_error(y)", "SmoothL1Loss": "x.smooth_l1(y)", "HuberLoss": "x.huber(y)",
    "NLLLoss": "x.negative_log_likelihood(labels)", "BCELoss": "x.binary_cross_entropy(y)", "KLDivLoss": "x.kl_divergence(y)",
    "BCEWithLogitsLoss": "x.binary_cross_entropy_with_logits(y)", "functional": "methods of arrays: x.relu(), logits.cross_entropy(labels)",
    "init": "layer.weight.value = array", "utils": "clip_norm=… of an optimizer", "DataParallel": "farad train --ranks",
}
OPTIMIZERS_INSTEAD = {
    "SGD": "optim.Sgd", "RMSprop": "optim.RmsProp", "NAdam": "optim.AdamW", "lr_scheduler": "farad.schedule, as optim.AdamW(p, schedule=…)",
}
MODULES_INSTEAD = {
    "zero_grad": "nothing: gradients are not kept", "cuda": "model.to('gpu')", "cpu": "model.to('cpu')", "half": "with fd.mixed()",
    "register_buffer": "self.name = nn.Buffer(array)", "register_parameter": "self.name = fd.Parameter(array)", "modules": "model.children()",
    "requires_grad_": "model.freeze() or model.unfreeze()", "apply": "a loop over model.named_parameters()",
    "add_module": "setattr(self, name, layer)", "buffers": "model.named_buffers()", "named_modules": "model.children()",
}
OPTIMIZER_INSTEAD = {
    "zero_grad": "nothing: opt.step(loss) computes gradients anew", "param_groups": "opt.learning_rate, and groups where it is made",
}


def hint(owner: str, name: str, table: dict) -> AttributeError:
    """The exception for a name that is not there, with what to write if the name is known."""
    return AttributeError(f"{owner} has no attribute '{name}'" + (f"\nhelp: write {table[name]}" if name in table else ""))


def _copy(x: Array) -> Array:
    """An array with the same elements; assigning to a part of one leaves the other alone."""
    return x[...]


def _format(x: Array, form: str) -> str:
    return format(x.item(), form) if form else str(x)


def _contains(x: Array, value: Any) -> bool:
    return bool((x == value).any().item())


def dot(x1: Any, x2: Any, /) -> Array:
    """The product as numpy has it: of vectors a number, of matrices a matrix, of numbers each element."""
    a, b = asarray(x1), asarray(x2)
    return a * b if a.ndim == 0 or b.ndim == 0 else statistics.tensordot(a, b, axes=([-1], [-2 if b.ndim > 1 else 0]))


def _fill(x: Array, number: Any) -> None:
    """Makes all elements equal to a number."""
    x[...] = number


def _repeat(x: Array, repeats: Any, axis: int | None = None) -> Array:
    """Each element so many times after itself."""
    return manipulation.repeat(x, repeats, axis=axis)


def _take(x: Array, indices: Any, axis: int | None = None) -> Array:
    """Whole slices at positions of an axis; of all elements if there is no axis."""
    return manipulation.take(x.ravel() if axis is None else x, asarray(indices, device=x.device), axis=axis or 0)


def _tobytes(x: Array) -> bytes:
    """The elements as bytes, row by row."""
    return numpy.asarray(x).tobytes()


def _searchsorted(x: Array, values: Any, side: str = "left") -> Array:
    """Where elements would be put into a sorted array."""
    return statistics.searchsorted(x, asarray(values, device=x.device), side=side)


def _nonzero(x: Array) -> tuple[Array, ...]:
    """Where elements are not zero, by axis. The elements are read."""
    return statistics.nonzero(x)


def nan_to_num(x: Array, /, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Array:
    """NaN and infinities as numbers: zero, the largest and the smallest unless others are given."""
    largest = numpy.finfo(str(x.dtype)).max if x.dtype.kind == "real floating" and str(x.dtype) != "bfloat16" else 3.38e38
    if x.dtype.kind != "real floating":
        return +x
    high, low = float(largest if posinf is None else posinf), float(-largest if neginf is None else neginf)
    x = x.isnan().select(x.full_like(nan), x)
    x = (x == float("inf")).select(x.full_like(high), x)
    return (x == float("-inf")).select(x.full_like(low), x)


def diag(x: Array, /, k: int = 0) -> Array:
    """The diagonal of a matrix, or the matrix with a diagonal."""
    if x.ndim != 1:
        return linalg.diagonal(x, offset=k)
    wide = x.pad([(max(k, 0), max(-k, 0))])
    return eye(x.size + abs(k), k=k, dtype=bool, device=x.device).select(wide, wide.full_like(0))


def of_arrays(function: Callable, several: bool = False) -> Callable:
    """A function of arrays that takes parameters, numpy's arrays, lists and numbers in their place."""

    def array(x: Any) -> Any:
        if isinstance(x, Parameter):
            return x.value
        return asarray(x) if isinstance(x, (numpy.ndarray, numpy.generic, list, tuple, int, float)) else x

    def other(x: Any) -> Any:
        return x.value if isinstance(x, Parameter) else asarray(x) if isinstance(x, numpy.ndarray) else x

    @functools.wraps(function)
    def call(*given: Any, **options: Any) -> Any:
        if given and not isinstance(given[0], Array):
            first = [array(one) for one in given[0]] if several and isinstance(given[0], (list, tuple)) else array(given[0])
            given = (first, *given[1:])
        if len(given) > 1 and not isinstance(given[1], (Array, int, float)):
            given = (given[0], *(other(one) for one in given[1:]))
        return function(*given, **options)

    return call


#: Functions of several arrays in a list, and those that take no array first.
SEVERAL = {"concat", "stack"}
NOT_OF_ARRAYS = set(
    "arange asarray empty eye from_dlpack full linspace meshgrid ones zeros can_cast finfo iinfo isdtype result_type "
    "broadcast_arrays".split()
)


def widened(name: str, function: Any) -> Any:
    """A function of the package as people call it: with parameters, numpy's arrays and lists, too."""
    if not callable(function) or isinstance(function, type) or name in NOT_OF_ARRAYS:
        return function
    return of_arrays(function, name in SEVERAL)


def _missing(x: Array, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name.endswith("_") and (hasattr(Array, name[:-1]) or name[:-1] in INSTEAD):
        told = INSTEAD.get(name) or "x = " + INSTEAD.get(name[:-1], f"x.{name[:-1]}(…)")
        raise AttributeError(f"'Array' has no attribute '{name}'\nhelp: write {told}; nothing is changed in place")
    if name not in INSTEAD and hasattr(numpy.ndarray, name):
        raise AttributeError(f"'Array' has no attribute '{name}'\nhelp: write np.asarray(x).{name}")
    if name not in INSTEAD and callable(getattr(numpy, name, None)):
        raise AttributeError(f"'Array' has no attribute '{name}'\nhelp: write np.{name}(x): it reads the array")
    raise hint("'Array'", name, INSTEAD)


def missing_from_module(name: str) -> Any:
    """What the module says of a name that it does not have."""
    from ._numpy import UFUNCS

    if name in UFUNCS:
        raise AttributeError(f"module 'farad' has no attribute '{name}'\nhelp: write fd.{UFUNCS[name]}")
    if name not in MODULE_INSTEAD and not name.startswith("_") and callable(getattr(numpy, name, None)):
        raise AttributeError(f"module 'farad' has no attribute '{name}'\nhelp: numpy.{name} takes arrays of farad, too, and reads them")
    raise hint("module 'farad'", name, MODULE_INSTEAD)


def install() -> None:
    """Puts the names on arrays."""
    Array.itemsize = property(lambda x: x.dtype.itemsize, doc="Bytes of one element.")
    Array.nbytes = property(lambda x: x.size * x.dtype.itemsize, doc="Bytes of all elements.")
    Array.real = property(lambda x: x, doc="The array: there are no complex numbers.")
    own = {
        "copy": _copy, "clone": _copy, "dot": dot, "fill": _fill, "repeat": _repeat, "take": _take, "tobytes": _tobytes,
        "searchsorted": _searchsorted, "nonzero": _nonzero, "conj": elementwise.conj, "conjugate": elementwise.conj,
        "diagonal": lambda x, offset=0: linalg.diagonal(x, offset=offset), "trace": lambda x, offset=0: linalg.trace(x, offset=offset),
        "__format__": _format, "__contains__": _contains, "__getattr__": _missing,
    }
    for name, method in own.items():
        setattr(Array, name, method)


concatenate = manipulation.concat
