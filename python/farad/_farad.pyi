"""The compiled part of the package. Written by scripts/stubs."""

from os import PathLike
from typing import Any, Callable, Iterator, Sequence

import numpy

Number = bool | int | float
Shape = int | Sequence[int]

class DType:
    name: str
    itemsize: int
    kind: str

class Device:
    def __init__(self, device: Device | str) -> None: ...
    name: str
    is_gpu: bool
    is_lost: bool
    random_state: tuple[int, int]
    def seed(self, seed: int) -> None: ...
    def synchronize(self) -> None: ...
    def close(self) -> None: ...
    def counters(self) -> dict[str, int]: ...

class Parameter:
    def __init__(self, value: Any) -> None: ...
    value: Array
    frozen: bool
    def freeze(self) -> None: ...
    def unfreeze(self) -> None: ...
    def to(self, device: Device | str) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class Array:
    shape: tuple[int, ...]
    ndim: int
    size: int
    dtype: DType
    device: Device
    itemsize: int
    nbytes: int
    T: Array
    mT: Array
    def to_device(self, device: Device | str, /, *, stream: None = None) -> Array: ...
    def compute(self) -> None: ...
    def detach(self) -> Array: ...
    def gradient(self, at: Any) -> Any: ...
    def item(self) -> Any: ...
    def numpy(self, copy: bool = False) -> numpy.ndarray: ...
    def tolist(self) -> Any: ...
    def astype(self, dtype: Any, copy: bool = True) -> Array: ...
    def squeeze(self, axis: Any = None) -> Array: ...
    def ravel(self) -> Array: ...
    def copy(self) -> Array: ...
    def clone(self) -> Array: ...
    def dot(self, other: Any, /) -> Array: ...
    def fill(self, number: Any) -> None: ...
    def repeat(self, repeats: Any, axis: int | None = None) -> Array: ...
    def take(self, indices: Any, axis: int | None = None) -> Array: ...
    def tobytes(self) -> bytes: ...
    def searchsorted(self, values: Any, side: str = "left") -> Array: ...
    def nonzero(self) -> tuple[Array, ...]: ...
    def conj(self) -> Array: ...
    def conjugate(self) -> Array: ...
    def diagonal(self, offset: int = 0) -> Array: ...
    def trace(self, offset: int = 0) -> Array: ...
    real: Array
    def std(self, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any: ...
    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any: ...
    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...
    def __getitem__(self, key: Any) -> Array: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __contains__(self, value: Any) -> bool: ...
    def __neg__(self) -> Array: ...
    def __pos__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array: ...
    def __add__(self, other: Any) -> Array: ...
    def __radd__(self, other: Any) -> Array: ...
    def __sub__(self, other: Any) -> Array: ...
    def __rsub__(self, other: Any) -> Array: ...
    def __mul__(self, other: Any) -> Array: ...
    def __rmul__(self, other: Any) -> Array: ...
    def __truediv__(self, other: Any) -> Array: ...
    def __rtruediv__(self, other: Any) -> Array: ...
    def __floordiv__(self, other: Any) -> Array: ...
    def __rfloordiv__(self, other: Any) -> Array: ...
    def __mod__(self, other: Any) -> Array: ...
    def __rmod__(self, other: Any) -> Array: ...
    def __pow__(self, other: Any) -> Array: ...
    def __rpow__(self, other: Any) -> Array: ...
    def __matmul__(self, other: Any) -> Array: ...
    def __rmatmul__(self, other: Any) -> Array: ...
    def __and__(self, other: Any) -> Array: ...
    def __rand__(self, other: Any) -> Array: ...
    def __or__(self, other: Any) -> Array: ...
    def __ror__(self, other: Any) -> Array: ...
    def __xor__(self, other: Any) -> Array: ...
    def __rxor__(self, other: Any) -> Array: ...
    def __lshift__(self, other: Any) -> Array: ...
    def __rlshift__(self, other: Any) -> Array: ...
    def __rshift__(self, other: Any) -> Array: ...
    def __rrshift__(self, other: Any) -> Array: ...
    def __lt__(self, other: Any) -> Array: ...
    def __le__(self, other: Any) -> Array: ...
    def __gt__(self, other: Any) -> Array: ...
    def __ge__(self, other: Any) -> Array: ...
    def abs(self) -> Array:
        """The size of each element without its sign."""
    def sign(self) -> Array:
        """-1, 0 or 1 by the sign. Its gradient is zero."""
    def exp(self) -> Array:
        """`e` to the power of each element."""
    def log(self) -> Array:
        """Natural logarithm."""
    def exp2(self) -> Array:
        """2 to the power of each element."""
    def log2(self) -> Array:
        """Logarithm to base 2."""
    def sqrt(self) -> Array:
        """Square root."""
    def rsqrt(self) -> Array:
        """1 divided by the square root."""
    def reciprocal(self) -> Array:
        """1 divided by each element."""
    def sin(self) -> Array:
        """Sine."""
    def cos(self) -> Array:
        """Cosine."""
    def tanh(self) -> Array:
        """Hyperbolic tangent."""
    def erf(self) -> Array:
        """Error function."""
    def sigmoid(self) -> Array:
        """`1 / (1 + e^-x)`."""
    def relu(self) -> Array:
        """The larger of each element and 0."""
    def floor(self) -> Array:
        """Largest integer not above each element."""
    def ceil(self) -> Array:
        """Smallest integer not below each element."""
    def round(self, decimals: Any = 0) -> Array:
        """Nearest number with so many decimals, ties to even."""
    def log1p(self) -> Array:
        """`ln(1 + x)`, right also for small elements."""
    def expm1(self) -> Array:
        """`e^x - 1`, right also for small elements."""
    def gelu(self) -> Array:
        """Gaussian error linear unit, with the error function."""
    def gelu_tanh(self) -> Array:
        """Gaussian error linear unit by its `tanh` approximation."""
    def silu(self) -> Array:
        """`x · sigmoid(x)`, also called swish."""
    def softplus(self) -> Array:
        """`log(1 + e^x)`, without overflow."""
    def mish(self) -> Array:
        """`x · tanh(softplus(x))`."""
    def selu(self) -> Array:
        """Scaled exponential linear unit."""
    def relu6(self) -> Array:
        """Elements held between 0 and 6."""
    def hard_sigmoid(self) -> Array:
        """A sigmoid of straight lines."""
    def hard_swish(self) -> Array:
        """`x · hard_sigmoid(x)`."""
    def softsign(self) -> Array:
        """`x / (1 + |x|)`."""
    def log_sigmoid(self) -> Array:
        """`log(sigmoid(x))`, without underflow."""
    def tanh_shrink(self) -> Array:
        """`x - tanh(x)`."""
    def leaky_relu(self, slope: Any = 0.01) -> Array:
        """`x` where it is positive, `slope · x` elsewhere."""
    def prelu(self, slope: Any) -> Array:
        """As `leaky_relu`, with slopes that are learned."""
    def elu(self, alpha: Any = 1.0) -> Array:
        """`x` where it is positive, `alpha · (e^x - 1)` elsewhere."""
    def celu(self, alpha: Any = 1.0) -> Array:
        """As `elu`, smooth for every alpha."""
    def hard_tanh(self, low: Any = -1.0, high: Any = 1.0) -> Array:
        """Elements held between two numbers."""
    def glu(self, axis: Any = -1) -> Array:
        """The first half of an axis times the sigmoid of the second."""
    def swiglu(self, axis: Any = -1) -> Array:
        """The first half of an axis, by `silu`, times the second."""
    def geglu(self, axis: Any = -1) -> Array:
        """The first half of an axis, by `gelu`, times the second."""
    def isfinite(self) -> Array:
        """Where elements are finite."""
    def isnan(self) -> Array:
        """Where elements are no numbers."""
    def isinf(self) -> Array:
        """Where elements are infinite."""
    def square(self) -> Array:
        """`x · x`."""
    def stop_gradient(self) -> Array:
        """The same values, through which no gradient flows."""
    def negative(self) -> Array:
        """`-x`."""
    def bitwise_invert(self) -> Array:
        """Logical not of `bool`, bitwise not of integers."""
    def less(self, other: Any) -> Array:
        """Where `x < other`."""
    def less_equal(self, other: Any) -> Array:
        """Where `x <= other`."""
    def greater(self, other: Any) -> Array:
        """Where `x > other`."""
    def greater_equal(self, other: Any) -> Array:
        """Where `x >= other`."""
    def equal(self, other: Any) -> Array:
        """Where `x == other`."""
    def not_equal(self, other: Any) -> Array:
        """Where `x != other`."""
    def maximum(self, other: Any) -> Array:
        """The larger of the two, or NaN if one of them is."""
    def minimum(self, other: Any) -> Array:
        """The smaller of the two, or NaN if one of them is."""
    def pow(self, other: Any) -> Array:
        """`x` to the power of `other`."""
    def remainder(self, other: Any) -> Array:
        """Remainder with the divisor's sign."""
    def bitwise_and(self, other: Any) -> Array:
        """Bitwise and of integers, logical and of `bool`."""
    def bitwise_or(self, other: Any) -> Array:
        """Bitwise or of integers, logical or of `bool`."""
    def bitwise_xor(self, other: Any) -> Array:
        """Bitwise exclusive or of integers, logical of `bool`."""
    def bitwise_left_shift(self, other: Any) -> Array:
        """Bits shifted left."""
    def bitwise_right_shift(self, other: Any) -> Array:
        """Bits shifted right, keeping the sign."""
    def select(self, a: Any, b: Any) -> Array:
        """Where the array is true `a`, elsewhere `b`."""
    def cast(self, dtype: Any) -> Array:
        """The elements as another dtype: floats truncate, integers wrap."""
    def clip(self, min: Any = None, max: Any = None) -> Array:
        """Elements held between two bounds; `None` is no bound."""
    def full_like(self, fill_value: Any) -> Array:
        """All elements equal to a number, with the array's shape and dtype."""
    def dropout(self, probability: Any = 0.5) -> Array:
        """Elements zeroed with this probability, and the others scaled up."""
    def sum(self, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Array:
        """The sum along axes, or of everything. Small integers are summed in 32 bits."""
    def mean(self, axis: Any = None, keepdims: Any = False) -> Array:
        """The mean along axes, or of everything."""
    def prod(self, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Array:
        """The product along axes, or of everything. Small integers are multiplied in 32 bits."""
    def max(self, axis: Any = None, keepdims: Any = False) -> Array:
        """The largest along axes, or of everything."""
    def min(self, axis: Any = None, keepdims: Any = False) -> Array:
        """The smallest along axes, or of everything."""
    def any(self, axis: Any = None, keepdims: Any = False) -> Array:
        """Whether any element is not zero."""
    def all(self, axis: Any = None, keepdims: Any = False) -> Array:
        """Whether no element is zero."""
    def argmax(self, axis: Any = None, keepdims: Any = False) -> Array:
        """Where the largest element stands (`int32`)."""
    def argmin(self, axis: Any = None, keepdims: Any = False) -> Array:
        """Where the smallest element stands (`int32`)."""
    def var(self, axis: Any = None, correction: Any = 0, keepdims: Any = False) -> Array:
        """The variance along axes, or of everything."""
    def logsumexp(self, axis: Any = None, keepdims: Any = False) -> Array:
        """The logarithm of the sum of exponentials, without overflow."""
    def softmax(self, axis: Any = -1) -> Array:
        """Exponentials along an axis, divided by their sum."""
    def log_softmax(self, axis: Any = -1) -> Array:
        """The logarithm of `softmax`, without underflow."""
    def layer_norm(self, scale: Any, shift: Any, epsilon: Any = 1e-5) -> Array:
        """The last axis with mean 0 and variance 1, scaled and shifted."""
    def cumsum(self, axis: Any = -1, dtype: Any = None) -> Array:
        """Running sums along an axis."""
    def cumsum_from_end(self, axis: Any = -1) -> Array:
        """Running sums from the end of an axis."""
    def cumprod(self, axis: Any = -1, dtype: Any = None) -> Array:
        """Running products along an axis."""
    def sort_with_positions(self, axis: Any = -1, descending: Any = False) -> tuple[Array, Array]:
        """The elements in order along an axis, and where each of them stood (`int32`)."""
    def sort(self, axis: Any = -1, descending: Any = False) -> Array:
        """The elements in order along an axis. Equal elements stay in order."""
    def argsort(self, axis: Any = -1, descending: Any = False) -> Array:
        """Where the elements of an axis stand in their order (`int32`)."""
    def topk(self, k: Any, axis: Any = -1, largest: Any = True) -> tuple[Array, Array]:
        """The first `k` elements of an axis in order, and where they stood: the largest unless `largest=False`."""
    def linear_recurrence(self, decay: Any, axis: Any = 0) -> Array:
        """States of `h[t] = decay[t] · h[t - 1] + x[t]` along an axis."""
    def permute_dims(self, axes: Any) -> Array:
        """The axes in another order."""
    def swapaxes(self, axis1: Any, axis2: Any) -> Array:
        """Two axes swapped."""
    def broadcast_to(self, shape: Any) -> Array:
        """The array repeated to a shape, aligned at the last axis."""
    def expand(self, shape: Any) -> Array:
        """Axes of size 1 repeated to the sizes of a shape of the same rank."""
    def pad(self, widths: Any) -> Array:
        """Zeros before and after each axis."""
    def flip(self, axis: Any = None) -> Array:
        """Axes in reverse order."""
    def expand_dims(self, axis: Any = 0) -> Array:
        """A new axis of size 1."""
    def squeeze_axis(self, axis: Any) -> Array:
        """An axis of size 1 removed."""
    def flatten(self, start: Any = 0) -> Array:
        """All axes from one on as one."""
    def split(self, sizes: Any, axis: Any = 0) -> list[Array]:
        """Parts of these sizes along an axis."""
    def tril(self, k: Any = 0) -> Array:
        """The lower triangle of the last two axes; zeros elsewhere."""
    def triu(self, k: Any = 0) -> Array:
        """The upper triangle of the last two axes; zeros elsewhere."""
    def gather(self, axis: Any, index: Any) -> Array:
        """Elements at positions along an axis; the index has the array's rank."""
    def index_select(self, axis: Any, index: Any) -> Array:
        """Whole slices at the positions of a one-axis index."""
    def embedding(self, ids: Any) -> Array:
        """Rows at positions: `[entries, width]` at `[..]` gives `[.., width]`."""
    def one_hot(self, classes: Any) -> Array:
        """Positions as rows with a single 1."""
    def scatter_add(self, axis: Any, index: Any, source: Any) -> Array:
        """Elements of a source added at positions along an axis."""
    def segment_sum(self, segments: Any, count: Any) -> Array:
        """Rows summed by segment."""
    def matmul(self, other: Any) -> Array:
        """Matrix product: `[.., m, k] @ [.., k, n]` gives `[.., m, n]`."""
    def conv1d(self, weight: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1) -> Array:
        """Convolution over one axis: `[batch, channels, size]` with `[outputs, channels / groups, kernel]`."""
    def conv2d(self, weight: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1) -> Array:
        """Convolution over two axes."""
    def conv3d(self, weight: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1) -> Array:
        """Convolution over three axes."""
    def conv_transpose1d(self, weight: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, dilation: Any = 1, groups: Any = 1) -> Array:
        """Transposed convolution over one axis."""
    def conv_transpose2d(self, weight: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, dilation: Any = 1, groups: Any = 1) -> Array:
        """Transposed convolution over two axes."""
    def max_pool1d(self, kernel: Any, stride: Any = None, padding: Any = 0) -> Array:
        """The largest of each window over one axis."""
    def max_pool2d(self, kernel: Any, stride: Any = None, padding: Any = 0) -> Array:
        """The largest of each window over two axes."""
    def avg_pool1d(self, kernel: Any, stride: Any = None, padding: Any = 0) -> Array:
        """The mean of each window over one axis."""
    def avg_pool2d(self, kernel: Any, stride: Any = None, padding: Any = 0) -> Array:
        """The mean of each window over two axes."""
    def adaptive_avg_pool1d(self, outputs: Any) -> Array:
        """Means of so many windows that divide an axis."""
    def adaptive_avg_pool2d(self, outputs: Any) -> Array:
        """Means of so many windows that divide two axes."""
    def adaptive_max_pool1d(self, outputs: Any) -> Array:
        """The largest of so many windows that divide an axis."""
    def adaptive_max_pool2d(self, outputs: Any) -> Array:
        """The largest of so many windows that divide two axes."""
    def resize_nearest(self, size: Any) -> Array:
        """Pictures in another size, by the nearest pixel."""
    def resize_bilinear(self, size: Any, align_corners: Any = False) -> Array:
        """Pictures in another size, by the four nearest pixels."""
    def pixel_shuffle(self, factor: Any) -> Array:
        """Channels as finer pixels: `[n, c · f², h, w]` gives `[n, c, h · f, w · f]`."""
    def attention(self, keys: Any, values: Any, causal: Any = False, scale: Any = None, mask: Any = None, dropout: Any = 0.0) -> Array:
        """Attention of queries `[.., heads, queries, width]` to keys and values."""
    def cross_entropy(self, labels: Any, smoothing: Any = 0.0, weights: Any = None, ignore: Any = None, reduction: Any = 'mean') -> Array:
        """Cross entropy of logits `[batch, classes]` with labels `[batch]`, or with probabilities `[batch, classes]`."""
    def negative_log_likelihood(self, labels: Any, weights: Any = None, ignore: Any = None, reduction: Any = 'mean') -> Array:
        """Mean of the negative logarithms at the labels."""
    def mean_squared_error(self, target: Any, reduction: Any = 'mean') -> Array:
        """Mean of squared differences."""
    def mean_absolute_error(self, target: Any, reduction: Any = 'mean') -> Array:
        """Mean of differences without their signs."""
    def huber(self, target: Any, delta: Any = 1.0, reduction: Any = 'mean') -> Array:
        """Squares for small differences, straight lines beyond `delta`."""
    def smooth_l1(self, target: Any, beta: Any = 1.0, reduction: Any = 'mean') -> Array:
        """As `huber`, divided by `beta`."""
    def binary_cross_entropy(self, target: Any, weights: Any = None, reduction: Any = 'mean') -> Array:
        """Cross entropy of probabilities with targets between 0 and 1."""
    def binary_cross_entropy_with_logits(self, target: Any, weights: Any = None, positive_weights: Any = None, reduction: Any = 'mean') -> Array:
        """Cross entropy of logits with targets between 0 and 1."""
    def focal(self, target: Any, alpha: Any = 0.25, gamma: Any = 2.0, reduction: Any = 'mean') -> Array:
        """Focal loss of logits: confident right answers count little. `alpha=None` weighs yes and no alike."""
    def kl_divergence(self, target: Any, log_target: Any = False, batch_mean: Any = False, reduction: Any = 'mean') -> Array:
        """Divergence of log-probabilities from targets. `batch_mean` divides the sum by the samples."""
    def cosine_embedding(self, other: Any, target: Any, margin: Any = 0.0, reduction: Any = 'mean') -> Array:
        """Pairs of vectors `[batch, width]`: a target of 1 brings their directions together, -1 drives them apart."""
    def hinge_embedding(self, target: Any, margin: Any = 1.0, reduction: Any = 'mean') -> Array:
        """Distances: a target of 1 makes them small, -1 drives them apart up to a margin."""
    def reshape(self, *shape: Any) -> Array:
        """The elements in another shape, row by row; one size may be -1."""
    def transpose(self, *axes: Any) -> Array:
        """The axes in another order; reversed if none is given."""

class Layer:
    def __call__(self, *inputs: Any, states: Any = None, causal: bool = False) -> Any: ...
    def named_parameters(self) -> list[tuple[str, Parameter]]: ...
    def named_buffers(self) -> list[tuple[str, Array]]: ...
    def state_dict(self) -> dict[str, Array]: ...

class Optimizer:
    learning_rate: float
    parameters: list[Parameter]
    def step(self, loss: Array) -> None: ...
    def apply(self, gradients: Sequence[Array]) -> None: ...
    def gradients(self, loss: Array) -> list[Array]: ...
    def overflows(self) -> int: ...
    def state_dict(self) -> dict[str, Array]: ...
    def load_state_dict(self, state: dict[str, Array]) -> None: ...

class WeightAverage:
    values: list[Array]
    def __init__(self, parameters: Sequence[Parameter], decay: float = 0.999, warmup: bool = False) -> None: ...
    def update(self) -> None: ...
    def __enter__(self) -> WeightAverage: ...
    def __exit__(self, *what: Any) -> None: ...
    def state_dict(self) -> dict[str, Array]: ...
    def load_state_dict(self, state: dict[str, Array]) -> None: ...

class Accumulator:
    batches: int
    def add(self, gradients: Sequence[Array]) -> None: ...
    def take(self) -> list[Array]: ...

class Schedule:
    def rate(self, step: int) -> float: ...
    def __call__(self, step: int) -> float: ...

class Plateau:
    rate: float
    state: tuple[float, float | None, int, int]
    def __init__(self, rate: float, factor: float = 0.1, patience: int = 10, threshold: float = 1e-4, absolute: bool = False,
                 cooldown: int = 0, minimum: float = 0.0, larger_is_better: bool = False) -> None: ...
    def observe(self, metric: float) -> float: ...

class Circuit:
    name: str
    is_automaton: bool
    inputs: list[str]
    outputs: list[str]
    @staticmethod
    def load(path: str | PathLike[str]) -> Circuit: ...
    @staticmethod
    def from_json(text: str) -> Circuit: ...
    def to_json(self) -> str: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def statistics(self) -> dict[str, int]: ...
    def simplify(self) -> Circuit: ...
    def prove(self, other: Circuit) -> bool | None: ...
    def export(self, format: str) -> dict[str, str]: ...
    def verilog(self) -> str: ...
    def c(self) -> str: ...
    def simulate(self, inputs: Any) -> Array: ...
    def film(self, width: int, height: int, steps: int, seed: int | None = None) -> Array: ...
    def repair(self, wanted: Any, steps: int, origin: str = "random", candidates: int = 2_000_000, seconds: float = 60.0,
               seed: int = 0) -> tuple[Circuit, int, int]: ...
    def svg(self) -> str: ...

class GateNetwork:
    def __init__(self, widths: Sequence[int], seed: int = 0) -> None: ...
    def __call__(self, x: Any) -> Array: ...
    def hard(self, x: Any) -> Array: ...
    def harden(self, name: str = "network") -> Circuit: ...
    def parameters(self) -> list[Parameter]: ...
    def named_parameters(self) -> list[tuple[str, Parameter]]: ...
    def to(self, device: Device | str) -> None: ...

class DataSet:
    classes: list[str]
    def __init__(self, kind: str, *arguments: Any, **options: Any) -> None: ...
    def __len__(self) -> int: ...

class DataLoader:
    def __init__(self, dataset: DataSet | tuple[Any, Any], batch: int, shuffle: int | bool | None = None, drop_last: bool = False,
                 workers: int | None = None, device: Device | str | None = None) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Array, Array]]: ...
    def __next__(self) -> tuple[Array, Array]: ...

class LanguageModel:
    vocabulary: int
    context: int
    parameter_count: int
    tokenizer: str
    device: Device
    @staticmethod
    def load(folder: str | PathLike[str], device: Device | str | None = None, context: int = 0) -> LanguageModel: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, tokens: Sequence[int]) -> str: ...
    def __call__(self, tokens: Any) -> Array: ...
    def generate(self, prompt: Any, tokens: int = 200, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0,
                 repetition_penalty: float = 1.0, seed: int = 0, callback: Callable[[str], Any] | None = None) -> Any: ...
    def chat(self, messages: Sequence[dict[str, str]], tokens: int = 200, temperature: float = 1.0, top_k: int = 0,
             top_p: float = 1.0, repetition_penalty: float = 1.0, seed: int = 0,
             callback: Callable[[str], Any] | None = None) -> str: ...

