"""New arrays: the standard's creation functions, and `array`."""

from __future__ import annotations

import builtins
import math
from typing import Any, Sequence

import numpy

from . import _farad
from . import _dtypes as dt
from ._farad import Array, Device, DType

Shape = "int | Sequence[int]"


def _numbers(x: Any, found: set) -> None:
    """The kinds of numbers in nested lists."""
    if isinstance(x, (list, tuple)):
        for item in x:
            _numbers(item, found)
    elif isinstance(x, (builtins.bool, numpy.bool_)):
        found.add("bool")
    elif isinstance(x, Array):
        found.add(x.dtype)
    elif isinstance(x, (numpy.generic, numpy.ndarray)):
        found.add(_farad.dtype(x.dtype))
    elif isinstance(x, int):
        found.add("int")
    elif isinstance(x, float):
        found.add("float")
    elif isinstance(x, _farad.Parameter):
        found.add(x.value.dtype)
    else:
        raise TypeError(f"array: neither a number nor an array: {type(x).__name__}")


def _guess(found: set) -> DType:
    kinds = [kind for kind in found if isinstance(kind, DType)]
    numbers = [{"bool": True, "int": 1, "float": 1.0}[kind] for kind in found if isinstance(kind, str)]
    if kinds:
        return dt.result_type(*kinds, *numbers)
    if "float" in found or not found:
        return dt.DEFAULT_FLOAT
    return dt.DEFAULT_INT if "int" in found else dt.bool


def _numpy_dtype(kind: DType) -> Any:
    return numpy.dtype("float32" if kind == dt.bfloat16 else str(kind))


def _from_lists(x: Any, dtype: DType | None, device: Any) -> Array:
    found: set = set()
    _numbers(x, found)
    kind = dtype if dtype is not None else _guess(found)
    if any(isinstance(item, DType) for item in found):
        x = _host_values(x)
    largest = _numpy_dtype(kind)
    try:
        if dt.is_int(kind) and "float" in found:
            made = numpy.asarray(x, dtype=numpy.float64).astype(largest)
        else:
            made = numpy.asarray(x, dtype=largest)
    except OverflowError as error:
        if dtype is None and kind == dt.DEFAULT_INT:
            wide = numpy.asarray(x)
            if wide.dtype.kind in "iu":
                return _farad.array_from_numpy(wide, device)
        raise OverflowError(f"array: {kind} does not have these numbers: {error}") from None
    except ValueError as error:
        raise ValueError(f"array: the lists are not of one shape: {error}") from None
    result = _farad.array_from_numpy(made, device)
    return result.cast(kind) if result.dtype != kind else result


def _host_values(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [_host_values(item) for item in x]
    if isinstance(x, _farad.Parameter):
        x = x.value
    return numpy.asarray(x) if isinstance(x, Array) else x


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    copy: builtins.bool | None = None,
) -> Array:
    """An array of numbers, lists, or what numpy knows.

    Memory of numpy is read where it lies if dtype, layout and device allow it and `copy` is not true.
    Do not write to it as long as the array is in use.

    >>> import farad as fd
    >>> fd.asarray([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    kind = None if dtype is None else _farad.dtype(dtype)
    if isinstance(obj, _farad.Parameter):
        obj = obj.value
    if isinstance(obj, Array):
        same = (kind is None or kind == obj.dtype) and (device is None or Device(device) == obj.device)
        if copy is False and not same:
            raise ValueError("asarray: a copy is needed: the dtype or the device is another")
        result = obj if device is None else obj.to_device(device)
        result = result if kind is None or kind == result.dtype else result.cast(kind)
        return +result if copy and result is obj else result
    if isinstance(obj, (builtins.bool, int, float, list, tuple)):
        if copy is False:
            raise ValueError("asarray: numbers and lists are always copied")
        return _from_lists(obj, kind, device)
    if hasattr(obj, "__array_interface__") or hasattr(obj, "__array__") or isinstance(obj, numpy.generic):
        made = numpy.asarray(obj)
    elif hasattr(obj, "__dlpack__"):
        made = numpy.from_dlpack(obj)
    elif hasattr(obj, "__buffer__") or isinstance(obj, (bytes, bytearray, memoryview)):
        made = numpy.asarray(memoryview(obj))
    elif hasattr(obj, "__len__") and hasattr(obj, "__getitem__"):
        return _from_lists(list(obj), kind, device)
    else:
        raise TypeError(f"array: neither numbers nor an array: {type(obj).__name__}")
    if kind is not None and _numpy_dtype(kind) != made.dtype and kind != dt.bfloat16:
        if copy is False:
            raise ValueError(f"asarray: a copy is needed: dtypes differ ({made.dtype} vs {kind})")
        made = made.astype(_numpy_dtype(kind))
    result = _farad.array_from_numpy(made, device, copy)
    return result if kind is None or result.dtype == kind else result.cast(kind)


def array(obj: Any, dtype: DType | None = None, device: Device | str | None = None) -> Array:
    """An array with elements of its own: of numbers, lists, or what numpy knows.

    >>> import farad as fd
    >>> fd.array([1.0, 2.0]).dtype
    farad.float32
    """
    return asarray(obj, dtype=dtype, device=device, copy=True)


def from_dlpack(x: Any, /, *, device: Any = None, copy: builtins.bool | None = None) -> Array:
    """An array that reads the memory of another library's array on the CPU, where it can."""
    if isinstance(x, Array):
        return asarray(x, device=device, copy=copy)
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: no DLPack: {type(x).__name__}")
    return asarray(numpy.from_dlpack(x), device=device, copy=copy)


