"""Habits of numpy and PyTorch, and bad input: exceptions that say what to write, never a crash."""

import threading

import numpy as np
import pytest

import farad as fd


@pytest.mark.parametrize("name, wanted", [("backward", "opt.step"), ("cpu", "to_device"), ("view", "reshape"), ("numel", "x.size")])
def test_arrays_say_what_to_write_instead(name, wanted):
    with pytest.raises(AttributeError, match=wanted):
        getattr(fd.ones((2,)), name)


def test_the_module_says_what_to_write_instead():
    with pytest.raises(AttributeError, match="fd.array"):
        fd.tensor([1.0])
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        fd.nothing_like_it
    assert not hasattr(fd.ones((2,)), "nothing_like_it")


def test_names_of_numpy_that_fit():
    x = fd.array([[1.0, 2.0], [3.0, 4.0]])
    assert (x.itemsize, x.nbytes) == (4, 16)
    kept = x.copy()
    x[0, 0] = 9
    assert kept[0, 0].item() == 1.0
    assert f"{kept[0, 1]:.2f}" == "2.00" and f"{kept}" == str(kept)
    assert fd.concatenate([kept, kept]).shape == (4, 2)


def test_arrays_go_from_thread_to_thread():
    made = []
    thread = threading.Thread(target=lambda: made.append(fd.arange(4) * 2))
    thread.start()
    thread.join()
    assert (made[0] + 1).tolist() == [1, 3, 5, 7]


def test_an_array_that_is_assigned_to_by_threads_stays_whole():
    x = fd.zeros((8,))
    wrong = []

    def work(number):
        try:
            for _ in range(50):
                x[number] = number
        except RuntimeError:
            pass  # two at once may be refused
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and set(x.tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("given", [np.ma.masked_array([1.0]), np.array([1.0], dtype=np.longdouble), np.zeros(2, dtype="V4"), {1, 2}])
def test_foreign_things_are_arrays_or_exceptions(given):
    try:
        fd.array(given).tolist()
    except (TypeError, ValueError):
        return
    assert np.asarray(given).dtype.kind == "f"