class World:
    observations: int
    longest: int
    actions: int
    is_discrete: bool
    @staticmethod
    def named(name: str, device: Device | str | None = None) -> World: ...
    def begin(self, worlds: int, device: Device | str | None = None) -> list[Array]: ...
    def observe(self, state: Sequence[Array]) -> Array: ...
    def step(self, state: Sequence[Array], action: Any) -> tuple[list[Array], Array, Array]: ...

class Learner:
    columns: list[str]
    updates: int
    steps_per_update: int
    def update(self) -> Array: ...
    def check(self) -> None: ...
    def agents(self) -> Agents: ...
    def take(self, agents: Agents) -> None: ...
    def state_dict(self) -> dict[str, Array]: ...
    def load_state_dict(self, state: dict[str, Array], updates: int) -> None: ...

class Agents:
    def __len__(self) -> int: ...
    def __getitem__(self, agent: int) -> Agents: ...
    def act(self, seen: Any) -> Array: ...
    def returns(self, world: World, worlds: int = 100, device: Device | str | None = None) -> tuple[Array, Array]: ...
    def episode(self, world: World, device: Device | str | None = None) -> tuple[list[list[float]], list[list[float]], list[float]]: ...
    def state_dict(self) -> dict[str, Array]: ...

class OnnxModel:
    inputs: list[str]
    outputs: list[str]
    def __init__(self, path: str | PathLike[str]) -> None: ...
    def __call__(self, *inputs: Any, **named: Any) -> Any: ...
    def parameters(self) -> list[Parameter]: ...
    def named_parameters(self) -> list[tuple[str, Parameter]]: ...
    def to(self, device: Device | str) -> None: ...

def __getattr__(name: str) -> Any: ...
