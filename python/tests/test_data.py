"""Data sets and the loader."""

import numpy as np
import pytest

import farad as fd
from farad import data


def test_batches_cover_an_epoch_and_come_again():
    x, y = np.arange(20, dtype=np.float32).reshape(10, 2), np.arange(10, dtype=np.int32)
    loader = data.DataLoader(data.arrays(x, y), 4)
    assert len(loader) == 3
    for _ in range(2):
        batches = list(loader)
        assert [len(b) for b, _ in batches] == [4, 4, 2]
        np.testing.assert_array_equal(np.concatenate([np.asarray(b) for b, _ in batches]), x)
    assert [len(b) for b, _ in data.DataLoader(data.arrays(x, y), 4, drop_last=True)] == [4, 4]


def test_shuffled_batches_are_the_seeds_and_differ_by_epoch():
    def order(seed):
        loader = data.DataLoader(data.arrays(np.zeros((50, 1), dtype=np.float32), np.arange(50, dtype=np.int32)), 50, shuffle=seed)
        return [next(iter(loader))[1].tolist() for _ in range(1)] + [y.tolist() for _, y in loader]

    assert order(1) == order(1) and order(1) != order(2)
    assert sorted(order(1)[0]) == list(range(50))


@pytest.mark.parametrize("name", [name for name in data.DATA_SETS if name not in ("arrays", "mnist", "fashion_mnist", "cifar10")])
def test_every_drawn_set_has_samples(name):
    made = getattr(data, name)(30)
    assert len(made) == 30
    x, y = next(iter(data.DataLoader(made, 30)))
    assert len(x) == len(y) == 30 and np.isfinite(np.asarray(x, dtype=np.float32)).all()


def test_bad_data_are_exceptions(tmp_path):
    with pytest.raises(fd.FaradError):
        data.arrays(np.zeros((3, 1), dtype=np.float32), np.zeros(4, dtype=np.int32))
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(fd.FaradError):
            data.mnist(folder)
    with pytest.raises(ValueError):
        data.mnist(tmp_path, split="all")
    with pytest.raises(TypeError):
        data.moons()
    with pytest.raises(Exception):
        data.DataLoader(data.moons(4), 0)
