"""Methods of arrays that are made of others: numpy in and out, DLPack, how arrays show themselves."""

from __future__ import annotations

import builtins
import html
from typing import Any

import numpy

from . import _dtypes as dt
from . import _statistics as statistics
from ._farad import Array, Parameter

#: Most elements that are read to show an array, and rows and columns of the table in a notebook.
SHOWN, SHOWN_SIDE = 1_000_000, 12


def to_numpy(x: Array, copy: builtins.bool = False) -> numpy.ndarray:
    """The elements as a numpy array. On the CPU it shares the array's memory, for reading, unless `copy` is true."""
    return numpy.asarray(x._host(copy))


def _to_array(x: Array, dtype: Any = None, copy: builtins.bool | None = None) -> numpy.ndarray:
    made = to_numpy(x, builtins.bool(copy))
    if dtype is not None and made.dtype != dtype:
        if copy is False:
            raise ValueError("asarray: a copy is needed: dtypes differ")
        made = made.astype(dtype)
    return made


def _dlpack(
    x: Array,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: builtins.bool | None = None,
) -> Any:
    if stream is not None:
        raise ValueError("dlpack: arrays on the host have no streams")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError("dlpack: arrays are handed over on the CPU only")
    if copy is False and x.device.is_gpu:
        raise BufferError("dlpack: a copy is needed: the array is on a GPU")
    # Others write to memory even if they are told that it is read-only, as PyTorch does, or cannot be told: they get memory
    # of their own, unless they say that they want no copy.
    old = max_version is None or max_version[0] < 1
    made = to_numpy(x, copy is not False or old)
    return made.__dlpack__() if old else made.__dlpack__(max_version=max_version)


def _dlpack_device(x: Array) -> tuple[int, int]:
    return (1, 0)


def tolist(x: Array) -> Any:
    """The elements as nested lists of Python numbers."""
    return to_numpy(x).tolist()


def astype(x: Array, dtype: Any, copy: builtins.bool = True) -> Array:
    """The elements as another dtype."""
    return dt.astype(x, dtype, copy=copy)


def squeeze(x: Array, axis: Any = None) -> Array:
    """Axes of size 1 removed: these, or all."""
    if axis is None:
        return x.reshape([size for size in x.shape if size != 1])
    from ._manipulation import squeeze as squeeze_axes

    return squeeze_axes(x, axis)


def ravel(x: Array) -> Array:
    """The elements in one axis."""
    return x.reshape(x.size)


def _std(x: Array, axis: Any = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Array:
    """The deviation along axes, or of everything."""
    return statistics.std(x, axis=axis, correction=correction, keepdims=keepdims)


def _device_note(x: Array) -> str:
    return "" if not x.device.is_gpu else f", device='{x.device}'"


def _repr(x: Array) -> str:
    head = f"dtype={x.dtype}{_device_note(x)}"
    if x.size > SHOWN:
        return f"Array(shape={x.shape}, {head})"
    try:
        text = numpy.array2string(to_numpy(x), separator=", ", prefix="Array(")
    except Exception as error:  # an array whose work fails still shows what it is
        return f"Array(shape={x.shape}, {head}, not computed: {error})"
    return f"Array({text}, {head})"


def _cell(value: Any) -> str:
    return html.escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def _html(x: Array) -> str:
    """A table for notebooks: the numbers of vectors and matrices, else the text."""
    head = html.escape(f"{x._head()}{' on ' + str(x.device) if x.device.is_gpu else ''}")
    if x.ndim not in (1, 2) or x.size == 0:
        return f"<pre>{html.escape(_repr(x))}</pre>"
    shown = x if x.ndim == 2 else x.reshape(1, x.size)
    rows, columns = shown.shape
    part = to_numpy(shown[:SHOWN_SIDE, :SHOWN_SIDE]).tolist()
    more = "<td>…</td>" if columns > SHOWN_SIDE else ""
    lines = ["<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + more + "</tr>" for row in part]
    if rows > SHOWN_SIDE:
        lines.append("<tr><td>…</td></tr>")
    return f"<div><small>{head}</small><table>{''.join(lines)}</table></div>"


def _namespace(x: Array, /, *, api_version: str | None = None) -> Any:
    from . import array_api

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"array_api: no such version here: {api_version}")
    return array_api


def _hash(x: Array) -> int:
    return id(x)


def _reduce(x: Array) -> Any:
    from ._creation import array

    return (array, (to_numpy(x, True), x.dtype))


def _reduce_parameter(x: Parameter) -> Any:
    return (_parameter, (x.value, x.frozen))


def _parameter(value: Array, frozen: builtins.bool) -> Parameter:
    made = Parameter(value)
    if frozen:
        made.freeze()
    return made


def _set_part(x: Parameter, key: Any, value: Any) -> None:
    changed = x.value[...]
    changed[key] = value
    x.value = changed


def _iterate(x: Array) -> Any:
    if x.ndim == 0:
        raise TypeError("iteration: an array without axes has no elements to go through")
    return (x[at] for at in range(x.shape[0]))


METHODS = {
    "__array__": _to_array,
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack_device,
    "__array_namespace__": _namespace,
    "__repr__": _repr,
    "_repr_html_": _html,
    "__hash__": _hash,
    "__reduce__": _reduce,
    "__iter__": _iterate,
    # Between numpy arrays and arrays of Farad, Farad's operators are asked.
    "__array_priority__": 1000,
    "numpy": to_numpy,
    "tolist": tolist,
    "astype": astype,
    "squeeze": squeeze,
    "ravel": ravel,
    "std": _std,
}

#: What a parameter can do because its array can.
OPERATORS = [
    name
    for stem in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
    for name in (f"__{stem}__", f"__r{stem}__")
] + ["__neg__", "__pos__", "__abs__", "__lt__", "__le__", "__gt__", "__ge__", "__getitem__", "__len__", "__array__"]


def _operator(name: str) -> Any:
    def method(self: Parameter, *arguments: Any, **keywords: Any) -> Any:
        return getattr(self.value, name)(*arguments, **keywords)

    method.__name__ = name
    return method


def _of_value(self: Parameter, name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(self.value, name)


def install() -> None:
    """Puts the methods on the compiled classes."""
    for name, method in METHODS.items():
        setattr(Array, name, method)
    for name in OPERATORS:
        setattr(Parameter, name, _operator(name))
    Parameter.__getattr__ = _of_value
    Parameter.__setitem__ = _set_part
    Parameter.__reduce__ = _reduce_parameter
    Parameter.__repr__ = lambda self: f"Parameter({_repr(self.value)})"

