"""Arrays: numpy in and out, indices, operators, errors, threads."""

import pickle
import sys
import threading

import numpy as np
import pytest

import farad as fd

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_in_and_out_keeps_elements(name):
    given = np.array([[0, 1, 2], [3, 100, 5]]).astype(name)
    x = fd.array(given)
    assert str(x.dtype) == name and x.shape == (2, 3)
    np.testing.assert_array_equal(np.asarray(x), given)
    assert np.asarray(x).dtype == given.dtype
    assert x.tolist() == given.tolist()


def test_strides_byte_order_and_read_only_memory_do_not_matter():
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    for given in (base[::2, ::-1], base.T, base.astype(">f4"), np.asfortranarray(base)):
        np.testing.assert_array_equal(np.asarray(fd.array(given)), given)
    base.setflags(write=False)
    np.testing.assert_array_equal(np.asarray(fd.asarray(base)), base)


def test_memory_is_shared_on_the_cpu():
    given = np.arange(8, dtype=np.float32)
    x = fd.asarray(given, copy=False)
    shared = np.asarray(x)
    assert shared.__array_interface__["data"][0] == given.__array_interface__["data"][0]
    assert not shared.flags.writeable
    own = fd.array(given)
    given[0] = 7.0
    assert own.tolist()[0] == 0.0
    assert x.numpy(copy=True).flags.writeable
    with pytest.raises(ValueError, match="a copy is needed"):
        fd.asarray(np.arange(8)[::2], copy=False)
    with pytest.raises(ValueError, match="a copy is needed"):
        fd.asarray(np.array([True]), copy=False)


def test_lent_memory_is_never_written_to():
    given = np.ones(4, dtype=np.float32)
    w = fd.Parameter(fd.asarray(given, copy=False))
    sgd = fd.optim.Sgd([w], learning_rate=0.5)
    for _ in range(3):
        sgd.step((w.value * w.value).sum())
    assert given.tolist() == [1.0] * 4
    assert w.value.tolist() == [0.0] * 4


def test_a_view_keeps_its_numbers_when_the_parameter_changes():
    w = fd.Parameter(fd.ones((4,)))
    sgd = fd.optim.Sgd([w], learning_rate=0.5)
    sgd.step((w.value * w.value).sum() * 0.5)
    before = np.asarray(w.value)
    for _ in range(3):
        sgd.step((w.value * w.value).sum() * 0.5)
    assert before.tolist() == [0.5] * 4


def test_the_owner_lives_as_long_as_the_array():
    import gc
    import weakref

    class Owned(np.ndarray):
        pass

    given = np.arange(4, dtype=np.float32).view(Owned)
    gone = weakref.ref(given)
    x = fd.asarray(given, copy=False) * 2
    del given
    gc.collect()
    assert x.tolist() == [0, 2, 4, 6]
    del x
    gc.collect()
    fd.array([1.0]).tolist()
    assert gone() is None


def test_dlpack_both_ways():
    given = np.arange(6, dtype=np.int32).reshape(2, 3)
    x = fd.from_dlpack(given)
    assert x.tolist() == given.tolist()
    assert np.from_dlpack(x).tolist() == given.tolist()
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


