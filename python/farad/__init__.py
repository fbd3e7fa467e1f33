"""Farad: tensors, networks and circuits that learn, on any GPU and on the CPU.

>>> import farad as fd
>>> x = fd.array([1.0, 2.0, 3.0])
>>> float((x * 2 + 1).sum())
15.0

Arrays are lazy: ops record, and reading a result or an optimizer's `step` compiles everything recorded into a few
fused kernels and runs them.
"""

from __future__ import annotations

import os

from . import _array, _farad
from ._errors import DeviceError, FaradError, FileError, OpError, OutOfMemoryError
from ._farad import (
    Array,
    Device,
    DType,
    Parameter,
    __version__,
    best_device,
    devices,
    dtype,
    get_default_device,
    load,
    save,
    seed,
    set_default_device,
)

_array.install()

from . import array_api, data, linalg, logic, nn, onnx, optim, random, schedule  # noqa: E402
from ._creation import array  # noqa: E402
from ._dtypes import bfloat16, float16  # noqa: E402
from . import _habits, _numpy  # noqa: E402
from ._einsum import allclose, array_equal, einsum, isclose  # noqa: E402
from ._habits import concatenate, diag, dot, missing_from_module as __getattr__, nan_to_num  # noqa: E402
from ._runs import Run, train, train_settings, train_subjects  # noqa: E402
from ._statistics import compute  # noqa: E402
from . import lm, rl, show  # noqa: E402
from ._transforms import checkpoint, grad, loop, mixed, scan, value_and_grad  # noqa: E402
from .array_api import *  # noqa: E402,F401,F403
from .array_api import bool, e, inf, nan, newaxis, pi  # noqa: E402


def _functions() -> None:
    """Ops that the standard does not name become functions too: `fd.relu(x)` is `x.relu()`."""
    from ._farad import op_table

    for name, *_ in op_table():
        globals().setdefault(name, getattr(Array, name))
    for name in [*array_api.__all__, *(name for name, *_ in op_table()), "diag", "nan_to_num"]:
        globals()[name] = _habits.widened(name, globals()[name])


_functions()
_habits.install()
_numpy.install()
del _functions

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_farad.forked)
