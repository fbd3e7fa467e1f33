"""The standard's manipulation functions: shapes, axes, several arrays."""

from __future__ import annotations

import builtins
from typing import Any, Sequence

import numpy

from . import _dtypes as dt
from . import _farad
from ._creation import asarray
from ._farad import Array


def _axis(axis: int, rank: int, name: str) -> int:
    axis = int(axis)
    if not -rank <= axis < rank:
        raise IndexError(f"{name}: no such axis: {axis} of an array with {rank} axes")
    return axis % rank


def _axes(axis: Any, rank: int, name: str) -> list[int]:
    given = [axis] if isinstance(axis, int) else list(axis)
    found = [_axis(one, rank, name) for one in given]
    if len(set(found)) != len(found):
        raise ValueError(f"{name}: an axis is given twice: {axis}")
    return found


def reshape(x: Array, /, shape: Sequence[int], *, copy: builtins.bool | None = None) -> Array:
    """The elements in another shape, row by row; one size may be -1."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if 0 in x.shape and -1 in shape:
        rest = [size for size in shape if size != -1]
        known = int(numpy.prod(rest))
        shape = tuple((x.size // known if known else 0) if size == -1 else size for size in shape)
    return x.reshape(shape)


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """The axes in another order."""
    return x.permute_dims(list(axes))


def moveaxis(x: Array, source: Any, destination: Any, /) -> Array:
    """Axes moved to other places."""
    from_, to = _axes(source, x.ndim, "moveaxis"), _axes(destination, x.ndim, "moveaxis")
    if len(from_) != len(to):
        raise ValueError("moveaxis: as many places as axes are wanted")
    order = [axis for axis in range(x.ndim) if axis not in from_]
    for place, axis in sorted(zip(to, from_)):
        order.insert(place, axis)
    return x.permute_dims(order)


def expand_dims(x: Array, /, axis: int = 0) -> Array:
    """A new axis of size 1."""
    place = _axis(axis, x.ndim + 1, "expand_dims")
    return x.reshape(x.shape[:place] + (1,) + x.shape[place:])


def squeeze(x: Array, /, axis: Any = None) -> Array:
    """Axes of size 1 removed."""
    gone = [place for place, size in enumerate(x.shape) if size == 1] if axis is None else _axes(axis, x.ndim, "squeeze")
    for one in gone:
        if x.shape[one] != 1:
            raise ValueError(f"squeeze: the axis has another size: axis {one} of {x.shape}")
    return x.reshape([size for place, size in enumerate(x.shape) if place not in gone])


def flip(x: Array, /, axis: Any = None) -> Array:
    """Axes in reverse order."""
    axes = list(range(x.ndim)) if axis is None else _axes(axis, x.ndim, "flip")
    return x.flip(axes) if axes and x.size else +x


def roll(x: Array, /, shift: Any, axis: Any = None) -> Array:
    """Elements moved along axes; what leaves at the end comes in at the start."""
    if axis is None:
        return roll(x.reshape(x.size), shift, axis=0).reshape(x.shape)
    axes = [axis] if isinstance(axis, int) else list(axis)
    shifts = [shift] * len(axes) if isinstance(shift, int) else list(shift)
    if len(shifts) != len(axes):
        raise ValueError("roll: as many shifts as axes are wanted")
    for by, one in zip(shifts, axes):
        place = _axis(one, x.ndim, "roll")
        size = x.shape[place]
        if size == 0 or by % size == 0:
            continue
        cut = size - by % size
        before = (slice(None),) * place
        x = concat([x[before + (slice(cut, None),)], x[before + (slice(0, cut),)]], axis=place)
    return +x


def broadcast_to(x: Array, /, shape: Sequence[int]) -> Array:
    """The array repeated to a shape, aligned at the last axis."""
    return x.broadcast_to(tuple(shape))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that several shapes meet in."""
    return tuple(numpy.broadcast_shapes(*shapes))


