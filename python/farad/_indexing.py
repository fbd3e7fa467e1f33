"""Indices with arrays in them, and assignment to parts. Plain indices are in the compiled part."""

from __future__ import annotations

import builtins
from typing import Any

import numpy

from . import _dtypes as dt
from . import _farad
from ._creation import asarray, full_like, zeros
from ._farad import Array


def _is_plain(key: Any) -> builtins.bool:
    whole = isinstance(key, int) and not isinstance(key, builtins.bool)
    return key is None or key is Ellipsis or isinstance(key, slice) or whole


def _as_key(key: Any) -> Any:
    """A key of any kind as a plain one, or as an array."""
    if _is_plain(key):
        return key
    if isinstance(key, _farad.Parameter):
        key = key.value
    if isinstance(key, (builtins.bool, numpy.bool_)):
        return numpy.asarray(key)
    if isinstance(key, Array):
        if key.dtype == dt.bool:
            return numpy.asarray(key)
        if key.ndim == 0 and dt.is_int(key.dtype):
            return int(key)
        if not dt.is_int(key.dtype):
            raise IndexError(f"index: whole numbers or truth values are wanted, not {key.dtype}")
        return key
    if isinstance(key, (list, numpy.ndarray, tuple, range)):
        found = numpy.asarray(key)
        if found.size == 0 and isinstance(key, (list, range)):
            found = found.astype(numpy.int32)
        if found.dtype.kind not in "biu":
            raise IndexError(f"index: whole numbers or truth values are wanted, not {found.dtype}")
        return found
    if hasattr(key, "__index__"):
        return key.__index__()
    raise IndexError(f"index: nothing that can be one: {type(key).__name__}")


def _keys(x: Array, key: Any) -> list:
    """The keys by axis, with masks as positions and dots written out."""
    keys = [_as_key(one) for one in (key if isinstance(key, tuple) else (key,))]
    spent = 0
    for one in keys:
        if isinstance(one, numpy.ndarray) and one.dtype == builtins.bool:
            spent += one.ndim
        elif one is not None and one is not Ellipsis:
            spent += 1
    dots = builtins.sum(1 for one in keys if one is Ellipsis)
    if dots > 1 or spent > x.ndim:
        raise IndexError(f"index: too many for an array of {x.ndim} axes ({spent} vs {x.ndim})")
    if not dots:
        keys.append(Ellipsis)
    found: list = []
    axis = 0
    for one in keys:
        if one is Ellipsis:
            found += [slice(None)] * (x.ndim - spent)
            axis += x.ndim - spent
        elif one is None:
            found.append(None)
        elif isinstance(one, numpy.ndarray) and one.dtype == builtins.bool:
            if one.shape != x.shape[axis : axis + one.ndim]:
                raise IndexError(f"index: a mask of another shape: {one.shape} for axis {axis} of {x.shape}")
            if one.ndim == 0:
                found.append(("new", numpy.zeros(int(one), dtype=numpy.int32)))
            else:
                found += [places.astype(numpy.int32) for places in numpy.nonzero(one)]
            axis += one.ndim
        else:
            found.append(one)
            axis += 1
    return found


def _checked(places: Any, size: int, axis: int, device: Any) -> Array:
    """Positions from 0 on, as an array. Those that Python knows are checked at once."""
    if isinstance(places, Array):
        if places.dtype in dt.SIGNED:
            places = (places < 0).select(places + size, places)
        places = places.cast(dt.int32)
        outside = (places < 0) | (places >= size)
        # A position outside stays outside after positions on several axes are joined.
        return outside.select(full_like(places, 2**31 - 1), places)
    places = numpy.asarray(places)
    if places.size and (places.min() < -size or places.max() >= size):
        raise IndexError(f"index: out of range on axis {axis} (size {size})")
    return asarray(numpy.where(places < 0, places + size, places).astype(numpy.int32), device=device, copy=True)


