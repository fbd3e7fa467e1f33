"""Gradients of functions, and loops that are recorded once."""

from __future__ import annotations

import builtins
import contextlib
from typing import Any, Callable, Iterator, Sequence

from . import _farad
from ._creation import asarray
from ._farad import Array, Parameter


def _leaves(tree: Any, found: list) -> Any:
    """The arrays in lists, tuples, dictionaries and parameters, and a function that puts others in their places."""
    if isinstance(tree, Parameter):
        place = len(found)
        found.append(tree.value)
        return lambda values: values[place]
    if isinstance(tree, Array):
        place = len(found)
        found.append(tree)
        return lambda values: values[place]
    if isinstance(tree, dict):
        parts = {key: _leaves(part, found) for key, part in tree.items()}
        return lambda values: {key: build(values) for key, build in parts.items()}
    if isinstance(tree, (list, tuple)):
        builds = [_leaves(part, found) for part in tree]
        kind = type(tree)
        if hasattr(tree, "_fields"):
            return lambda values: kind(*(build(values) for build in builds))
        return lambda values: kind(build(values) for build in builds)
    return lambda values: tree


#: What to write where a function's argument is a model.
GRADIENTS_OF_MODELS = "lists and dictionaries of arrays may stand there; of a model: opt.gradients(loss)"


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: builtins.bool = False
) -> Callable[..., Any]:
    """A function that gives the value of another, and its gradient at an argument or at several.

    Arguments are arrays, or lists, tuples and dictionaries of arrays; gradients have the same form. With `has_aux`
    the function gives a pair, and the gradient is that of the first.

    >>> import farad as fd
    >>> value, slope = fd.value_and_grad(lambda x: (x * x).sum())(fd.array([1.0, 2.0]))
    >>> value.item(), slope.tolist()
    (5.0, [2.0, 4.0])
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def evaluate(*arguments: Any, **keywords: Any) -> Any:
        for number in numbers:
            if not -len(arguments) <= number < len(arguments):
                raise TypeError(f"grad: there is no argument {number} ({len(arguments)} were given)")
        found: list = []
        places = [number % len(arguments) for number in numbers]
        builds = []
        for place in places:
            before = len(found)
            builds.append(_leaves(_arrays(arguments[place]), found))
            if len(found) == before:
                kind = type(arguments[place]).__name__
                raise TypeError(f"grad: there is no array in argument {place}: {kind}\nhelp: {GRADIENTS_OF_MODELS}")
        # New nodes, so that a gradient is asked for at the argument alone, and not at other uses of the same array.
        given = [_apart(x) for x in found]
        changed = list(arguments)
        for place, build in zip(places, builds):
            changed[place] = build(given)
        result = function(*changed, **keywords)
        value = result[0] if has_aux else result
        if not isinstance(value, Array) or value.size != 1:
            raise ValueError("grad: the function must give one number")
        slopes = value.gradient(given)
        trees = tuple(build(slopes) for build in builds)
        return result, trees[0] if isinstance(argnums, int) else trees

    return evaluate


def _apart(x: Array) -> Array:
    """The same numbers as a node of their own."""
    if x.dtype.kind != "real floating":
        raise TypeError(f"grad: gradients are of floats, not of {x.dtype}\nhelp: x.astype(fd.float32)")
    return (x * 1.0).cast(x.dtype)


def _arrays(tree: Any) -> Any:
    if isinstance(tree, (builtins.bool, int, float)):
        return asarray(float(tree))
    return tree


def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: builtins.bool = False) -> Callable:
    """A function that gives the gradient of another.

    >>> import farad as fd
    >>> fd.grad(lambda x: x ** 3)(fd.array(2.0)).item()
    12.0
    """
    evaluate = value_and_grad(function, argnums, has_aux)

    def slope(*arguments: Any, **keywords: Any) -> Any:
        result, slopes = evaluate(*arguments, **keywords)
        return (slopes, result[1]) if has_aux else slopes

    return slope


def scan(
    body: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, reverse: builtins.bool = False
) -> tuple[Any, Any]:
    """Runs `body(carry, x)` once per position of the first axis of `xs`; it gives the next carry and a result.

    The body is recorded once and compiled as a loop. Returns the last carry and the results with a first axis.

    >>> import farad as fd
    >>> total, sums = fd.scan(lambda c, x: (c + x, c + x), fd.array(0.0), fd.array([1.0, 2.0, 3.0]))
    >>> sums.tolist()
    [1.0, 3.0, 6.0]
    """
    carries: list = []
    sequences: list = []
    build_carry, build_x = _leaves(_arrays(init), carries), _leaves(xs, sequences)
    built: dict = {}

    def recorded(carry: list, x: list) -> tuple[list, list]:
        after, result = body(build_carry(carry), build_x(x))
        next_carries: list = []
        results: list = []
        built["carry"], built["result"] = _leaves(after, next_carries), _leaves(result, results)
        if len(next_carries) != len(carries):
            raise ValueError(f"scan: as many carries as before are wanted ({len(next_carries)} vs {len(carries)})")
        return next_carries, results

    last, results = _farad.scan_arrays(recorded, carries, sequences, reverse)
    return built["carry"](last), built["result"](results)


def loop(
    steps: int, body: Callable[[Any, Array], Any], init: Any
) -> Any:
    """Runs `body(carry, number)` so many times; it gives the next carry. The body is recorded once.

    >>> import farad as fd
    >>> fd.loop(10, lambda x, i: x * 2, fd.array(1.0)).item()
    1024.0
    """
    carries: list = []
    build = _leaves(_arrays(init), carries)
    built: dict = {}

    def recorded(carry: list, number: Array) -> tuple[list, list]:
        after: list = []
        built["carry"] = _leaves(body(build(carry), number), after)
        return after, []

    last, _ = _farad.repeat_body(recorded, steps, carries)
    return built["carry"](last)


def checkpoint(body: Callable[[Array], Array], x: Array) -> Array:
    """`body(x)`, whose inner values gradients compute again instead of keeping them."""
    return _farad.checkpoint(body, x)


@contextlib.contextmanager
def mixed(on: builtins.bool = True) -> Iterator[None]:
    """Products that are recorded here round their operands to `float16` and sum in `float32`, on tensor cores where there
    are any; all else stays `float32`. Gradients are taken in the same way, and optimizers scale such a loss.

    >>> import farad as fd
    >>> x = fd.array([[2049.0]])
    >>> with fd.mixed():
    ...     y = x @ fd.array([[1.0]])
    >>> y.item(), y.dtype
    (2048.0, farad.float32)
    """
    before = _farad.set_mixed(on)
    try:
        yield
    finally:
        _farad.set_mixed(before)
