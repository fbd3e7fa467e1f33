"""Numpy's functions on arrays of Farad, `einsum`, `linalg`, mixed precision, keys, and what shows itself."""

import math
import struct
import zlib

import numpy as np
import pytest

import farad as fd
from farad import nn

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], dtype=np.float32)

CALLS = {
    "sum": lambda a: np.sum(a, axis=1), "sum of all": lambda a: np.sum(a), "mean": lambda a: np.mean(a, axis=0, keepdims=True),
    "max": lambda a: np.max(a, axis=-1), "argmin": lambda a: np.argmin(a, axis=1), "std": lambda a: np.std(a, ddof=1), "var": lambda a: np.var(a, axis=0),
    "cumsum": lambda a: np.cumsum(a), "cumprod": lambda a: np.cumprod(a, axis=1), "sort": lambda a: np.sort(a, axis=0),
    "argsort": lambda a: np.argsort(a), "exp": lambda a: np.exp(a), "abs": lambda a: np.abs(a), "arctan": lambda a: np.arctan(a),
    "maximum": lambda a: np.maximum(a, 0), "power": lambda a: np.power(a, 2), "add": lambda a: np.add(X, a), "where": lambda a: np.where(a > 0, a, 0),
    "clip": lambda a: np.clip(a, -1, 2), "concatenate": lambda a: np.concatenate([a, X], axis=1), "stack": lambda a: np.stack([a, a]),
    "reshape": lambda a: np.reshape(a, (3, 2)), "transpose": lambda a: np.transpose(a), "expand_dims": lambda a: np.expand_dims(a, 1),
    "squeeze": lambda a: np.squeeze(a[None]), "flip": lambda a: np.flip(a, axis=1), "roll": lambda a: np.roll(a, 1), "tile": lambda a: np.tile(a, 2),
    "repeat": lambda a: np.repeat(a, 2, axis=0), "take": lambda a: np.take(a, [0, 2], axis=1), "dot": lambda a: np.dot(a, X.T),
    "matmul": lambda a: np.matmul(a, X.T), "outer": lambda a: np.outer(a, a), "tensordot": lambda a: np.tensordot(a, X, axes=([1], [1])),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, X), "diff": lambda a: np.diff(a), "trace": lambda a: np.trace(a[:, :2]),
    "broadcast_to": lambda a: np.broadcast_to(a, (2, 2, 3)), "swapaxes": lambda a: np.swapaxes(a, 0, 1), "moveaxis": lambda a: np.moveaxis(a, 0, 1),
    "zeros_like": lambda a: np.zeros_like(a), "full_like": lambda a: np.full_like(a, 3), "isclose": lambda a: np.isclose(a, X),
    "round": lambda a: np.round(a), "count_nonzero": lambda a: np.count_nonzero(a, axis=0), "any": lambda a: np.any(a > 3, axis=1),
    "prod": lambda a: np.prod(a, axis=0), "greater": lambda a: np.greater(a, X), "isnan": lambda a: np.isnan(a),
}


@pytest.mark.parametrize("name", CALLS)
def test_numpys_functions_give_arrays_of_farad(name):
    got, wanted = CALLS[name](fd.array(X)), CALLS[name](X)
    assert isinstance(got, fd.Array)
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=2e-6, atol=1e-6)
    assert got.shape == wanted.shape


def test_what_farad_has_not_is_numpys():
    x = fd.array(X)
    assert isinstance(np.median(x), np.floating) and np.median(x) == np.median(X)
    np.testing.assert_array_equal(np.histogram(x, bins=3)[0], np.histogram(X, bins=3)[0])
    np.testing.assert_allclose(np.linalg.svd(x)[1], np.linalg.svd(X)[1])
    assert np.add.reduce(x).tolist() == np.add.reduce(X).tolist()
    assert np.sum(x, initial=5.0) == np.sum(X, initial=5.0)
    assert np.allclose(x, X) is True and np.array_equal(x, X) is True and np.shape(x) == (2, 3)
    out = np.zeros_like(X)
    out += x
    assert isinstance(out, np.ndarray) and out.tolist() == X.tolist()
    with pytest.raises(TypeError, match="cannot write into"):
        np.exp(X, out=fd.array(X))