def getitem(x: Array, key: Any) -> Array:
    """The part that a key with arrays in it names."""
    keys = _keys(x, key)
    arrays = [one for one in keys if not _is_plain(one)]
    if not arrays:
        return x[tuple(keys)]
    # Slices and new axes first; whole numbers beside arrays are arrays themselves.
    plain, places, extra = [], [], []
    axis = 0
    for one in keys:
        if isinstance(one, tuple):
            plain.append(None)
            extra.append((len(plain) - 1, one[1]))
            continue
        if one is None or isinstance(one, slice):
            plain.append(one)
        else:
            plain.append(slice(None))
            if isinstance(one, int):
                one = numpy.asarray(one)
            places.append((len(plain) - 1, _checked(one, x.shape[axis], axis, x.device)))
        axis += 0 if one is None else 1
    for at, one in extra:
        places.append((at, _checked(one, 1, at, x.device)))
    places.sort(key=lambda pair: pair[0])
    part = x[tuple(plain)]
    axes = [at for at, _ in places]
    # Of how the keys stand in the index: an array between slices goes to the front unless all are neighbors.
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    shape = numpy.broadcast_shapes(*(one.shape for _, one in places))
    rest = [at for at in range(part.ndim) if at not in axes]
    moved = part.permute_dims(axes + rest)
    sizes, others = moved.shape[: len(axes)], moved.shape[len(axes) :]
    count = int(numpy.prod(sizes))
    joined = None
    for (_, one), size in zip(places, sizes):
        one = one.broadcast_to(shape)
        if joined is None:
            joined, outside = one, one >= size
        else:
            outside = outside | (one >= size)
            joined = joined * size + one
    joined = outside.select(full_like(joined, builtins.min(count, 2**31 - 1)), joined)
    flat = joined.reshape(joined.size)
    if flat.size == 0 or part.size == 0:
        if flat.size and count == 0:
            raise IndexError("index: out of range: the axis is empty")
        taken = zeros((flat.size,) + tuple(others), dtype=x.dtype, device=x.device)
    else:
        taken = moved.reshape((count,) + tuple(others)).index_select(0, flat)
    taken = taken.reshape(tuple(shape) + tuple(others))
    if together and axes[0] > 0:
        first = list(range(len(shape), len(shape) + axes[0]))
        last = list(range(len(shape) + axes[0], taken.ndim))
        taken = taken.permute_dims(first + list(range(len(shape))) + last)
    return taken


def setitem(x: Array, key: Any, value: Any) -> None:
    """Assigns to a part: the array holds another tensor afterwards, with the part replaced."""
    if not isinstance(value, Array):
        value = asarray(value, dtype=x.dtype, device=x.device) if _is_number(value) else asarray(value, device=x.device)
    value = value.cast(x.dtype)
    places = _farad.iota(x.size, x.device).reshape(x.shape)[key]
    if places.size == 0:
        numpy.broadcast_shapes(value.shape, places.shape)
        return
    while value.ndim > places.ndim and value.shape[0] == 1:
        value = value.reshape(value.shape[1:])
    value = value.broadcast_to(places.shape).reshape(places.size)
    places = places.reshape(places.size)
    keys = key if isinstance(key, tuple) else (key,)
    if not all(_is_plain(one) for one in keys):
        # Of positions that are named twice the last counts.
        known = numpy.asarray(places)
        _, last = numpy.unique(known[::-1], return_index=True)
        kept = numpy.sort(len(known) - 1 - last).astype(numpy.int32)
        if len(kept) < len(known):
            kept = asarray(kept, device=x.device, copy=True)
            places, value = places.index_select(0, kept), value.index_select(0, kept)
    count = places.size
    which = zeros((x.size,), dtype=dt.int32, device=x.device)
    which = which.scatter_add(0, places, _farad.iota(count, x.device) + 1)
    put = value.index_select(0, (which - 1).maximum(0))
    x._assign((which > 0).select(put, x.reshape(x.size)).reshape(x.shape))


def _is_number(value: Any) -> builtins.bool:
    return isinstance(value, (builtins.bool, int, float, list))
