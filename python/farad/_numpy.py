"""Numpy's functions on arrays of Farad: `np.sum(x)`, `np.exp(x)`, `np.concatenate([x, y])` give lazy arrays where Farad has the
function. Others are numpy's own: the elements are read, and the result is a numpy array.

Invariant: a function in the tables gives what numpy gives, as an array of Farad on the same device.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy

from . import _einsum as sums
from . import _elementwise as elementwise
from . import _habits as habits
from . import _manipulation as manipulation
from . import _statistics as statistics
from . import linalg
from ._creation import asarray, full_like, ones_like, zeros_like
from ._farad import Array, Parameter

#: Ufuncs whose names differ here.
UFUNCS = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj", "fabs": "abs", "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift", "mod": "remainder", "power": "pow", "right_shift": "bitwise_right_shift", "rint": "round",
    "true_divide": "divide",
}
#: Ufuncs that are as here.
SAME = set(
    "add subtract multiply divide floor_divide remainder negative positive exp expm1 log log1p log2 log10 sqrt square sin cos tan "
    "sinh cosh tanh sign ceil floor trunc isfinite isinf isnan maximum minimum equal not_equal less less_equal greater "
    "greater_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor hypot logaddexp copysign "
    "nextafter signbit reciprocal".split()
)
NO_VALUE = getattr(numpy, "_NoValue", None)


def _device(arguments: Any) -> Any:
    """The device of the first array in arguments."""
    for one in arguments:
        if isinstance(one, Array):
            return one.device
        if isinstance(one, (list, tuple)) and (found := _device(one)) is not None:
            return found
    return None


def _here(value: Any, device: Any) -> Any:
    """Numpy's arrays as arrays on a device, also in lists."""
    if isinstance(value, numpy.ndarray):
        return asarray(value, device=device)
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, Parameter):
        return value.value
    if isinstance(value, (list, tuple)) and any(isinstance(one, (Array, numpy.ndarray, list, tuple)) for one in value):
        return type(value)(_here(one, device) for one in value)
    return value


def _read(value: Any) -> Any:
    """Arrays as numpy's, also in lists."""
    if isinstance(value, (Array, Parameter)):
        return numpy.asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_read(one) for one in value)
    if isinstance(value, dict):
        return {key: _read(one) for key, one in value.items()}
    return value


def array_ufunc(x: Array, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """What `np.exp(x)` and `a + x` call, where `a` is numpy's."""
    out = options.pop("out", None)
    name = ufunc.__name__
    if method == "__call__" and out is None and not options:
        own = UFUNCS.get(name, name)
        if name == "matmul":
            a, b = (_here(one, x.device) for one in inputs)
            return a @ b
        if own in SAME or name in UFUNCS:
            return getattr(elementwise, own)(*(_here(one, x.device) for one in inputs))
    if out is not None and any(isinstance(one, Array) for one in out):
        raise TypeError(f"np.{name}: numpy cannot write into an array of farad\nhelp: leave `out` away")
    given = {"out": out} if out is not None else {}
    return getattr(ufunc, method)(*_read(inputs), **given, **_read(options))


def _reduction(function: Callable) -> Callable:
    """numpy's reductions have more arguments than Farad's; those that say nothing are left away."""

    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
        if out is not None or any(value is not NO_VALUE for value in options.values()):
            return NotImplemented
        given = {"keepdims": bool(keepdims) if keepdims is not NO_VALUE else False}
        if dtype is not None:
            given["dtype"] = dtype
        return function(a, axis=axis, **given)

    return reduce


def _deviation(function: Callable) -> Callable:
    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: Any = False, **rest: Any) -> Any:
        if out is not None or dtype is not None or any(value is not NO_VALUE for value in rest.values()):
            return NotImplemented
        return function(a, axis=axis, correction=ddof, keepdims=bool(keepdims) if keepdims is not NO_VALUE else False)

    return reduce


def _extreme(function: Callable) -> Callable:
    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
        if out is not None or any(value is not NO_VALUE for value in options.values()):
            return NotImplemented
        return function(a, axis=axis, keepdims=bool(keepdims) if keepdims is not NO_VALUE else False)

    return reduce


def _cumulative(function: Callable) -> Callable:
    def run(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if out is not None:
            return NotImplemented
        return function(a.ravel() if axis is None else a, axis=axis, dtype=dtype)

    return run


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.permute_dims(list(range(a.ndim))[::-1] if axes is None else list(axes))


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        return statistics.nonzero(condition)
    condition = condition if isinstance(condition, Array) else asarray(condition)
    return statistics.where(condition if condition.dtype.kind == "bool" else condition != 0, x, y)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **rest: Any) -> Any:
    if out is not None or rest:
        return NotImplemented
    low, high = a_min if min is None else min, a_max if max is None else max
    return elementwise.clip(a, None if low is NO_VALUE else low, None if high is NO_VALUE else high)


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    return NotImplemented if out is not None else a.round(decimals)