def test_numpys_functions_have_gradients():
    slope = fd.grad(lambda x: np.sum(np.exp(x) * 2))(fd.array([0.0, 1.0]))
    np.testing.assert_allclose(slope.tolist(), [2.0, 2 * math.e], rtol=1e-6)


SUMS = ["ij->ji", "ij->", "ij->i", "ij,jk->ik", "ij,jk", "bij,bjk->bik", "i,j->ij", "ii->i", "ii", "ij,ij->", "bij,b->ij", "ijk,kl,il->jl",
        "...ij,...jk->...ik", "a...,b...->ab...", "iij->j", "ij,ij,ij->j", "ab,cd->acbd"]


@pytest.mark.parametrize("text", SUMS)
def test_einsum_is_numpys(text):
    sizes = dict(zip("abcdijkl", (2, 3, 4, 5, 3, 2, 4, 5)), b=2)
    if any(term in text for term in ("ii",)):
        sizes["i"] = 3
    drawn = np.random.default_rng(1)
    terms = text.split("->")[0].split(",")
    shapes = [tuple((2, 4) if letter == "." else (sizes[letter],) for letter in term.replace("...", ".")) for term in terms]
    given = [drawn.normal(size=sum(shape, ())).astype(np.float32) for shape in shapes]
    got = fd.einsum(text, *(fd.array(one) for one in given))
    wanted = np.einsum(text, *given)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5, atol=1e-5)


def test_einsum_refuses_what_is_wrong_and_has_gradients():
    x, y = fd.ones((2, 3)), fd.ones((4, 5))
    for bad in ("ij", "ij,jk->ik", "ijk,ij->i", "ij,kl->ii", "ij,kl->m", "i1,kl->k"):
        with pytest.raises(ValueError, match="einsum"):
            fd.einsum(bad, x, y)
    assert fd.grad(lambda a: fd.einsum("ij,ij->", a, a))(x).tolist() == [[2.0] * 3] * 2


def test_nearly_equal():
    assert fd.allclose([1.0, np.inf], [1.0 + 1e-7, np.inf]) and not fd.allclose([1.0], [1.1])
    assert not fd.allclose([np.nan], [np.nan]) and fd.allclose([np.nan], [np.nan], equal_nan=True)
    assert fd.isclose([1.0, 2.0], [1.0, 3.0]).tolist() == [True, False]
    assert fd.array_equal([1, 2], [1, 2]) and not fd.array_equal([1, 2], [1, 2, 3])


def test_linear_algebra_is_numpys():
    square = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 2.0], [3.0, 1.0, 1.0]], dtype=np.float32)
    x, s = fd.array(X), fd.array(square)
    for order in (None, 1, -1, np.inf, -np.inf, "fro"):
        np.testing.assert_allclose(fd.linalg.norm(s, order).item(), np.linalg.norm(square, order), rtol=1e-6)
    for order in (0, 1, 2, 3, np.inf, -np.inf):
        np.testing.assert_allclose(np.asarray(fd.linalg.norm(x, order, axis=1)), np.linalg.norm(X, order, axis=1), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(fd.linalg.matrix_power(s, 5)), np.linalg.matrix_power(square, 5), rtol=1e-4)
    for offset in (-1, 0, 1, 5):
        np.testing.assert_array_equal(np.asarray(fd.linalg.diagonal(x, offset=offset)), np.diagonal(X, offset))
    assert fd.linalg.trace(s).item() == 1.0
    np.testing.assert_allclose(np.asarray(fd.linalg.cross(s, s[::-1])), np.cross(square, square[::-1]), rtol=1e-6)
    assert fd.linalg.outer([1.0, 2.0], [3.0, 4.0]).tolist() == [[3.0, 4.0], [6.0, 8.0]]


@pytest.mark.parametrize("name", fd.linalg.ABSENT)
def test_decompositions_say_what_to_write(name):
    with pytest.raises(AttributeError, match=f"numpy.linalg.{name}"):
        getattr(fd.linalg, name)
    assert hasattr(np.linalg, name) or name == "svdvals"


