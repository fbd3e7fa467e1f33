"""Random arrays. Without a key they are the device's next numbers; a key gives the same numbers every time.

>>> import farad as fd
>>> key = fd.random.key(3)
>>> fd.random.uniform((2,), key=key).tolist() == fd.random.uniform((2,), key=key).tolist()
True
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from . import _dtypes as dt
from . import _farad
from ._creation import arange, asarray, zeros
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


def integers(
    low: int, high: int | None = None, shape: int | Sequence[int] = (), *, key: Key | None = None, device: Any = None
) -> Array:
    """Random whole numbers from `low` to below `high`, or from 0 to below `low` (`int32`).

    >>> import farad as fd
    >>> x = fd.random.integers(1, 7, (100,), key=fd.random.key(1))
    >>> x.min().item(), x.max().item()
    (1, 6)
    """
    low, high = (0, low) if high is None else (low, high)
    if not -(2**31) <= low < high <= 2**31:
        raise ValueError(f"integers: low is below high, and both fit into int32 ({low} vs {high})")
    numbers = bits(shape, key=key, device=device)
    if high - low < 2**32:
        numbers = numbers % (high - low)
    start = low if low < 2**31 else low - 2**32
    return numbers.cast(dt.int32) + start


def permutation(x: Any, *, key: Key | None = None, device: Any = None) -> Array:
    """The numbers from 0 to below `x` in random order, or the slices of an array along its first axis.

    >>> import farad as fd
    >>> sorted(fd.random.permutation(4).tolist())
    [0, 1, 2, 3]
    """
    if isinstance(x, int):
        return bits((x,), key=key, device=device).argsort() if x else bits((0,), device=device).cast(dt.int32)
    x = asarray(x, device=device)
    return x.take(permutation(x.shape[0], key=key, device=x.device), axis=0)


def categorical(logits: Any, shape: Sequence[int] | None = None, *, key: Key | None = None) -> Array:
    """Classes drawn by their logits along the last axis (`int32`). `shape` goes before the logits' other axes.

    >>> import farad as fd
    >>> fd.random.categorical(fd.array([-50.0, 50.0]), (3,)).tolist()
    [1, 1, 1]
    """
    logits = asarray(logits)
    drawn = uniform((*(shape or ()), *logits.shape), key=key, device=logits.device)
    return (logits - (-(drawn.maximum(1e-38).log())).log()).argmax(axis=-1)


def choice(
    x: Any, shape: int | Sequence[int] = (), replace: bool = True, p: Any = None, *, key: Key | None = None, device: Any = None
) -> Array:
    """Elements of an array, or numbers from 0 to below `x`; alike, or with probabilities."""
    x = arange(x, device=device) if isinstance(x, int) else asarray(x, device=device)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    count = 1
    for size in shape:
        count *= size
    if not replace:
        if count > x.shape[0]:
            raise ValueError(f"choice: more are wanted than there are ({count} vs {x.shape[0]})")
        logits = asarray(p, device=x.device).log() if p is not None else zeros((x.shape[0],), device=x.device)
        drawn = uniform((x.shape[0],), key=key, device=x.device).maximum(1e-38)
        places = (logits - (-(drawn.log())).log()).argsort(descending=True)[:count].reshape(shape)
    elif p is not None:
        places = categorical(asarray(p, device=x.device).log(), shape, key=key)
    else:
        places = integers(0, x.shape[0], shape, key=key, device=x.device)
    return x.take(places, axis=0)


#: Names of numpy.random, and what to write.
INSTEAD = {
    "rand": "fd.random.uniform(shape)", "random": "fd.random.uniform(shape)", "randn": "fd.random.normal(shape)",
    "standard_normal": "fd.random.normal(shape)", "randint": "fd.random.integers(low, high, shape)",
    "shuffle": "x = fd.random.permutation(x)", "default_rng": "fd.random.key(seed)", "PRNGKey": "fd.random.key(seed)",
    "gumbel": "fd.random.categorical(logits)", "multinomial": "fd.random.categorical(logits)",
}


def __getattr__(name: str) -> Any:
    from ._habits import hint

    raise hint("farad.random", name, INSTEAD)


def seed(number: int) -> None:
    """Starts the random numbers of new layers and of the CPU again from a seed."""
    _farad.seed(number)