def full(
    shape: Shape,
    fill_value: Any,
    dtype: DType | None = None,
    *,
    device: Device | str | None = None,
) -> Array:
    """All elements equal to a number."""
    if dtype is None:
        found: set = set()
        _numbers(fill_value, found)
        dtype = _guess(found)
    kind = _farad.dtype(dtype)
    if isinstance(fill_value, Array):
        fill_value = fill_value.item()
    if kind == dt.bool:
        fill_value = builtins.bool(fill_value)
    elif dt.is_int(kind):
        fill_value = int(fill_value)
    return _farad.filled(shape, fill_value, kind, device)


def zeros(shape: Shape, dtype: DType | None = None, *, device: Device | str | None = None) -> Array:
    """Zeros."""
    return full(shape, 0, dtype=dtype or dt.DEFAULT_FLOAT, device=device)


def ones(shape: Shape, dtype: DType | None = None, *, device: Device | str | None = None) -> Array:
    """Ones."""
    return full(shape, 1, dtype=dtype or dt.DEFAULT_FLOAT, device=device)


def empty(shape: Shape, dtype: DType | None = None, *, device: Device | str | None = None) -> Array:
    """An array whose elements will be set; they are zero."""
    return zeros(shape, dtype=dtype, device=device)


def full_like(x: Array, /, fill_value: Any, *, dtype: DType | None = None, device: Any = None) -> Array:
    """All elements equal to a number, with the shape of another array."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x: Array, /, *, dtype: DType | None = None, device: Any = None) -> Array:
    """Zeros, with the shape of another array."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Array, /, *, dtype: DType | None = None, device: Any = None) -> Array:
    """Ones, with the shape of another array."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Array, /, *, dtype: DType | None = None, device: Any = None) -> Array:
    """An array whose elements will be set, with the shape of another array."""
    return zeros_like(x, dtype=dtype, device=device)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Array:
    """Numbers from `start` up to `stop`, `step` apart.

    >>> import farad as fd
    >>> fd.arange(2, 8, 3).tolist()
    [2, 5]
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: the step is zero")
    whole = all(isinstance(x, int) for x in (start, stop, step))
    kind = _farad.dtype(dtype) if dtype is not None else (dt.DEFAULT_INT if whole else dt.DEFAULT_FLOAT)
    count = builtins.max(0, -((stop - start) // -step) if whole else math.ceil((stop - start) / step))
    if whole and kind == dt.int32 and start == 0 and step == 1:
        return _farad.iota(count, device)
    if whole and dt.is_int(kind):
        numbers = numpy.arange(count, dtype=numpy.int64) * step + start if count else numpy.zeros(0)
        made = numbers.astype(_numpy_dtype(kind))
    else:
        made = (start + numpy.arange(count, dtype=numpy.float64) * step).astype(_numpy_dtype(kind))
    return asarray(made, dtype=kind, device=device, copy=True)


def linspace(
    start: float,
    stop: float,
    /,
    num: int = 50,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    endpoint: builtins.bool = True,
) -> Array:
    """So many numbers at equal distances."""
    kind = _farad.dtype(dtype) if dtype is not None else dt.DEFAULT_FLOAT
    made = numpy.linspace(start, stop, num, endpoint=endpoint, dtype=numpy.float64)
    return asarray(made.astype(_numpy_dtype(kind)), dtype=kind, device=device, copy=True)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Array:
    """Ones on a diagonal, zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    k = builtins.max(-n_rows - 1, builtins.min(k, n_cols + 1))
    rows = _farad.iota(n_rows, device).reshape(n_rows, 1)
    columns = _farad.iota(n_cols, device)
    return (columns - rows == k).cast(dtype or dt.DEFAULT_FLOAT)


def tril(x: Array, /, k: int = 0) -> Array:
    """The lower triangle of the last two axes; zeros elsewhere."""
    return _triangle(x, k, False)


def triu(x: Array, /, k: int = 0) -> Array:
    """The upper triangle of the last two axes; zeros elsewhere."""
    return _triangle(x, k, True)


def _triangle(x: Array, k: int, upper: builtins.bool) -> Array:
    if x.ndim < 2:
        raise ValueError(f"tril, triu: at least two axes are needed: {x.shape}")
    rows, columns = x.shape[-2:]
    k = builtins.max(-rows - 1, builtins.min(k, columns + 1))
    place = _farad.iota(columns, x.device) - _farad.iota(rows, x.device).reshape(rows, 1)
    kept = place >= k if upper else place <= k
    return kept.select(x, full_like(x, 0))


def meshgrid(*arrays: Array, indexing: str = "xy") -> list[Array]:
    """Coordinates of a grid from those of its axes."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is xy or ij, not {indexing!r}")
    if len({x.dtype for x in arrays}) > 1:
        raise ValueError("meshgrid: dtypes differ")
    count = len(arrays)
    made = []
    for place, x in enumerate(arrays):
        made.append(x.reshape([x.size if axis == place else 1 for axis in range(count)]))
    shape = [x.size for x in arrays]
    made = [x.broadcast_to(shape) for x in made]
    if indexing == "xy" and count > 1:
        made = [x.swapaxes(0, 1) for x in made]
    return made
