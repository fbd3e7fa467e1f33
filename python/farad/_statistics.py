"""The standard's statistical, searching, sorting, set and utility functions, and its products."""

from __future__ import annotations

import builtins
from collections import namedtuple
from typing import Any

import numpy

from . import _dtypes as dt
from . import _farad
from ._creation import asarray, full, zeros
from ._farad import Array, DType
from ._manipulation import _axes, _axis, concat


def _along(x: Array, axis: Any, name: str) -> Any:
    return None if axis is None else _axes(axis, x.ndim, name)


def _count(x: Array, axis: Any) -> int:
    axes = range(x.ndim) if axis is None else axis
    count = 1
    for one in axes:
        count *= x.shape[one]
    return count


def sum(x: Array, /, axis: Any = None, dtype: DType | None = None, *, keepdims: builtins.bool = False) -> Array:
    """The sum along axes, or of everything."""
    return x.sum(axis=_along(x, axis, "sum"), dtype=dtype, keepdims=keepdims)


def prod(x: Array, /, axis: Any = None, dtype: DType | None = None, *, keepdims: builtins.bool = False) -> Array:
    """The product along axes, or of everything."""
    return x.prod(axis=_along(x, axis, "prod"), dtype=dtype, keepdims=keepdims)


def mean(x: Array, /, axis: Any = None, *, keepdims: builtins.bool = False) -> Array:
    """The mean along axes, or of everything."""
    return x.mean(axis=_along(x, axis, "mean"), keepdims=keepdims)


def max(x: Array, /, axis: Any = None, *, keepdims: builtins.bool = False) -> Array:
    """The largest along axes, or of everything."""
    return x.max(axis=_along(x, axis, "max"), keepdims=keepdims)


def min(x: Array, /, axis: Any = None, *, keepdims: builtins.bool = False) -> Array:
    """The smallest along axes, or of everything."""
    return x.min(axis=_along(x, axis, "min"), keepdims=keepdims)


def var(x: Array, /, axis: Any = None, *, correction: float = 0.0, keepdims: builtins.bool = False) -> Array:
    """The variance along axes, or of everything."""
    axes = _along(x, axis, "var")
    off = x - x.mean(axis=list(range(x.ndim)) if axes is None else axes, keepdims=True)
    rest = _count(x, axes) - correction
    total = (off * off).sum(axis=axes, keepdims=keepdims)
    return total / rest if rest > 0 else total * float("nan")


def std(x: Array, /, axis: Any = None, *, correction: float = 0.0, keepdims: builtins.bool = False) -> Array:
    """The deviation along axes, or of everything."""
    return var(x, axis=axis, correction=correction, keepdims=keepdims).sqrt()


def _cumulative(x: Array, axis: int | None, dtype: Any, initial: builtins.bool, name: str, start: int) -> Array:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: the axis is needed")
        axis = 0
    place = _axis(axis, x.ndim, name)
    running = getattr(x, "cumsum" if start == 0 else "cumprod")(axis=place, dtype=dtype)
    if initial:
        shape = running.shape[:place] + (1,) + running.shape[place + 1 :]
        first = full(shape, start, dtype=running.dtype, device=x.device)
        running = concat([first, running], axis=place)
    return running


def cumulative_sum(
    x: Array, /, axis: int | None = None, *, dtype: DType | None = None, include_initial: builtins.bool = False
) -> Array:
    """Running sums along an axis."""
    return _cumulative(x, axis, dtype, include_initial, "cumulative_sum", 0)


def cumulative_prod(
    x: Array, /, axis: int | None = None, *, dtype: DType | None = None, include_initial: builtins.bool = False
) -> Array:
    """Running products along an axis."""
    return _cumulative(x, axis, dtype, include_initial, "cumulative_prod", 1)


def argmax(x: Array, /, axis: int | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Where the largest element stands."""
    return x.argmax(axis=None if axis is None else _axis(axis, x.ndim, "argmax"), keepdims=keepdims)


def argmin(x: Array, /, axis: int | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Where the smallest element stands."""
    return x.argmin(axis=None if axis is None else _axis(axis, x.ndim, "argmin"), keepdims=keepdims)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Where elements are not zero, by axis. The elements are read."""
    if x.ndim == 0:
        raise ValueError("nonzero: an array without axes has no positions")
    found = numpy.nonzero(numpy.asarray(x))
    return tuple(asarray(one.astype(numpy.int32), device=x.device, copy=True) for one in found)


def count_nonzero(x: Array, /, axis: Any = None, *, keepdims: builtins.bool = False) -> Array:
    """How many elements are not zero."""
    return (x != 0).sum(axis=_along(x, axis, "count_nonzero"), keepdims=keepdims)


def where(condition: Array, x1: Any = None, x2: Any = None, /) -> Any:
    """`x1` where the condition is true, elsewhere `x2`. The condition alone: where it is true, by axis."""
    from ._elementwise import _both

    if x1 is None and x2 is None:
        return nonzero(condition)
    if not isinstance(x1, Array) and not isinstance(x2, Array):
        x1 = asarray(x1, device=condition.device)
    a, b = _both(x1, x2)
    return condition.select(a, b)


def searchsorted(x1: Array, x2: Array, /, *, side: str = "left", sorter: Array | None = None) -> Array:
    """Where elements would be put into a sorted array."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: the side is left or right, not {side!r}")
    row = x1 if sorter is None else x1.index_select(0, sorter)
    kind = dt.promote(row.dtype, x2.dtype)
    row, values = row.cast(kind), x2.cast(kind).reshape(x2.size, 1)
    if row.size == 0 or values.size == 0:
        return zeros(x2.shape, dtype=dt.DEFAULT_INT, device=x1.device)
    before = row < values if side == "left" else row <= values
    return before.sum(axis=1).reshape(x2.shape)


