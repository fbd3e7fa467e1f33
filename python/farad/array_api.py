"""The namespace of the array-API standard, version 2024.12, on the CPU: `bool`, all integers, `float32` and
`float64`. Complex numbers are left out: there is no dtype, and no function of theirs.

>>> from farad import array_api as xp
>>> xp.sum(xp.asarray([1, 2, 3])).item()
6
"""

from __future__ import annotations

import math

from . import _farad
from ._creation import (
    arange, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid, ones, ones_like,
    tril, triu, zeros, zeros_like,
)
from ._dtypes import (
    astype, bool, can_cast, finfo, float32, float64, iinfo, int8, int16, int32, int64, isdtype, result_type, uint8,
    uint16, uint32, uint64,
)
from ._elementwise import (
    abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert, bitwise_left_shift,
    bitwise_or, bitwise_right_shift, bitwise_xor, ceil, clip, conj, copysign, cos, cosh, divide, equal, exp,
    expm1, floor, floor_divide, greater, greater_equal, hypot, isfinite, isinf, isnan, less, less_equal, log, log1p,
    log2, log10, logaddexp, logical_and, logical_not, logical_or, logical_xor, maximum, minimum, multiply, negative,
    nextafter, not_equal, positive, pow, real, reciprocal, remainder, round, sign, signbit, sin, sinh, sqrt, square,
    subtract, tan, tanh, trunc,
)
from ._manipulation import (
    broadcast_arrays, broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims, repeat, reshape, roll,
    squeeze, stack, take, take_along_axis, tile, unstack,
)
from ._statistics import (
    all, any, argmax, argmin, argsort, count_nonzero, cumulative_prod, cumulative_sum, diff, matmul,
    matrix_transpose, max, mean, min, nonzero, prod, searchsorted, sort, std, sum, tensordot, unique_all,
    unique_counts, unique_inverse, unique_values, var, vecdot, where,
)

__array_api_version__ = "2024.12"

e = math.e
pi = math.pi
inf = math.inf
nan = math.nan
newaxis = None


class _Info:
    """What the namespace has: devices, dtypes, capabilities."""

    def capabilities(self) -> dict:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> _farad.Device:
        return _farad.get_default_device()

    def default_dtypes(self, *, device: object = None) -> dict:
        return {"real floating": float32, "complex floating": None, "integral": int32, "indexing": int32}

    def devices(self) -> list:
        return [_farad.Device("cpu")]

    def dtypes(self, *, device: object = None, kind: object = None) -> dict:
        all_ = (bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64)
        return {str(one): one for one in all_ if kind is None or isdtype(one, kind)}


def __array_namespace_info__() -> _Info:
    """What the namespace has: devices, dtypes, capabilities."""
    return _Info()

__all__ = [name for name in globals() if not name.startswith("_") and name not in ("math", "annotations")]
