"""Linear algebra by ops that the library has: products, norms, powers, diagonals. Lazy, on any device, with gradients.

What needs a decomposition (`inv`, `solve`, `det`, `qr`, `svd`, `eigh`, `cholesky` and their like) is absent; asking for
it says what to write instead.

>>> import farad as fd
>>> fd.linalg.norm(fd.array([3.0, 4.0])).item()
5.0
"""

from __future__ import annotations

import math
from typing import Any

from . import _dtypes as dt
from ._creation import arange, asarray, eye, zeros
from ._farad import Array
from ._statistics import matmul, matrix_transpose, tensordot, vecdot

#: What is absent.
ABSENT = (
    "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_rank", "pinv", "qr", "slogdet",
    "solve", "svd", "svdvals",
)


def _floats(x: Any) -> Array:
    x = asarray(x)
    return x if dt.is_float(x.dtype) else x.cast(dt.DEFAULT_FLOAT)


def _matrices(x: Any, name: str) -> Array:
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError(f"{name}: matrices have two axes: {x.shape} ({x.ndim} vs 2)")
    return x


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Array:
    """The norm along axes, or of everything: 2, 1, any other power, `inf`, `-inf`, or 0 for how many are not zero."""
    size = abs(_floats(x))
    along = {"axis": axis if axis is None or isinstance(axis, int) else list(axis), "keepdims": keepdims}
    if ord == math.inf:
        return size.max(**along)
    if ord == -math.inf:
        return size.min(**along)
    if ord == 0:
        return (size != 0).cast(size.dtype).sum(**along)
    if ord == 1:
        return size.sum(**along)
    if ord == 2:
        return (size * size).sum(**along).sqrt()
    return (size**ord).sum(**along) ** (1 / ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of matrices: Frobenius', 1, -1, `inf` or `-inf`. Those by singular values are absent."""
    size = abs(_floats(_matrices(x, "matrix_norm")))
    if ord == "fro":
        return (size * size).sum(axis=[-2, -1], keepdims=keepdims).sqrt()
    if ord in (1, -1, math.inf, -math.inf):
        inner, outer = (-2, -1) if abs(ord) == 1 else (-1, -2)
        sums = size.sum(axis=inner, keepdims=True)
        found = sums.max(axis=outer, keepdims=True) if ord > 0 else sums.min(axis=outer, keepdims=True)
        return found if keepdims else found.reshape(found.shape[:-2])
    raise NotImplementedError(f"matrix_norm: no decompositions here: ord={ord!r}\nhelp: numpy.linalg.norm(numpy.asarray(x), {ord!r})")


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm as numpy has it: of everything, of vectors along an axis, or of matrices along two."""
    x = asarray(x)
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    axes = list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"norm: one axis or two ({len(axes)} vs 2)")
    if ord is None or ord == "fro":
        return vector_norm(x, axis=axes, keepdims=keepdims)
    if keepdims:
        raise ValueError("norm: keepdims of matrices is for Frobenius' norm only")
    rest = [axis for axis in range(x.ndim) if axis not in [one % x.ndim for one in axes]]
    return matrix_norm(x.permute_dims(rest + [one % x.ndim for one in axes]), ord=ord)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """The diagonal of matrices; above it with a positive offset."""
    x = _matrices(x, "diagonal")
    rows, columns = x.shape[-2:]
    first, second = max(-offset, 0), max(offset, 0)
    count = max(min(rows - first, columns - second), 0)
    if count == 0:
        return zeros(x.shape[:-2] + (0,), dtype=x.dtype, device=x.device)
    flat = x.reshape(x.shape[:-2] + (rows * columns,))
    places = arange(count, device=x.device) * (columns + 1) + (first * columns + second)
    return flat.index_select(-1, places)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sum of the diagonal of matrices."""
    return diagonal(x, offset=offset).sum(axis=-1, dtype=dtype)


def outer(x1: Any, x2: Any, /) -> Array:
    """All products of two vectors."""
    a, b = asarray(x1), asarray(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer: vectors are wanted: {a.shape} and {b.shape}")
    return a[:, None] * b[None, :]


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross product along an axis of size 3."""
    a, b = asarray(x1), asarray(x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(f"cross: three numbers along the axis are wanted ({a.shape[axis]} vs {b.shape[axis]})")
    next_, last = asarray([1, 2, 0], device=a.device), asarray([2, 0, 1], device=a.device)
    pick = lambda x, places: x.index_select(axis, places)
    return pick(a, next_) * pick(b, last) - pick(a, last) * pick(b, next_)


def matrix_power(x: Any, n: int, /) -> Array:
    """A square matrix multiplied by itself; `n` is 0 or more."""
    x = _matrices(x, "matrix_power")
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power: not square: {x.shape} ({x.shape[-2]} vs {x.shape[-1]})")
    if n < 0:
        raise NotImplementedError("matrix_power: inverses are absent\nhelp: numpy.linalg.inv(numpy.asarray(x))")
    result = eye(x.shape[-1], dtype=x.dtype, device=x.device).broadcast_to(x.shape)
    while n:
        result = result @ x if n & 1 else result
        x, n = (x @ x if n > 1 else x), n >> 1
    return result


def __getattr__(name: str) -> Any:
    if name in ABSENT:
        raise AttributeError(
            f"farad.linalg has no {name}: there are no decompositions here\nhelp: fd.array(numpy.linalg.{name}(numpy.asarray(x)))"
        )
    raise AttributeError(f"module 'farad.linalg' has no attribute '{name}'")


__all__ = [
    "ABSENT", "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "norm", "outer", "tensordot", "trace",
    "vecdot", "vector_norm",
]