def sort(x: Array, /, axis: int = -1, *, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
    """The elements in order along an axis."""
    return x.sort(axis=axis, descending=descending) if x.size else +x


def argsort(x: Array, /, axis: int = -1, *, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
    """Where the elements of an axis stand in their order."""
    return x.argsort(axis=axis, descending=descending) if x.size else zeros(x.shape, dtype=dt.DEFAULT_INT, device=x.device)


UniqueAll = namedtuple("UniqueAll", ["values", "indices", "inverse_indices", "counts"])
UniqueCounts = namedtuple("UniqueCounts", ["values", "counts"])
UniqueInverse = namedtuple("UniqueInverse", ["values", "inverse_indices"])


def unique_all(x: Array, /) -> UniqueAll:
    """Different elements, where each is first found, which each element is, and how often each is there."""
    values, first, inverse, counts = numpy.unique(
        numpy.asarray(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    put = lambda one: asarray(one.astype(numpy.int32), device=x.device, copy=True)
    return UniqueAll(
        asarray(values, device=x.device, copy=True), put(first), put(inverse.reshape(x.shape)), put(counts)
    )


def unique_counts(x: Array, /) -> UniqueCounts:
    """Different elements, and how often each is there."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Different elements, and which each element is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Array, /) -> Array:
    """Different elements."""
    return unique_all(x).values


def all(x: Array, /, axis: Any = None, *, keepdims: builtins.bool = False) -> Array:
    """Whether no element is zero."""
    return x.all(axis=_along(x, axis, "all"), keepdims=keepdims)


def any(x: Array, /, axis: Any = None, *, keepdims: builtins.bool = False) -> Array:
    """Whether any element is not zero."""
    return x.any(axis=_along(x, axis, "any"), keepdims=keepdims)


def diff(x: Array, /, n: int = 1, axis: int = -1, *, prepend: Array | None = None, append: Array | None = None) -> Array:
    """Differences of neighbors along an axis."""
    place = _axis(axis, x.ndim, "diff")
    if prepend is not None or append is not None:
        x = concat([part for part in (prepend, x, append) if part is not None], axis=place)
    before = (slice(None),) * place
    for _ in range(n):
        later, earlier = x[before + (slice(1, None),)], x[before + (slice(None, -1),)]
        x = later ^ earlier if x.dtype == dt.bool else later - earlier
    return x


def matmul(x1: Array, x2: Array, /) -> Array:
    """Matrix product."""
    return x1 @ x2


def matrix_transpose(x: Array, /) -> Array:
    """The last two axes swapped."""
    return x.mT


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Products summed along an axis."""
    if axis >= 0:
        raise ValueError("vecdot: the axis counts from the end")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: sizes differ ({x1.shape[axis]} vs {x2.shape[axis]})")
    product = x1 * x2
    return product.sum(axis=axis, dtype=product.dtype)


def tensordot(x1: Array, x2: Array, /, axes: Any = 2) -> Array:
    """Products summed over several axes."""
    if isinstance(axes, int):
        first, second = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        first, second = _axes(axes[0], x1.ndim, "tensordot"), _axes(axes[1], x2.ndim, "tensordot")
    if [x1.shape[a] for a in first] != [x2.shape[b] for b in second]:
        raise ValueError(f"tensordot: sizes differ: {x1.shape} and {x2.shape} over {axes}")
    rows = [axis for axis in range(x1.ndim) if axis not in first]
    columns = [axis for axis in range(x2.ndim) if axis not in second]
    count = _count(x1, first)
    left = x1.permute_dims(rows + first).reshape(_count(x1, rows), count)
    right = x2.permute_dims(second + columns).reshape(count, _count(x2, columns))
    return (left @ right).reshape([x1.shape[a] for a in rows] + [x2.shape[b] for b in columns])


def compute(*arrays: Array) -> None:
    """Runs what several arrays need, together."""
    _farad.compute(*arrays)
