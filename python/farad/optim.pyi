"""Optimizers. Written by scripts/stubs."""

from typing import Any, Iterator

from . import schedule as schedule
from ._farad import Accumulator as Accumulator
from ._farad import Optimizer as Optimizer
from ._farad import WeightAverage as WeightAverage

OPTIMIZERS: list[str]

class AdamW(Optimizer):
    """Moments of gradients; decay shrinks weights directly."""
    def __init__(self, parameters: Any, learning_rate: Any = ..., betas: Any = ..., epsilon: Any = ..., weight_decay: Any = ..., clip_norm: Any = ..., clip_value: Any = ..., schedule: Any = ...) -> None: ...

class Adam(Optimizer):
    """Moments of gradients; decay is part of the gradient."""
    def __init__(self, parameters: Any, learning_rate: Any = ..., betas: Any = ..., epsilon: Any = ..., weight_decay: Any = ..., clip_norm: Any = ..., clip_value: Any = ..., schedule: Any = ...) -> None: ...

class Sgd(Optimizer):
    """Stochastic gradient descent."""
    def __init__(self, parameters: Any, learning_rate: Any = ..., momentum: Any = ..., dampening: Any = ..., nesterov: Any = ..., weight_decay: Any = ..., clip_norm: Any = ..., clip_value: Any = ..., schedule: Any = ...) -> None: ...

class RmsProp(Optimizer):
    """Gradients divided by the root of their running mean square."""
    def __init__(self, parameters: Any, learning_rate: Any = ..., alpha: Any = ..., epsilon: Any = ..., momentum: Any = ..., weight_decay: Any = ..., clip_norm: Any = ..., clip_value: Any = ..., schedule: Any = ...) -> None: ...

class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares."""
    def __init__(self, parameters: Any, learning_rate: Any = ..., epsilon: Any = ..., weight_decay: Any = ..., clip_norm: Any = ..., clip_value: Any = ..., schedule: Any = ...) -> None: ...

class Lion(Optimizer):
    """Steps of equal length by the sign of a mean of gradients."""
    def __init__(self, parameters: Any, learning_rate: Any = ..., betas: Any = ..., weight_decay: Any = ..., clip_norm: Any = ..., clip_value: Any = ..., schedule: Any = ...) -> None: ...

class Muon(Optimizer):
    """Momentum of matrices made orthogonal; AdamW for the rest."""
    def __init__(self, parameters: Any, learning_rate: Any = ..., momentum: Any = ..., weight_decay: Any = ..., clip_norm: Any = ..., clip_value: Any = ..., schedule: Any = ...) -> None: ...
