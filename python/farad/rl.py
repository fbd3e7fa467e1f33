"""Worlds, and agents that learn in them. A world is a class of your own, or one of the library's.

A world in Python records ops on arrays, for many worlds at once. Its functions are called while an update is recorded, and
not at every step: a roll-out is one loop on the device.

>>> import farad as fd
>>> from farad import rl
>>> class Line(rl.World):
...     observations, actions, longest = 1, rl.Discrete(2), 20
...     def begin(self, worlds, device):
...         return fd.random.uniform((worlds,), -1.0, 1.0, device=device)
...     def observe(self, place):
...         return place[:, None]
...     def step(self, place, action):
...         place = place + (action.astype(fd.float32) * 2 - 1) * 0.1
...         return place, -abs(place), abs(place) > 2
>>> trained = rl.train(Line(), updates=3, worlds=16, horizon=8, minibatches=2, progress=False)
>>> len(trained.curves["return"])
3
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy

from . import _farad
from ._farad import Agents, Array, Learner
from ._runs import ProgressBar, _text
from ._transforms import _leaves


class Discrete(NamedTuple):
    """An action is one of so many choices: an `int32` array `[worlds]`, from 0."""

    choices: int


class Continuous(NamedTuple):
    """An action is so many numbers, each from -1 to 1: an array `[worlds, numbers]`."""

    numbers: int


class World:
    """A world of your own. Everything that changes is in its state: an array, or a tuple, list or dictionary of arrays whose
    first axis is the world. Set `observations`, `actions` and `longest`, the most steps of an episode.
    """

    observations: int
    actions: Discrete | Continuous
    longest: int

    def begin(self, worlds: int, device: Any) -> Any:
        """States of so many worlds at their start, drawn anew by every call."""
        raise NotImplementedError(f"{type(self).__name__}: it has no begin")

    def observe(self, state: Any) -> Array:
        """What an agent sees, `[worlds, observations]`."""
        raise NotImplementedError(f"{type(self).__name__}: it has no observe")

    def step(self, state: Any, action: Array) -> tuple[Any, Array, Array]:
        """The next state, the rewards `[worlds]`, and truth values `[worlds]`: which worlds have ended."""
        raise NotImplementedError(f"{type(self).__name__}: it has no step")


class _Recorder:
    """A world whose states are lists of arrays."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.build: Callable[[list], Any] = self._alone

    def _alone(self, state: list) -> Any:
        """What a state looks like before `begin` has shown it: one array."""
        if len(state) != 1:
            raise ValueError(f"{type(self.world).__name__}: begin shows what a state looks like: call it first")
        return state[0]

    def begin(self, worlds: int, device: Any) -> list:
        leaves: list = []
        self.build = _leaves(self.world.begin(worlds, device), leaves)
        if not leaves:
            raise ValueError(f"{type(self.world).__name__}: begin gives no arrays")
        for leaf in leaves:
            if not leaf.shape or leaf.shape[0] != worlds:
                raise ValueError(
                    f"{type(self.world).__name__}: the first axis of a state is the world: {leaf.shape} ({worlds} worlds)"
                )
        return leaves

    def observe(self, state: list) -> Array:
        seen = self.world.observe(self.build(state))
        wanted = (state[0].shape[0], self.world.observations)
        if not isinstance(seen, Array) or seen.shape != wanted:
            raise ValueError(f"{type(self.world).__name__}: observe gives {_shown(seen)}, {wanted} is wanted")
        return seen

    def step(self, state: list, action: Array) -> tuple[list, Array, Array]:
        given = self.world.step(self.build(state), action)
        if not isinstance(given, tuple) or len(given) != 3:
            raise ValueError(f"{type(self.world).__name__}: step gives the next state, rewards, and which worlds have ended")
        leaves: list = []
        _leaves(given[0], leaves)
        before, after = [leaf.shape for leaf in state], [leaf.shape for leaf in leaves]
        if before != after:
            raise ValueError(f"{type(self.world).__name__}: step gives another state: {after}, {before} is wanted")
        for name, part in (("rewards", given[1]), ("ends", given[2])):
            if not isinstance(part, Array) or part.shape != before[0][:1]:
                raise ValueError(f"{type(self.world).__name__}: {name} are {_shown(part)}, {before[0][:1]} is wanted")
        ended = given[2] if given[2].dtype.kind == "bool" else given[2] != 0
        return leaves, given[1], ended