def broadcast_arrays(*arrays: Array) -> list[Array]:
    """Arrays repeated to the shape that they meet in."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [x.broadcast_to(shape) for x in arrays]


def concat(arrays: Sequence[Array], /, axis: int | None = 0) -> Array:
    """Arrays one after the other along an axis.

    >>> import farad as fd
    >>> fd.concat([fd.array([1, 2]), fd.array([3])]).tolist()
    [1, 2, 3]
    """
    arrays = list(arrays)
    if not arrays:
        raise ValueError("concat: no arrays")
    kind = dt.result_type(*arrays)
    arrays = [x.cast(kind) for x in arrays]
    if axis is None:
        arrays, axis = [x.reshape(x.size) for x in arrays], 0
    place = _axis(axis, arrays[0].ndim, "concat")
    filled = [x for x in arrays if x.shape[place] != 0 or x.ndim != arrays[0].ndim]
    if len(filled) <= 1 and all(x.ndim == arrays[0].ndim for x in arrays):
        return +(filled[0] if filled else arrays[0])
    return _farad.concat_arrays(filled, place)


def stack(arrays: Sequence[Array], /, axis: int = 0) -> Array:
    """Arrays along a new axis."""
    arrays = list(arrays)
    if not arrays:
        raise ValueError("stack: no arrays")
    kind = dt.result_type(*arrays)
    place = _axis(axis, arrays[0].ndim + 1, "stack")
    return _farad.stack_arrays([x.cast(kind) for x in arrays], place)


def unstack(x: Array, /, axis: int = 0) -> tuple[Array, ...]:
    """The slices along an axis."""
    place = _axis(axis, x.ndim, "unstack")
    before = (slice(None),) * place
    return tuple(x[before + (at,)] for at in range(x.shape[place]))


def tile(x: Array, repetitions: Sequence[int], /) -> Array:
    """The array side by side so many times along each axis."""
    times = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
    rank = builtins.max(len(times), x.ndim)
    times = (1,) * (rank - len(times)) + times
    shape = (1,) * (rank - x.ndim) + x.shape
    x = x.reshape(shape)
    for axis in range(rank):
        size = x.shape[axis]
        if times[axis] != 1:
            places = asarray(numpy.tile(numpy.arange(size, dtype=numpy.int32), times[axis]), device=x.device)
            x = _select(x, axis, places)
    return +x


def repeat(x: Array, repeats: Any, /, axis: int | None = None) -> Array:
    """Each element so many times after itself."""
    if axis is None:
        x, axis = x.reshape(x.size), 0
    place = _axis(axis, x.ndim, "repeat")
    counts = numpy.asarray(repeats)
    places = numpy.repeat(numpy.arange(x.shape[place], dtype=numpy.int32), counts)
    return _select(x, place, asarray(places, device=x.device))


def _select(x: Array, axis: int, places: Array) -> Array:
    """Whole slices at places of an axis, also where there are none."""
    if places.size == 0 or x.size == 0:
        from ._creation import zeros

        shape = x.shape[:axis] + (places.size,) + x.shape[axis + 1 :]
        return zeros(shape, dtype=x.dtype, device=x.device)
    return x.index_select(axis, places)


def take(x: Array, indices: Array, /, axis: int | None = None) -> Array:
    """Whole slices at positions of an axis."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError("take: the axis is needed")
        axis = 0
    place = _axis(axis, x.ndim, "take")
    size = x.shape[place]
    indices = indices if isinstance(indices, Array) else asarray(indices, device=x.device)
    flat = indices.reshape(indices.size)
    flat = (flat < 0).select(flat + size, flat) if flat.dtype in dt.SIGNED else flat
    taken = _select(x, place, flat)
    return taken.reshape(x.shape[:place] + tuple(indices.shape) + x.shape[place + 1 :])


def take_along_axis(x: Array, indices: Array, /, axis: int = -1) -> Array:
    """Elements at positions along an axis, each row with positions of its own."""
    place = _axis(axis, x.ndim, "take_along_axis")
    size = x.shape[place]
    indices = indices if isinstance(indices, Array) else asarray(indices, device=x.device)
    shape = list(broadcast_shapes(x.shape[:place] + (1,) + x.shape[place + 1 :],
                                  indices.shape[:place] + (1,) + indices.shape[place + 1 :]))
    wide = x.broadcast_to(shape[:place] + [size] + shape[place + 1 :])
    index = indices.broadcast_to(shape[:place] + [indices.shape[place]] + shape[place + 1 :])
    index = (index < 0).select(index + size, index) if index.dtype in dt.SIGNED else index
    if index.size == 0 or wide.size == 0:
        from ._creation import zeros

        return zeros(index.shape, dtype=x.dtype, device=x.device)
    return wide.gather(place, index)