def _reshape(a: Any, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    if order != "C":
        return NotImplemented
    return manipulation.reshape(a, shape if newshape is None else newshape)


def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return NotImplemented if order is not None else statistics.sort(a.ravel() if axis is None else a, axis=-1 if axis is None else axis)


def _argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return NotImplemented if order is not None else statistics.argsort(a.ravel() if axis is None else a, axis=-1 if axis is None else axis)


def _einsum(subscripts: Any, *operands: Any, out: Any = None, **options: Any) -> Any:
    return sums.einsum(subscripts, *operands) if out is None and isinstance(subscripts, str) else NotImplemented


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    return NotImplemented if out is not None else habits.dot(a, b)


def _joined(function: Callable) -> Callable:
    def join(arrays: Any, axis: Any = 0, out: Any = None, **options: Any) -> Any:
        return function(list(arrays), axis=axis) if out is None and not options else NotImplemented

    return join


def _like(function: Callable) -> Callable:
    def make(a: Any, *given: Any, dtype: Any = None, **options: Any) -> Any:
        return function(a, *given, dtype=dtype)

    return make


#: Functions of numpy by name, and what does the same here. `NotImplemented` leaves a call to numpy.
FUNCTIONS: dict[str, Callable] = {
    "sum": _reduction(statistics.sum), "prod": _reduction(statistics.prod), "mean": _reduction(lambda a, dtype=None, **o: statistics.mean(a if dtype is None else a.astype(dtype), **o)),
    "max": _extreme(statistics.max), "amax": _extreme(statistics.max), "min": _extreme(statistics.min), "amin": _extreme(statistics.min),
    "all": _extreme(statistics.all), "any": _extreme(statistics.any), "argmax": _extreme(statistics.argmax), "argmin": _extreme(statistics.argmin),
    "count_nonzero": lambda a, axis=None, keepdims=False: statistics.count_nonzero(a, axis=axis, keepdims=keepdims),
    "std": _deviation(statistics.std), "var": _deviation(statistics.var),
    "cumsum": _cumulative(statistics.cumulative_sum), "cumprod": _cumulative(statistics.cumulative_prod),
    "sort": _sort, "argsort": _argsort, "where": _where, "nonzero": statistics.nonzero, "clip": _clip, "round": _round, "around": _round,
    "reshape": _reshape, "ravel": lambda a, order="C": a.ravel() if order == "C" else NotImplemented, "transpose": _transpose,
    "swapaxes": lambda a, axis1, axis2: a.swap_axes(axis1, axis2) if hasattr(a, "swap_axes") else manipulation.moveaxis(a, [axis1, axis2], [axis2, axis1]),
    "moveaxis": lambda a, source, destination: manipulation.moveaxis(a, source, destination),
    "squeeze": lambda a, axis=None: a.squeeze(axis), "expand_dims": lambda a, axis: manipulation.expand_dims(a, axis=axis) if isinstance(axis, int) else NotImplemented,
    "flip": lambda m, axis=None: manipulation.flip(m, axis=axis), "roll": lambda a, shift, axis=None: manipulation.roll(a, shift, axis=axis),
    "tile": lambda A, reps: manipulation.tile(A, (reps,) if isinstance(reps, int) else tuple(reps)),
    "repeat": lambda a, repeats, axis=None: manipulation.repeat(a, repeats, axis=axis),
    "broadcast_to": lambda array, shape, subok=False: manipulation.broadcast_to(array, (shape,) if isinstance(shape, int) else tuple(shape)),
    "concatenate": _joined(manipulation.concat), "stack": _joined(manipulation.stack),
    "take": lambda a, indices, axis=None, out=None, mode="raise": manipulation.take(a.ravel() if axis is None else a, asarray(indices), axis=axis or 0) if out is None and mode == "raise" else NotImplemented,
    "diff": lambda a, n=1, axis=-1, **o: statistics.diff(a, n=n, axis=axis) if all(v is NO_VALUE for v in o.values()) else NotImplemented,
    "dot": _dot, "outer": lambda a, b, out=None: linalg.outer(asarray(a).ravel(), asarray(b).ravel()) if out is None else NotImplemented,
    "tensordot": lambda a, b, axes=2: statistics.tensordot(a, b, axes=axes), "einsum": _einsum,
    "trace": lambda a, offset=0, axis1=0, axis2=1, **o: linalg.trace(a, offset=offset) if (a.ndim, axis1, axis2) == (2, 0, 1) and not o else NotImplemented,
    "isclose": sums.isclose, "allclose": sums.allclose, "array_equal": lambda a1, a2, equal_nan=False: sums.array_equal(a1, a2) if not equal_nan else NotImplemented,
    "zeros_like": _like(zeros_like), "ones_like": _like(ones_like), "full_like": _like(full_like),
    "shape": lambda a: a.shape, "ndim": lambda a: a.ndim, "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
}


def array_function(x: Array, function: Any, types: Any, arguments: tuple, options: dict) -> Any:
    """What `np.sum(x)` calls."""
    own = FUNCTIONS.get(function.__name__) if function.__module__ == "numpy" else None
    if own is not None:
        device = _device(arguments) or x.device
        given = own(*(_here(one, device) for one in arguments), **{key: _here(one, device) for key, one in options.items()})
        if given is not NotImplemented:
            return given
    return function(*_read(arguments), **_read(options))


def install() -> None:
    """Puts numpy's two protocols on arrays."""
    Array.__array_ufunc__ = array_ufunc
    Array.__array_function__ = array_function