def _shown(value: Any) -> str:
    return str(value.shape) if isinstance(value, Array) else type(value).__name__


def world(given: Any, device: Any = None) -> _farad.World:
    """A world as algorithms take it: one of your own, or one of the library's by name."""
    if isinstance(given, _farad.World):
        return given
    if isinstance(given, str):
        return _farad.World.named(given, device)
    for name in ("observations", "actions", "longest", "begin", "observe", "step"):
        if not hasattr(given, name):
            raise TypeError(f"{type(given).__name__}: a world has `{name}`\nhelp: farad.rl.World says what it needs")
    if not isinstance(given.actions, (Discrete, Continuous)):
        raise TypeError(f"{type(given).__name__}: actions are Discrete(choices) or Continuous(numbers)")
    discrete = isinstance(given.actions, Discrete)
    return _farad.World.written(_Recorder(given), given.observations, discrete, given.actions[0], given.longest)


#: The worlds of the library, and what they are.
WORLDS = dict(_farad.world_table())


def settings() -> dict[str, str]:
    """What a training can be told, and what it does."""
    return dict(_farad.agent_settings())


def learner(given: Any, algorithm: str = "ppo", device: Any = None, **options: Any) -> Learner:
    """Agents before their first update, by `ppo`, `es` or `cma`. Each `update()` is one submission."""
    unknown = sorted(set(options) - set(settings()))
    if unknown:
        raise TypeError(f"learner: there are no settings {unknown}\nhelp: farad.rl.settings() lists them")
    pairs = [(key, ",".join(map(_text, value)) if isinstance(value, (list, tuple)) else _text(value))
             for key, value in options.items()]
    return Learner(world(given, device), algorithm, pairs, device)


class Trained(NamedTuple):
    """Agents, the world that they learned in, and the curves: each an array `[updates, seeds]`."""

    agents: Agents
    world: _farad.World
    curves: dict[str, numpy.ndarray]

    def returns(self, worlds: int = 100, device: Any = None) -> numpy.ndarray:
        """Sums of rewards of one episode in each of so many worlds, `[seeds, worlds]`."""
        return self.agents.returns(self.world, worlds, device)[0].numpy(copy=True)


def train(
    given: Any,
    algorithm: str = "ppo",
    *,
    updates: int = 100,
    device: Any = None,
    progress: bool | Callable = True,
    goal: float | None = None,
    **options: Any,
) -> Trained:
    """Trains agents in a world. With a goal, training ends when the mean return of all seeds reaches it. A world that explodes is an
    error that names step and body.
    """
    made = world(given, device)
    agent = learner(made, algorithm, device, updates=updates, **options)
    bar = ProgressBar(f"{type(given).__name__ if not isinstance(given, str) else given} by {algorithm}") if progress is True else None
    rows: list = []
    place = agent.columns.index("return")
    try:
        for done in range(1, updates + 1):
            row = agent.update().numpy(copy=True)
            if not numpy.isfinite(row).all():
                agent.check()
            rows.append(row)
            mean = float(row[:, place].mean())
            if bar is not None:
                bar(done, updates, [], f"return {mean:.1f}")
            elif callable(progress):
                progress(done, updates, row)
            if goal is not None and row[:, place].min() >= goal:
                break
    finally:
        if bar is not None:
            bar.close()
    table = numpy.stack(rows) if rows else numpy.zeros((0, 1, len(agent.columns)), dtype=numpy.float32)
    return Trained(agent.agents(), made, {name: table[:, :, at] for at, name in enumerate(agent.columns)})


__all__ = ["Agents", "Continuous", "Discrete", "Learner", "Trained", "WORLDS", "World", "learner", "settings", "train", "world"]