KEYS = [
    0, -1, slice(None), slice(1, 3), slice(None, None, -1), slice(3, None, -2), (0, 1), (slice(None), 2), ..., (..., 1),
    None, (None, 0), (slice(1, 2), None, slice(0, 0)), (1, ..., None), [0, 2], [[0, 1], [2, 3]], ([0, 1], [2, 0]),
    (slice(None), [1, 0, -1]), ([0, 3], slice(None), 1), (0, slice(None), [1, 0]), np.array([True, False, True, False]),
    (np.array([True, False, False, True]), 1), (slice(0, 0),),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indices_are_numpys(key):
    given = np.arange(4 * 5 * 3).reshape(4, 5, 3)
    got = np.asarray(fd.array(given)[key])
    wanted = given[key]
    np.testing.assert_array_equal(got, wanted)
    assert got.shape == wanted.shape


@pytest.mark.parametrize("key", [key for key in KEYS if key is not None], ids=str)
def test_assignment_is_numpys(key):
    given = np.arange(4 * 5 * 3).reshape(4, 5, 3)
    x = fd.array(given)
    value = -np.arange(given[key].size).reshape(given[key].shape)
    given[key] = value
    x[key] = value
    np.testing.assert_array_equal(np.asarray(x), given)
    x[key] = 7
    given[key] = 7
    np.testing.assert_array_equal(np.asarray(x), given)


def test_an_empty_list_is_an_index():
    assert fd.arange(4)[[]].tolist() == []


def test_masks_and_arrays_of_farad_are_indices():
    x = fd.array([[1.0, -2.0], [-3.0, 4.0]])
    assert x[x > 0].tolist() == [1.0, 4.0]
    assert x[fd.array([1, 0]), fd.array([0, -1])].tolist() == [-3.0, -2.0]
    x[x < 0] = 0
    assert x.tolist() == [[1.0, 0.0], [0.0, 4.0]]
    x[[0, 0]] = fd.array([[5.0, 5.0], [6.0, 6.0]])
    assert x.tolist() == [[6.0, 6.0], [0.0, 4.0]]


def test_indices_out_of_range_are_errors():
    x = fd.arange(4)
    for key in (4, -5, [4], [-5], (0, 0), 1.5, "a", [1.5]):
        with pytest.raises((IndexError, TypeError)):
            x[key]
    with pytest.raises(fd.FaradError, match="out of range"):
        x[fd.array([9])].tolist()
    with pytest.raises(fd.FaradError, match="out of range"):
        fd.arange(6).reshape(2, 3)[fd.array([0]), fd.array([3])].tolist()


def test_late_errors_name_the_users_line():
    table = fd.ones((3, 2))
    rows = table.embedding(fd.array([1, 7]))
    line = sys._getframe().f_lineno - 1
    with pytest.raises(fd.FaradError, match=rf"out of range: built at .*test_array\.py:{line}\b"):
        rows.tolist()
    part = table[fd.array([5])]
    line = sys._getframe().f_lineno - 1
    with pytest.raises(fd.FaradError, match=rf"out of range: built at .*test_array\.py:{line}\b"):
        part.tolist()


def test_operators_take_numbers_arrays_and_numpy():
    x, y = fd.array([1.0, 2.0, 4.0]), np.array([2.0, 2.0, 2.0], dtype=np.float32)
    assert (x + 1).tolist() == (1 + x).tolist() == [2.0, 3.0, 5.0]
    assert (1 - x).tolist() == [0.0, -1.0, -3.0]
    assert (8 / x).tolist() == [8.0, 4.0, 2.0]
    assert (x * y).tolist() == (y * x).tolist() == [2.0, 4.0, 8.0]
    assert (2**x).tolist() == [2.0, 4.0, 16.0]
    assert (x @ x).item() == 21.0
    assert (x > 1).tolist() == [False, True, True]
    assert (fd.array([7, -7]) // 2).tolist() == [3, -4]
    assert (fd.array([7, -7]) % 3).tolist() == [1, 2]
    assert (fd.array([2, 3]) ** 5).tolist() == [32, 243]
    x += 1
    assert x.tolist() == [2.0, 3.0, 5.0]
    big = fd.array([1], dtype=fd.int64)
    assert (big + (2**62 + 1)).tolist() == [2**62 + 2]
    assert x.__add__("a") is NotImplemented
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises((OverflowError, TypeError)):
        x + 2**200


def test_unsigned_and_signed_meet_in_64_bits_on_the_cpu():
    a, b = fd.array([2**32 - 1], dtype=fd.uint32), fd.array([-1], dtype=fd.int32)
    assert (a + b).dtype == fd.int64 and (a + b).tolist() == [2**32 - 2]


def test_errors_have_the_librarys_texts():
    with pytest.raises(fd.OpError, match=r"matmul: inner sizes differ: lhs \[2, 3\], rhs \[2, 3\] \(3 vs 2\)"):
        fd.ones((2, 3)) @ fd.ones((2, 3))
    with pytest.raises(ValueError):
        fd.ones((2,)) + fd.ones((3,))
    with pytest.raises(fd.DeviceError, match="device: unknown name: tpu"):
        fd.ones((2,), device="tpu")
    with pytest.raises(fd.FileError):
        fd.load("no/such/file.safetensors")
    with pytest.raises(fd.OpError, match="item"):
        fd.ones((2,)).item()
    assert issubclass(fd.OutOfMemoryError, MemoryError)


@pytest.mark.parametrize(
    "bad",
    [[[1, 2], [3]], ["a"], [None], object(), {"a": 1}, np.array(["a"]), np.array([1j]), np.array([object()]), [[1], 2],
     np.zeros((1,) * 9), np.array(["2020-01-01"], dtype="datetime64[D]")],
    ids=lambda bad: type(bad).__name__,
)
def test_what_is_no_array_is_refused(bad):
    with pytest.raises((TypeError, ValueError)):
        fd.array(bad)


def test_bad_arguments_are_exceptions():
    x = fd.ones((2, 3))
    for call in (
        lambda: x.reshape(-2, 3), lambda: x.reshape(7), lambda: x.sum(axis=5), lambda: x.sum(axis="a"),
        lambda: x.permute_dims([0, 0]), lambda: x.matmul(3), lambda: x.cast("complex64"), lambda: fd.zeros(-1),
        lambda: fd.zeros((2**40, 2**40)), lambda: x.to_device("gpu:99"), lambda: fd.array([300], dtype=fd.uint8),
        lambda: int(x), lambda: bool(x), lambda: len(fd.array(1.0)), lambda: iter(fd.array(1.0)), lambda: x.conv2d(x),
        lambda: fd.nn.Linear(2), lambda: fd.nn.Linear(2, 3, biass=True), lambda: fd.nn.Linear(-1, 2),
        lambda: fd.optim.Sgd([x]), lambda: fd.optim.Sgd([], rate=1), lambda: fd.Array(), lambda: fd.concat([]),
        lambda: fd.arange(0, 1, 0), lambda: x.gradient(3), lambda: fd.random.bernoulli(2.0, (2,)),
    ):
        with pytest.raises(Exception) as caught:
            call()
        assert not type(caught.value).__name__.startswith("Panic"), caught.value


def test_empty_and_scalar_arrays():
    assert fd.zeros((0, 3)).tolist() == []
    assert fd.zeros((0, 3)).sum().item() == 0.0
    assert fd.array(2.5).shape == () and float(fd.array(2.5)) == 2.5
    assert np.asarray(fd.zeros((2, 0))).shape == (2, 0)
    assert fd.array([]).dtype == fd.float32


def test_arrays_show_themselves():
    x = fd.array([[1.0, 2.0]])
    assert repr(x) == "Array([[1., 2.]], dtype=float32)"
    assert "<table>" in x._repr_html_() and "float32[1, 2]" in x._repr_html_()
    assert "…" in fd.zeros((30, 30))._repr_html_()
    assert repr(fd.zeros((2000, 2000))) == "Array(shape=(2000, 2000), dtype=float32)"


def test_arrays_are_pickled():
    x = fd.array([[1, 2], [3, 4]])
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(fd.float32)) == fd.float32


def test_threads_share_arrays():
    x = fd.random.uniform((64, 64))
    wanted = (x @ x).sum().item()
    found, failed = [], []

    def work():
        try:
            for _ in range(20):
                found.append((x @ x).sum().item())
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and found == [wanted] * 80


def test_the_interpreter_is_free_while_the_device_works():
    x = fd.random.uniform((700, 700))
    for _ in range(5):
        x = x @ x * 1e-3
    ticks, stop = [0], threading.Event()

    def tick():
        while not stop.is_set():
            ticks[0] += 1
            stop.wait(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks[0]
    x.sum().item()
    passed = ticks[0] - before
    stop.set()
    thread.join()
    assert passed > 3


def test_gpu_arrays_when_there_is_one():
    try:
        x = fd.array([1.0, 2.0], device="gpu")
    except fd.DeviceError as error:
        pytest.skip(f"there is no GPU: {error}")
    assert x.device.is_gpu and (x * 2).tolist() == [2.0, 4.0]
    assert np.asarray(x.to_device("cpu")).tolist() == [1.0, 2.0]
    with pytest.raises(fd.FaradError):
        fd.array(np.array([1.0]), device="gpu")
    w = fd.Parameter(x)
    fd.optim.Sgd([w], learning_rate=0.5).step((w * w).sum() * 0.5)
    assert w.value.tolist() == [0.5, 1.0]
    lost = fd.array([1.0], device="gpu")
    lost.device.close()
    with pytest.raises(fd.FaradError):
        (lost + 1).tolist()
    assert fd.array([3.0], device="gpu").tolist() == [3.0]
