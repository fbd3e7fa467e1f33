"""Learning rates as functions of the step. An optimizer takes one as `schedule=…`, and asks it before every step.

>>> import farad as fd
>>> from farad import schedule
>>> rates = schedule.Warmup(10, schedule.Cosine(0.001, 90))
>>> round(rates(10), 6), round(rates(100), 6)
(0.001, 0.0)
>>> w = fd.Parameter(fd.ones((2,)))
>>> sgd = fd.optim.Sgd([w], schedule=rates)
>>> sgd.step((w * w).sum())
>>> round(sgd.learning_rate, 6)
0.0001
"""

from __future__ import annotations

from typing import Any

from . import _farad
from ._farad import Plateau, Schedule


def _schedule_class(name: str, arguments: str, about: str) -> type:
    def new(cls: type, *given: Any, **options: Any) -> Any:
        return Schedule.__new__(cls, name, *given, **options)

    def init(self: Any, *given: Any, **options: Any) -> None:
        pass

    members = {
        "__doc__": f"{about}\n\nArguments: {arguments}.",
        "__new__": new,
        "__init__": init,
        "__module__": __name__,
    }
    return type(name, (Schedule,), members)


#: The names of all schedules, without `Plateau`, which looks at a metric.
SCHEDULES = [name for name, _, _ in _farad.schedule_table()]

for _row in _farad.schedule_table():
    globals()[_row[0]] = _schedule_class(*_row)
del _row

__all__ = ["Plateau", "Schedule", *SCHEDULES]
