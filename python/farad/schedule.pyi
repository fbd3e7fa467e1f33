"""Learning rates as functions of the step. Written by scripts/stubs."""

from typing import Any, Iterator

from ._farad import Plateau as Plateau
from ._farad import Schedule as Schedule

SCHEDULES: list[str]

class Constant(Schedule):
    """The same rate in every step."""
    def __init__(self, rate: Any) -> None: ...

class Step(Schedule):
    """Multiplied by a factor after every so many steps."""
    def __init__(self, rate: Any, every: Any, factor: Any = ...) -> None: ...

class MultiStep(Schedule):
    """Multiplied by a factor at milestones."""
    def __init__(self, rate: Any, milestones: Any, factor: Any = ...) -> None: ...

class Exponential(Schedule):
    """Multiplied by a factor in every step."""
    def __init__(self, rate: Any, factor: Any) -> None: ...

class Linear(Schedule):
    """Along a line, from one share of the rate to another."""
    def __init__(self, rate: Any, steps: Any, start: Any = ..., end: Any = ...) -> None: ...

class Polynomial(Schedule):
    """Down to zero by a power of the steps that are left."""
    def __init__(self, rate: Any, steps: Any, power: Any = ...) -> None: ...

class Cosine(Schedule):
    """Down along half a cosine."""
    def __init__(self, rate: Any, steps: Any, minimum: Any = ...) -> None: ...

class CosineRestarts(Schedule):
    """Down along half a cosine, again and again; each time so many times as long."""
    def __init__(self, rate: Any, steps: Any, growth: Any = ..., minimum: Any = ...) -> None: ...

class OneCycle(Schedule):
    """Up to the rate and far down again."""
    def __init__(self, rate: Any, steps: Any, rise: Any = ..., start_divisor: Any = ..., end_divisor: Any = ..., linear: Any = ..., three_phases: Any = ...) -> None: ...

class Warmup(Schedule):
    """Up along a line in the first steps, and then as another schedule."""
    def __init__(self, steps: Any, then: Any, start: Any = ...) -> None: ...

class Lambda(Schedule):
    """The rate times what a function gives for the step."""
    def __init__(self, rate: Any, share: Any) -> None: ...
