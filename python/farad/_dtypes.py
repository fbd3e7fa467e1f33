"""Dtypes and what can be asked about them: the standard's data type functions."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

import numpy

from . import _farad
from ._farad import Array, DType, Device, dtype
from ._farad import (
    bfloat16,
    bool,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

#: The dtypes of the standard, in its order. Complex numbers are left out.
STANDARD = (bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64)
SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
FLOATING = (float16, bfloat16, float32, float64)

#: What Python's own numbers become.
DEFAULT_INT = int32
DEFAULT_FLOAT = float32


def is_float(kind: DType) -> builtins.bool:
    return kind in FLOATING


def is_int(kind: DType) -> builtins.bool:
    return kind in SIGNED or kind in UNSIGNED


def _bits(kind: DType) -> int:
    return 8 * kind.itemsize


def promote(a: DType, b: DType) -> DType:
    """The dtype that two operands meet in."""
    if a == b:
        return a
    if a == bool or b == bool:
        return b if a == bool else a
    if is_float(a) or is_float(b):
        if is_float(a) and is_float(b):
            halves = (float16, bfloat16)
            if a in halves and b in halves:
                return float32
            return a if _bits(a) >= _bits(b) else b
        return a if is_float(a) else b
    if (a in SIGNED) == (b in SIGNED):
        return a if _bits(a) >= _bits(b) else b
    signed, unsigned = (a, b) if a in SIGNED else (b, a)
    if unsigned == uint64:
        raise TypeError(f"no integer dtype holds both {a} and {b}")
    wider = {uint8: int16, uint16: int32, uint32: int64}[unsigned]
    return signed if _bits(signed) >= _bits(wider) else wider


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that these arrays, dtypes and numbers meet in."""
    known = [x.dtype if isinstance(x, Array) else x for x in arrays_and_dtypes]
    kinds = [x for x in known if isinstance(x, DType)]
    numbers = [x for x in known if not isinstance(x, DType)]
    for x in numbers:
        if not isinstance(x, (builtins.bool, int, float)):
            raise TypeError(f"result_type: neither an array nor a dtype nor a number: {type(x).__name__}")
    if not kinds:
        raise ValueError("result_type: at least one array or dtype is needed")
    met = kinds[0]
    for kind in kinds[1:]:
        met = promote(met, kind)
    for x in numbers:
        if isinstance(x, float) and not is_float(met):
            met = DEFAULT_FLOAT
        elif isinstance(x, int) and not isinstance(x, builtins.bool) and met == bool:
            met = DEFAULT_INT
    return met


def can_cast(from_: Any, to: DType, /) -> builtins.bool:
    """Whether values of one dtype can become another without losing their kind or range."""
    kind = from_.dtype if isinstance(from_, Array) else dtype(from_)
    to = dtype(to)
    try:
        return promote(kind, to) == to and not (is_int(kind) and is_float(to) and _bits(kind) > 32 and to != float64)
    except TypeError:
        return False


KINDS = {
    "bool": (bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": (float16, bfloat16, float32, float64),
    "complex floating": (),
    "numeric": SIGNED + UNSIGNED + FLOATING,
}


def isdtype(dtype: DType, kind: Any) -> builtins.bool:
    """Whether a dtype is another, is of a kind, or is one of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: unknown kind: {kind!r}")
        return dtype in KINDS[kind]
    return dtype == kind


@dataclass(frozen=True)
class IntegerInfo:
    bits: int
    max: int
    min: int
    dtype: DType


@dataclass(frozen=True)
class FloatInfo:
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


def _kind_of(type: Any) -> DType:
    return type.dtype if isinstance(type, Array) else dtype(type)


def iinfo(type: Any, /) -> IntegerInfo:
    """The range of an integer dtype."""
    kind = _kind_of(type)
    if not is_int(kind):
        raise TypeError(f"iinfo: no integers: {kind}")
    bits = _bits(kind)
    if kind in UNSIGNED:
        return IntegerInfo(bits, 2**bits - 1, 0, kind)
    return IntegerInfo(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), kind)


def finfo(type: Any, /) -> FloatInfo:
    """The precision and range of a floating dtype."""
    kind = _kind_of(type)
    if not is_float(kind):
        raise TypeError(f"finfo: no floats: {kind}")
    if kind == bfloat16:
        return FloatInfo(16, 2.0**-7, 3.3895313892515355e38, -3.3895313892515355e38, 2.0**-126, kind)
    info = numpy.finfo(str(kind))
    return FloatInfo(
        info.bits, float(info.eps), float(info.max), float(info.min), float(info.smallest_normal), kind
    )


def astype(x: Array, dtype: DType, /, *, copy: builtins.bool = True, device: Device | str | None = None) -> Array:
    """The elements as another dtype."""
    if not isinstance(x, Array):
        raise TypeError("astype: an array is wanted")
    kind = _farad.dtype(dtype)
    result = x if device is None else x.to_device(device)
    if kind == result.dtype:
        return _copy(result) if copy else result
    return result.cast(kind)


def _copy(x: Array) -> Array:
    return +x