def test_mixed_precision_rounds_products_only():
    a, b = fd.array([[2049.0]]), fd.array([[1.0]])
    with fd.mixed():
        assert (a @ b).item() == 2048.0 and (a + 0).item() == 2049.0
        with fd.mixed(False):
            assert (a @ b).item() == 2049.0
        assert nn.Linear(1, 1)(a).dtype == fd.float32
    assert (a @ b).item() == 2049.0

    @fd.mixed()
    def product():
        return a @ b

    assert product().item() == 2048.0 and (a @ b).item() == 2049.0
    with pytest.raises(ZeroDivisionError), fd.mixed():
        1 / 0
    assert (a @ b).item() == 2049.0


def test_mixed_precision_learns_and_counts_overflows():
    fd.seed(2)
    model = nn.Sequential(nn.Linear(2, 16), nn.Relu(), nn.Linear(16, 1))
    opt = fd.optim.AdamW(model.parameters(), learning_rate=0.02)
    x = fd.random.uniform((64, 2)).detach()
    y = x.sum(axis=1, keepdims=True)
    for _ in range(200):
        with fd.mixed():
            loss = model(x).mean_squared_error(y)
        opt.step(loss)
    assert loss.item() < 0.01 and opt.overflows() <= 3
    with fd.mixed():
        opt.step(model(x * 1e6).mean_squared_error(y))
    assert opt.overflows() >= 1 and np.isfinite(np.asarray(model(x))).all()


def test_keys_give_normal_numbers_and_masks():
    key = fd.random.key(5)
    x = fd.random.normal((4000,), key=key)
    assert x.tolist() == fd.random.normal((4000,), key=key).tolist()
    assert x.tolist() != fd.random.normal((4000,), key=key.fold_in(1)).tolist()
    assert abs(x.mean().item()) < 0.05 and abs(x.std().item() - 1) < 0.05
    shifted = fd.random.normal((2, 2000), 3.0, 0.5, key=key)
    assert fd.allclose(shifted.ravel(), x * 0.5 + 3.0)
    mask = fd.random.bernoulli(0.3, (5000,), key=key)
    assert mask.tolist() == fd.random.bernoulli(0.3, (5000,), key=key).tolist() and 0.25 < mask.mean().item() < 0.35
    assert fd.random.normal((0, 3), key=key).shape == (0, 3)


def chunks(content):
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, found = 8, []
    while at < len(content):
        size, kind = struct.unpack(">I4s", content[at : at + 8])
        body = content[at + 8 : at + 8 + size]
        assert struct.unpack(">I", content[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        found.append((kind, body))
        at += 12 + size
    return found


def test_pictures_and_films_are_png(tmp_path):
    picture = fd.show.Picture(fd.array([[0.0, 1.0], [0.5, 2.0]]), scale=1)
    parts = dict(chunks(picture._repr_png_()))
    assert parts[b"IHDR"][:8] == struct.pack(">II", 2, 2)
    assert zlib.decompress(parts[b"IDAT"]) == b"\0\0\xff\0\x80\xff"
    assert fd.show.Picture(np.zeros((3, 4, 3), dtype=np.uint8)).pixels.shape == (144, 192, 3)
    film = fd.show.Film(np.eye(3, dtype=bool)[None].repeat(4, axis=0), scale=1)
    kinds = [kind for kind, _ in chunks(film._repr_png_())]
    assert kinds == [b"IHDR", b"acTL", b"fcTL", b"IDAT"] + [b"fcTL", b"fdAT"] * 3 + [b"IEND"]
    assert picture.save(tmp_path / "a.png").read_bytes() == picture._repr_png_()
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    for bad in (np.zeros(3), np.zeros((2, 2, 4)), np.zeros((0, 2)), np.array([["a"]])):
        with pytest.raises((ValueError, TypeError)):
            fd.show.Picture(bad)


def test_charts_are_drawn():
    chart = fd.show.Chart({"loss": ([0, 10, 20], [1.0, 0.5, 0.25]), "other": [3.0, 2.0]}, title="Both")
    assert chart._repr_html_().startswith("<svg") and "Both" in chart.svg and "other" in chart.svg
    with pytest.raises(ValueError, match="as many steps"):
        fd.show.Chart({"a": ([0, 1], [1.0])})
