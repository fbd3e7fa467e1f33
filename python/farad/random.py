"""Random arrays. Without a key they are the device's next numbers; a key gives the same numbers every time.

>>> import farad as fd
>>> key = fd.random.key(3)
>>> fd.random.uniform((2,), key=key).tolist() == fd.random.uniform((2,), key=key).tolist()
True
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from . import _farad
from ._farad import Array, Device


class Key(NamedTuple):
    """A seed and a place among its numbers."""

    seed: int
    place: int = 0

    def fold_in(self, number: int) -> "Key":
        """The key at another place."""
        return Key(self.seed, self.place + number)


def key(seed: int) -> Key:
    """The first key of a seed."""
    if not 0 <= seed < 2**64:
        raise ValueError(f"key: a seed is between 0 and 2^64: {seed}")
    return Key(seed, 0)


def split(key: Key, count: int = 2) -> list[Key]:
    """Keys for so many arrays. No two have the same place."""
    return [Key(key.seed, key.place * count + 1 + number) for number in range(count)]


def bits(shape: int | Sequence[int], *, key: Key | None = None, device: Device | str | None = None) -> Array:
    """Random whole numbers of 32 bits (`uint32`)."""
    return _farad.random("bits", shape, key=key, device=device)


def uniform(
    shape: int | Sequence[int] = (),
    low: float = 0.0,
    high: float = 1.0,
    *,
    key: Key | None = None,
    device: Device | str | None = None,
) -> Array:
    """Random numbers between two others."""
    numbers = _farad.random("uniform", shape, key=key, device=device)
    return numbers if (low, high) == (0.0, 1.0) else numbers * (high - low) + low


def normal(
    shape: int | Sequence[int] = (), mean: float = 0.0, std: float = 1.0, *, key: Key | None = None, device: Any = None
) -> Array:
    """Normal random numbers."""
    numbers = _farad.random("normal", shape, key=key, device=device)
    return numbers if (mean, std) == (0.0, 1.0) else numbers * std + mean


def bernoulli(
    probability: float, shape: int | Sequence[int] = (), *, key: Key | None = None, device: Any = None
) -> Array:
    """Truth values that are true with a probability."""
    return _farad.random("mask", shape, key=key, probability=probability, device=device)


def seed(number: int) -> None:
    """Starts the random numbers of new layers and of the CPU again from a seed."""
    _farad.seed(number)
