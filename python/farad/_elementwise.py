"""The standard's elementwise functions. What the library has no op for is composed of ops that it has, so that it
is lazy and differentiable too; `nextafter` alone is computed on the host."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy

from . import _dtypes as dt
from ._creation import asarray
from ._farad import Array


def _array(x: Any) -> Array:
    if not isinstance(x, Array):
        raise TypeError(f"an array is wanted, not {type(x).__name__}")
    return x


def _method(name: str, about: str) -> Any:
    call = getattr(Array, name)

    def function(x: Array, /) -> Array:
        return call(_array(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = about
    return function


abs = _method("abs", "The size of each element without its sign.")
ceil = _method("ceil", "Smallest integer not below each element.")
cos = _method("cos", "Cosine.")
exp = _method("exp", "`e` to the power of each element.")
expm1 = _method("expm1", "`e^x - 1`, right also for small elements.")
floor = _method("floor", "Largest integer not above each element.")
isfinite = _method("isfinite", "Where elements are finite.")
isinf = _method("isinf", "Where elements are infinite.")
isnan = _method("isnan", "Where elements are no numbers.")
log = _method("log", "Natural logarithm.")
log1p = _method("log1p", "`ln(1 + x)`, right also for small elements.")
log2 = _method("log2", "Logarithm to base 2.")
negative = _method("negative", "`-x`.")
reciprocal = _method("reciprocal", "1 divided by each element.")
sign = _method("sign", "-1, 0 or 1 by the sign.")
sin = _method("sin", "Sine.")
sqrt = _method("sqrt", "Square root.")
square = _method("square", "`x · x`.")
tanh = _method("tanh", "Hyperbolic tangent.")


def round(x: Array, /, decimals: int = 0) -> Array:
    """Nearest number with so many decimals, ties to even."""
    return _array(x).round(decimals)


def positive(x: Array, /) -> Array:
    """The elements as they are."""
    return +_array(x)


def trunc(x: Array, /) -> Array:
    """Each element without its fraction."""
    return (x < 0).select(x.ceil(), x.floor()) if dt.is_float(_array(x).dtype) else +x


def log10(x: Array, /) -> Array:
    """Logarithm to base 10."""
    return _array(x).log() * (1 / math.log(10))


def tan(x: Array, /) -> Array:
    """Tangent."""
    return _array(x).sin() / x.cos()


def sinh(x: Array, /) -> Array:
    """Hyperbolic sine."""
    size = _array(x).abs()
    small = size.expm1()
    half = (size * 0.5).exp() * math.sqrt(0.5)
    grown = (size > 10).select(half * half, (small + small / (small + 1)) * 0.5)
    return _signed(grown, x)


def cosh(x: Array, /) -> Array:
    """Hyperbolic cosine."""
    half = (_array(x).abs() * 0.5).exp() * math.sqrt(0.5)
    square = half * half
    return square + 0.25 / square


def _signed(size: Array, x: Array) -> Array:
    """`size` with the sign of `x`, zeros included."""
    return (x < 0).select(-size, (x == 0).select(x, size))


def asinh(x: Array, /) -> Array:
    """Inverse hyperbolic sine."""
    size = _array(x).abs()
    bounded = size.minimum(1e9)
    square = bounded * bounded
    near = (bounded + square / ((square + 1).sqrt() + 1)).log1p()
    return _signed((size > 1e9).select(size.log() + math.log(2), near), x)


def acosh(x: Array, /) -> Array:
    """Inverse hyperbolic cosine."""
    bounded = _array(x).minimum(1e9) - 1
    near = (bounded + (bounded * 2 + bounded * bounded).sqrt()).log1p()
    return (x > 1e9).select(x.log() + math.log(2), near)


def atanh(x: Array, /) -> Array:
    """Inverse hyperbolic tangent."""
    size = _array(x).abs()
    return _signed((size * 2 / (1 - size)).log1p() * 0.5, x)


def atan(x: Array, /) -> Array:
    """Inverse tangent.

    A rough value is made exact by its error, which sine and cosine tell: the sine of `atan(x) - rough` is
    `(x · cos(rough) - sin(rough)) / √(1 + x²)`.
    """
    size = _array(x).abs()
    far = size > 1
    near = far.select(1 / far.select(size, full(size, 1)), size)
    rough = near * (math.pi / 4 + (1 - near) * 0.273)
    off = (near * rough.cos() - rough.sin()) / (near * near + 1).sqrt()
    square = off * off
    angle = rough + off * (square * (square * (3 / 40) + 1 / 6) + 1)
    return _signed(far.select(math.pi / 2 - angle, angle), x)


def full(x: Array, number: float) -> Array:
    return x.full_like(float(number))


def asin(x: Array, /) -> Array:
    """Inverse sine."""
    return atan(_array(x) / ((1 - x) * (1 + x)).sqrt())


def acos(x: Array, /) -> Array:
    """Inverse cosine."""
    return atan(((1 - _array(x)) / (1 + x)).sqrt()) * 2


def signbit(x: Array, /) -> Array:
    """Where the sign is negative, that of zero included."""
    return (_array(x) < 0) | ((x == 0) & (1 / x < 0))


def conj(x: Array, /) -> Array:
    """The elements as they are: there are no complex numbers."""
    return +_array(x)


real = conj


def logical_not(x: Array, /) -> Array:
    """Where elements are false."""
    return _truth(x).bitwise_invert()


def bitwise_invert(x: Array, /) -> Array:
    """Every bit turned over; logical not of `bool`."""
    return _array(x).bitwise_invert()


def _truth(x: Any) -> Any:
    return x if not isinstance(x, Array) or x.dtype == dt.bool else x != 0


def _binary(name: str, op: Any, about: str) -> Any:
    def function(x1: Any, x2: Any, /) -> Array:
        if not isinstance(x1, Array) and not isinstance(x2, Array):
            raise TypeError(f"{name}: one operand must be an array")
        return op(x1, x2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = about
    return function


add = _binary("add", operator.add, "The sum.")
subtract = _binary("subtract", operator.sub, "The difference.")
multiply = _binary("multiply", operator.mul, "The product.")
divide = _binary("divide", operator.truediv, "The quotient.")
floor_divide = _binary("floor_divide", operator.floordiv, "The largest whole number not above the quotient.")
remainder = _binary("remainder", operator.mod, "The remainder with the divisor's sign.")
pow = _binary("pow", operator.pow, "`x1` to the power of `x2`.")
bitwise_and = _binary("bitwise_and", operator.and_, "Bits that are set in both.")
bitwise_or = _binary("bitwise_or", operator.or_, "Bits that are set in one or both.")
bitwise_xor = _binary("bitwise_xor", operator.xor, "Bits that are set in one alone.")
bitwise_left_shift = _binary("bitwise_left_shift", operator.lshift, "Bits shifted left.")
bitwise_right_shift = _binary("bitwise_right_shift", operator.rshift, "Bits shifted right, keeping the sign.")
equal = _binary("equal", operator.eq, "Where both are equal.")
not_equal = _binary("not_equal", operator.ne, "Where both differ.")
less = _binary("less", operator.lt, "Where the first is smaller.")
less_equal = _binary("less_equal", operator.le, "Where the first is not larger.")
greater = _binary("greater", operator.gt, "Where the first is larger.")
greater_equal = _binary("greater_equal", operator.ge, "Where the first is not smaller.")
logical_and = _binary("logical_and", lambda a, b: _truth(a) & _truth(b), "Where both are true.")
logical_or = _binary("logical_or", lambda a, b: _truth(a) | _truth(b), "Where one or both are true.")
logical_xor = _binary("logical_xor", lambda a, b: _truth(a) ^ _truth(b), "Where one alone is true.")


def _both(x1: Any, x2: Any) -> tuple[Array, Array]:
    """Both operands as arrays of one dtype."""
    first = x1 if isinstance(x1, Array) else None
    like = first if first is not None else _array(x2)
    a = x1 if isinstance(x1, Array) else asarray(x1, dtype=_beside(x1, like), device=like.device)
    b = x2 if isinstance(x2, Array) else asarray(x2, dtype=_beside(x2, like), device=like.device)
    kind = dt.promote(a.dtype, b.dtype)
    return a.cast(kind), b.cast(kind)


def _beside(number: Any, like: Array) -> Any:
    return dt.result_type(like, number) if isinstance(number, (builtins.bool, int, float)) else None


def maximum(x1: Any, x2: Any, /) -> Array:
    """The larger of the two, or NaN if one of them is."""
    a, b = _both(x1, x2)
    return a | b if a.dtype == dt.bool else a.maximum(b)


def minimum(x1: Any, x2: Any, /) -> Array:
    """The smaller of the two, or NaN if one of them is."""
    a, b = _both(x1, x2)
    return a & b if a.dtype == dt.bool else a.minimum(b)


def copysign(x1: Any, x2: Any, /) -> Array:
    """The first with the sign of the second."""
    a, b = _both(x1, x2)
    size = a.abs()
    return signbit(b).select(-size, size)


def hypot(x1: Any, x2: Any, /) -> Array:
    """The root of the sum of squares, without overflow."""
    a, b = _both(x1, x2)
    large, small = a.abs().maximum(b.abs()), a.abs().minimum(b.abs())
    share = small / (large == 0).select(full(large, 1), large)
    length = large * (share * share + 1).sqrt()
    endless = a.isinf() | b.isinf()
    return endless.select(full(length, math.inf), length)


def logaddexp(x1: Any, x2: Any, /) -> Array:
    """The logarithm of the sum of exponentials, without overflow."""
    a, b = _both(x1, x2)
    large = a.maximum(b)
    same = a == b
    apart = same.select(full(large, 0), -(a - b).abs())
    return large + apart.exp().log1p()


def atan2(x1: Any, x2: Any, /) -> Array:
    """The angle of the point with height `x1` and width `x2`."""
    y, x = _both(x1, x2)
    y, x = y.broadcast_to(numpy.broadcast_shapes(y.shape, x.shape)), x
    endless = y.isinf() | x.isinf()
    height = endless.select(y.isinf().select(y.sign(), copysign(full(y, 0), y)), y)
    width = endless.select(x.isinf().select(x.sign(), copysign(full(x, 0), x)), x)
    tall = height.abs() > width.abs()
    below = tall.select(height, width)
    above = tall.select(width, height)
    share = (below == 0).select(full(below, 0), above / (below == 0).select(full(below, 1), below))
    turned = atan(share.abs())
    angle = tall.select(math.pi / 2 - turned, turned)
    angle = signbit(x).select(math.pi - angle, angle)
    angle = signbit(y).select(-angle, angle)
    return (y.isnan() | x.isnan()).select(full(angle, math.nan), angle)


def nextafter(x1: Any, x2: Any, /) -> Array:
    """The next number from the first toward the second."""
    a, b = _both(x1, x2)
    return asarray(numpy.nextafter(numpy.asarray(a), numpy.asarray(b)), device=a.device)


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Elements held between two bounds; `None` is no bound."""
    result = _array(x)
    for bound, op in ((min, Array.maximum), (max, Array.minimum)):
        if bound is None:
            continue
        if not isinstance(bound, Array):
            if dt.is_int(result.dtype) and isinstance(bound, int):
                info = dt.iinfo(result.dtype)
                bound = builtins.min(builtins.max(bound, info.min), info.max)
            bound = asarray(bound, dtype=result.dtype, device=result.device)
        result = op(result, bound.cast(result.dtype))
    return +result if result is x else result
