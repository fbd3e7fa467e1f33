"""Optimizers. A step is gradients and update in one submission; a step like one before is replayed.

>>> import farad as fd
>>> w = fd.Parameter(fd.array([3.0]))
>>> sgd = fd.optim.Sgd([w], learning_rate=0.1)
>>> sgd.step((w.value * w.value).sum())
>>> [round(x, 3) for x in w.value.tolist()]
[2.4]
"""

from __future__ import annotations

from typing import Any

from . import _farad
from . import schedule
from ._farad import Accumulator, Optimizer, WeightAverage


def _optimizer_class(name: str, arguments: str, about: str) -> type:
    def new(cls: type, parameters: Any, *given: Any, **options: Any) -> Any:
        return Optimizer.__new__(cls, name, parameters, *given, **options)

    def init(self: Any, *given: Any, **options: Any) -> None:
        pass

    members = {
        "__doc__": f"{about}\n\nArguments: parameters, {arguments}.",
        "__new__": new,
        "__init__": init,
        "__module__": __name__,
    }
    return type(name, (Optimizer,), members)


#: The names of all optimizers.
OPTIMIZERS = [name for name, _, _ in _farad.optimizer_table()]

for _row in _farad.optimizer_table():
    globals()[_row[0]] = _optimizer_class(*_row)
del _row


def __getattr__(name: str) -> Any:
    from ._habits import OPTIMIZERS_INSTEAD, hint

    raise hint("farad.optim", name, OPTIMIZERS_INSTEAD)


def _missing(optimizer: Any, name: str) -> Any:
    from ._habits import OPTIMIZER_INSTEAD, hint

    raise hint(f"'{type(optimizer).__name__}'", name, OPTIMIZER_INSTEAD)


Optimizer.__getattr__ = _missing

__all__ = ["Accumulator", "Optimizer", "WeightAverage", "schedule", *OPTIMIZERS]
