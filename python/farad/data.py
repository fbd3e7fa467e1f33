"""Data sets, and the loader that brings their batches to a device.

>>> from farad import data
>>> loader = data.DataLoader(data.moons(100, seed=1), 32, shuffle=1)
>>> [len(x) for x, y in loader]
[32, 32, 32, 4]
"""

from __future__ import annotations

from typing import Any

from . import _farad
from ._farad import DataLoader, DataSet


def _maker(name: str, arguments: str, about: str) -> Any:
    def make(*given: Any, **options: Any) -> DataSet:
        return DataSet(name, *given, **options)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{about}\n\nArguments: {arguments}."
    return make


#: The names of all data sets.
DATA_SETS = [name for name, _, _ in _farad.data_table()]

for _row in _farad.data_table():
    globals()[_row[0]] = _maker(*_row)
del _row

__all__ = ["DataLoader", "DataSet", *DATA_SETS]
