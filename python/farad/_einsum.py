"""Sums over products by the letters of axes: `einsum`. It is made of products of matrices, so it is lazy and has gradients."""

from __future__ import annotations

from typing import Any

from . import _dtypes as dt
from ._creation import arange, asarray
from ._farad import Array
from ._manipulation import broadcast_arrays

#: Letters for the axes of an ellipsis.
SPARE = "αβγδεζηθ"


def _parsed(subscripts: str, arrays: list[Array]) -> tuple[list[str], str]:
    """The letters of every operand and of the result; an ellipsis is letters, too."""
    text = subscripts.replace(" ", "")
    given, arrow, wanted = text.partition("->")
    terms = given.split(",")
    if len(terms) != len(arrays):
        raise ValueError(f"einsum: {subscripts!r} names other operands than are given ({len(terms)} vs {len(arrays)})")
    longest = ""
    for place, (term, x) in enumerate(zip(terms, arrays)):
        if "..." in term:
            count = x.ndim - (len(term) - 3)
            if not 0 <= count <= len(SPARE):
                raise ValueError(f"einsum: operand {place} has {x.ndim} axes, {term!r} names {len(term) - 3}")
            letters = SPARE[len(SPARE) - count :] if count else ""
            longest = max(longest, letters, key=len)
            terms[place] = term = term.replace("...", letters)
        if len(term) != x.ndim or not all(letter.isalpha() for letter in term):
            raise ValueError(f"einsum: operand {place} has {x.ndim} axes, {term!r} names {len(term)}")
    if arrow:
        wanted = wanted.replace("...", longest)
    else:
        every = "".join(terms)
        wanted = longest + "".join(sorted(letter for letter in set(every) - set(longest) if every.count(letter) == 1))
    if len(set(wanted)) != len(wanted) or not set(wanted) <= set("".join(terms)):
        raise ValueError(f"einsum: the result {wanted!r} names an axis twice, or one that no operand has")
    return terms, wanted


def _diagonal(x: Array, letters: str) -> tuple[Array, str]:
    """An operand in which every letter is one axis."""
    for letter in set(letters):
        while letters.count(letter) > 1:
            first, second = letters.index(letter), letters.rindex(letter)
            if x.shape[first] != x.shape[second]:
                raise ValueError(f"einsum: sizes of {letter!r} differ ({x.shape[first]} vs {x.shape[second]})")
            order = [axis for axis in range(x.ndim) if axis not in (first, second)] + [first, second]
            numbers = arange(x.shape[first], device=x.device)
            x = x.permute_dims(order)[..., numbers, numbers] if x.ndim > 2 else x[numbers, numbers]
            letters = "".join(letters[axis] for axis in order[:-1])
    return x, letters


def _summed(x: Array, letters: str, kept: set) -> tuple[Array, str]:
    """Axes that nobody else names are summed."""
    lost = [axis for axis, letter in enumerate(letters) if letter not in kept]
    return (x.sum(axis=lost, dtype=x.dtype), "".join(one for one in letters if one in kept)) if lost else (x, letters)


def _product(x: Array, a: str, y: Array, b: str, kept: set) -> tuple[Array, str]:
    """Two operands as one: a product of matrices over the letters that end here."""
    sizes: dict[str, int] = {}
    for array, letters in ((x, a), (y, b)):
        for letter, size in zip(letters, array.shape):
            if sizes.setdefault(letter, size) not in (size, 1) and size != 1:
                raise ValueError(f"einsum: sizes of {letter!r} differ ({sizes[letter]} vs {size})")
            sizes[letter] = max(sizes[letter], size) if size != 0 else 0
    both = [letter for letter in a if letter in b]
    batch, inner = [one for one in both if one in kept], [one for one in both if one not in kept]
    rows, columns = [one for one in a if one not in b], [one for one in b if one not in a]

    def placed(array: Array, letters: str, first: list, second: list) -> Array:
        array = array.permute_dims([letters.index(one) for one in batch + first + second])
        array = array.broadcast_to([sizes[one] for one in batch + first + second])
        return array.reshape([_size(batch, sizes), _size(first, sizes), _size(second, sizes)])

    left, right = placed(x, a, rows, inner), placed(y, b, inner, columns)
    whole = left @ right if inner else left * right
    return whole.reshape([sizes[one] for one in batch + rows + columns]), "".join(batch + rows + columns)


def _size(letters: list, sizes: dict[str, int]) -> int:
    size = 1
    for letter in letters:
        size *= sizes[letter]
    return size


def einsum(subscripts: str, *operands: Any) -> Array:
    """Products of operands, summed over the axes that the result does not name.

    >>> import farad as fd
    >>> x = fd.arange(6).reshape(2, 3)
    >>> fd.einsum("ij->j", x).tolist()
    [3, 5, 7]
    >>> fd.einsum("ij,kj->ik", x, x).tolist()
    [[5, 14], [14, 50]]
    """
    arrays = [asarray(operand) for operand in operands]
    terms, wanted = _parsed(subscripts, arrays)
    kind = dt.result_type(*(x.dtype for x in arrays))
    pairs = [_diagonal(x.cast(kind), term) for x, term in zip(arrays, terms)]
    x, letters = pairs[0]
    for place, (y, more) in enumerate(pairs[1:], 1):
        later = set(wanted).union(*(term for _, term in pairs[place + 1 :]))
        x, letters = _summed(x, letters, later | set(more))
        y, more = _summed(y, more, later | set(letters))
        x, letters = _product(x, letters, y, more, later)
    x, letters = _summed(x, letters, set(wanted))
    return x.permute_dims([letters.index(one) for one in wanted]) if letters != wanted else x


def isclose(x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """Where two arrays are nearly equal: `|x1 - x2| <= atol + rtol · |x2|`."""
    a, b = broadcast_arrays(asarray(x1), asarray(x2))
    kind = dt.result_type(a.dtype, b.dtype, 1.0)
    a, b = a.cast(kind), b.cast(kind)
    near = (a == b) | (b.isfinite() & (abs(a - b) <= atol + rtol * abs(b)))
    return near | (a.isnan() & b.isnan()) if equal_nan else near


def allclose(x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether two arrays are nearly equal everywhere. The elements are read.

    >>> import farad as fd
    >>> fd.allclose(fd.array([1.0]), fd.array([1.0 + 1e-7]))
    True
    """
    return bool(isclose(x1, x2, rtol, atol, equal_nan).all().item())


def array_equal(x1: Any, x2: Any) -> bool:
    """Whether two arrays have one shape and the same elements. The elements are read."""
    a, b = asarray(x1), asarray(x2)
    return a.shape == b.shape and bool((a == b).all().item())
