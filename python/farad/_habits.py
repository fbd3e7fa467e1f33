"""Names that people know from numpy and PyTorch: those that fit are here, the others say what to write instead."""

from __future__ import annotations

from typing import Any

from . import _manipulation as manipulation
from ._farad import Array

#: Names that arrays do not have, and what to write.
INSTEAD = {
    "backward": "opt.step(loss), loss.gradient(x) or fd.grad",
    "requires_grad": "fd.Parameter(x), or x.gradient for any array",
    "grad": "loss.gradient(x)",
    "cpu": "x.to_device('cpu')",
    "cuda": "x.to_device('gpu')",
    "to": "x.to_device(device) or x.astype(dtype)",
    "float": "x.astype(fd.float32)",
    "long": "x.astype(fd.int32)",
    "dim": "x.ndim",
    "numel": "x.size",
    "view": "x.reshape(shape)",
    "unsqueeze": "fd.expand_dims(x, axis=axis)",
    "dot": "x @ y",
    "norm": "(x * x).sum().sqrt()",
    "repeat": "fd.repeat(x, count) or fd.tile(x, counts)",
}

#: Names that the module does not have, and what to write.
MODULE_INSTEAD = {
    "tensor": "fd.array",
    "cat": "fd.concat",
    "dot": "fd.matmul",
    "randn": "fd.random.normal(shape)",
    "rand": "fd.random.uniform(shape)",
    "no_grad": "x.detach(); only opt.step and gradient compute gradients",
    "amax": "fd.max",
    "amin": "fd.min",
}


def _copy(x: Array) -> Array:
    """An array with the same elements; assigning to a part of one leaves the other alone."""
    return x[...]


def _format(x: Array, form: str) -> str:
    return format(x.item(), form) if form else str(x)


def _missing(x: Array, name: str) -> Any:
    hint = INSTEAD.get(name)
    raise AttributeError(f"'Array' has no attribute '{name}'" + (f"\nhelp: write {hint}" if hint else ""))


def missing_from_module(name: str) -> Any:
    """What the module says of a name that it does not have."""
    hint = MODULE_INSTEAD.get(name)
    raise AttributeError(f"module 'farad' has no attribute '{name}'" + (f"\nhelp: write {hint}" if hint else ""))


def install() -> None:
    """Puts the names on arrays."""
    Array.itemsize = property(lambda x: x.dtype.itemsize, doc="Bytes of one element.")
    Array.nbytes = property(lambda x: x.size * x.dtype.itemsize, doc="Bytes of all elements.")
    Array.copy = _copy
    Array.clone = _copy
    Array.__format__ = _format
    Array.__getattr__ = _missing


concatenate = manipulation.concat
