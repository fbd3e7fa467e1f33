"""Layers and modules. Written by scripts/stubs."""

from typing import Any, Iterator

from ._farad import Array, Parameter
from ._farad import Layer as Layer

LAYERS: list[str]

class Buffer:
    value: Array
    def __init__(self, value: Array) -> None: ...

class Module:
    training: bool
    def children(self) -> Iterator[tuple[str, Any]]: ...
    def __call__(self, *inputs: Any, **options: Any) -> Any: ...
    def forward(self, *inputs: Any, **options: Any) -> Any: ...
    def named_parameters(self) -> list[tuple[str, Parameter]]: ...
    def named_buffers(self) -> list[tuple[str, Array]]: ...
    def parameters(self) -> list[Parameter]: ...
    def state_dict(self) -> dict[str, Array]: ...
    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None: ...
    def train(self, mode: bool = True) -> Module: ...
    def eval(self) -> Module: ...
    def to(self, device: Any) -> Module: ...
    def freeze(self) -> Module: ...
    def unfreeze(self) -> Module: ...
    def summary(self) -> str: ...

class Sequential(Module):
    layers: list[Any]
    def __init__(self, *layers: Any) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, place: int | slice) -> Any: ...
    def append(self, layer: Any) -> Sequential: ...

class _NativeLayer(Module, Layer): ...

class Linear(_NativeLayer):
    """Fully connected: [.., inputs] to [.., outputs]."""
    def __init__(self, inputs: Any, outputs: Any, bias: Any = ...) -> None: ...

class Conv1d(_NativeLayer):
    """Convolution over one axis."""
    def __init__(self, inputs: Any, outputs: Any, kernel: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ..., bias: Any = ...) -> None: ...

class Conv2d(_NativeLayer):
    """Convolution over two axes."""
    def __init__(self, inputs: Any, outputs: Any, kernel: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ..., bias: Any = ...) -> None: ...

class Conv3d(_NativeLayer):
    """Convolution over three axes."""
    def __init__(self, inputs: Any, outputs: Any, kernel: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ..., bias: Any = ...) -> None: ...

class ConvTranspose1d(_NativeLayer):
    """Transposed convolution over one axis."""
    def __init__(self, inputs: Any, outputs: Any, kernel: Any, stride: Any = ..., padding: Any = ..., output_padding: Any = ..., dilation: Any = ..., groups: Any = ..., bias: Any = ...) -> None: ...

class ConvTranspose2d(_NativeLayer):
    """Transposed convolution over two axes."""
    def __init__(self, inputs: Any, outputs: Any, kernel: Any, stride: Any = ..., padding: Any = ..., output_padding: Any = ..., dilation: Any = ..., groups: Any = ..., bias: Any = ...) -> None: ...

class BatchNorm1d(_NativeLayer):
    """Normalizes channels over a batch of series."""
    def __init__(self, channels: Any, momentum: Any = ..., epsilon: Any = ..., affine: Any = ...) -> None: ...

class BatchNorm2d(_NativeLayer):
    """Normalizes channels over a batch of pictures."""
    def __init__(self, channels: Any, momentum: Any = ..., epsilon: Any = ..., affine: Any = ...) -> None: ...

class BatchNorm3d(_NativeLayer):
    """Normalizes channels over a batch of volumes."""
    def __init__(self, channels: Any, momentum: Any = ..., epsilon: Any = ..., affine: Any = ...) -> None: ...

class InstanceNorm1d(_NativeLayer):
    """Normalizes each channel of each series."""
    def __init__(self, channels: Any, epsilon: Any = ..., affine: Any = ...) -> None: ...

class InstanceNorm2d(_NativeLayer):
    """Normalizes each channel of each picture."""
    def __init__(self, channels: Any, epsilon: Any = ..., affine: Any = ...) -> None: ...

class InstanceNorm3d(_NativeLayer):
    """Normalizes each channel of each volume."""
    def __init__(self, channels: Any, epsilon: Any = ..., affine: Any = ...) -> None: ...

class LayerNorm(_NativeLayer):
    """Normalizes the last axes."""
    def __init__(self, shape: Any, epsilon: Any = ..., affine: Any = ...) -> None: ...

class RmsNorm(_NativeLayer):
    """Divides the last axes by their root mean square."""
    def __init__(self, shape: Any, epsilon: Any = ..., affine: Any = ...) -> None: ...

class GroupNorm(_NativeLayer):
    """Normalizes groups of channels."""
    def __init__(self, groups: Any, channels: Any, epsilon: Any = ..., affine: Any = ...) -> None: ...

class Embedding(_NativeLayer):
    """A vector for each of so many numbers."""
    def __init__(self, entries: Any, width: Any, padding: Any = ...) -> None: ...

class Dropout(_NativeLayer):
    """Zeroes elements at random while training."""
    def __init__(self, probability: Any = ..., whole_channels: Any = ...) -> None: ...

class Flatten(_NativeLayer):
    """All axes after the first as one."""
    def __init__(self) -> None: ...

class Identity(_NativeLayer):
    """What comes in goes out."""
    def __init__(self) -> None: ...

class MaxPool1d(_NativeLayer):
    """The largest of each window over one axis."""
    def __init__(self, kernel: Any, stride: Any = ..., padding: Any = ...) -> None: ...

class MaxPool2d(_NativeLayer):
    """The largest of each window over two axes."""
    def __init__(self, kernel: Any, stride: Any = ..., padding: Any = ...) -> None: ...

class AvgPool1d(_NativeLayer):
    """The mean of each window over one axis."""
    def __init__(self, kernel: Any, stride: Any = ..., padding: Any = ...) -> None: ...

class AvgPool2d(_NativeLayer):
    """The mean of each window over two axes."""
    def __init__(self, kernel: Any, stride: Any = ..., padding: Any = ...) -> None: ...

class AdaptiveAvgPool1d(_NativeLayer):
    """Means of so many windows that divide an axis."""
    def __init__(self, outputs: Any) -> None: ...

class AdaptiveAvgPool2d(_NativeLayer):
    """Means of so many windows that divide two axes."""
    def __init__(self, outputs: Any) -> None: ...

class AdaptiveMaxPool1d(_NativeLayer):
    """The largest of so many windows that divide an axis."""
    def __init__(self, outputs: Any) -> None: ...

class AdaptiveMaxPool2d(_NativeLayer):
    """The largest of so many windows that divide two axes."""
    def __init__(self, outputs: Any) -> None: ...

class PixelShuffle(_NativeLayer):
    """Channels as finer pixels."""
    def __init__(self, factor: Any) -> None: ...

class Upsample(_NativeLayer):
    """Pictures so many times as large."""
    def __init__(self, factor: Any, bilinear: Any = ..., align_corners: Any = ...) -> None: ...

class LearnedPositions(_NativeLayer):
    """Adds a learned vector for each place."""
    def __init__(self, places: Any, width: Any) -> None: ...

class SinusoidalPositions(_NativeLayer):
    """Adds sines and cosines of each place."""
    def __init__(self, width: Any) -> None: ...

class Relu(_NativeLayer):
    """max(x, 0)."""
    def __init__(self) -> None: ...

class Gelu(_NativeLayer):
    """Gaussian error linear unit."""
    def __init__(self) -> None: ...

class GeluTanh(_NativeLayer):
    """Gaussian error linear unit by tanh."""
    def __init__(self) -> None: ...

class Tanh(_NativeLayer):
    """Hyperbolic tangent."""
    def __init__(self) -> None: ...

class Sigmoid(_NativeLayer):
    """1 / (1 + e^-x)."""
    def __init__(self) -> None: ...

class Silu(_NativeLayer):
    """x · sigmoid(x)."""
    def __init__(self) -> None: ...

class Mish(_NativeLayer):
    """x · tanh(softplus(x))."""
    def __init__(self) -> None: ...

class Softplus(_NativeLayer):
    """log(1 + e^x)."""
    def __init__(self) -> None: ...

class Selu(_NativeLayer):
    """Scaled exponential linear unit."""
    def __init__(self) -> None: ...

class Relu6(_NativeLayer):
    """Held between 0 and 6."""
    def __init__(self) -> None: ...

class HardSigmoid(_NativeLayer):
    """A sigmoid of straight lines."""
    def __init__(self) -> None: ...

class HardSwish(_NativeLayer):
    """x · hard_sigmoid(x)."""
    def __init__(self) -> None: ...

class Softsign(_NativeLayer):
    """x / (1 + |x|)."""
    def __init__(self) -> None: ...

class LogSigmoid(_NativeLayer):
    """log(sigmoid(x))."""
    def __init__(self) -> None: ...

class TanhShrink(_NativeLayer):
    """x - tanh(x)."""
    def __init__(self) -> None: ...

class LeakyRelu(_NativeLayer):
    """x where positive, slope · x elsewhere."""
    def __init__(self, slope: Any = ...) -> None: ...

class PRelu(_NativeLayer):
    """As LeakyRelu, with learned slopes."""
    def __init__(self, slopes: Any = ...) -> None: ...

class Elu(_NativeLayer):
    """x where positive, alpha · (e^x - 1) elsewhere."""
    def __init__(self, alpha: Any = ...) -> None: ...

class Celu(_NativeLayer):
    """As Elu, smooth for every alpha."""
    def __init__(self, alpha: Any = ...) -> None: ...

class HardTanh(_NativeLayer):
    """Held between two numbers."""
    def __init__(self, low: Any = ..., high: Any = ...) -> None: ...

class Softmax(_NativeLayer):
    """Exponentials divided by their sum."""
    def __init__(self, axis: Any = ...) -> None: ...

class LogSoftmax(_NativeLayer):
    """The logarithm of Softmax."""
    def __init__(self, axis: Any = ...) -> None: ...

class Glu(_NativeLayer):
    """The first half times the sigmoid of the second."""
    def __init__(self, axis: Any = ...) -> None: ...

class SwiGlu(_NativeLayer):
    """The first half by silu times the second."""
    def __init__(self, axis: Any = ...) -> None: ...

class GeGlu(_NativeLayer):
    """The first half by gelu times the second."""
    def __init__(self, axis: Any = ...) -> None: ...

class Rnn(_NativeLayer):
    """A recurrent layer over sequences; gives outputs and states."""
    def __init__(self, inputs: Any, hidden: Any, layers: Any = ..., bidirectional: Any = ..., bias: Any = ..., batch_first: Any = ..., dropout: Any = ...) -> None: ...

class Gru(_NativeLayer):
    """Gated recurrent units; gives outputs and states."""
    def __init__(self, inputs: Any, hidden: Any, layers: Any = ..., bidirectional: Any = ..., bias: Any = ..., batch_first: Any = ..., dropout: Any = ...) -> None: ...

class Lstm(_NativeLayer):
    """Long short-term memory; gives outputs and states."""
    def __init__(self, inputs: Any, hidden: Any, layers: Any = ..., bidirectional: Any = ..., bias: Any = ..., batch_first: Any = ..., dropout: Any = ...) -> None: ...

class Transformer(_NativeLayer):
    """A decoder transformer: tokens [batch, time] to logits [batch, time, vocabulary]."""
    def __init__(self, layers: Any, heads: Any, width: Any, context: Any, vocabulary: Any, dropout: Any = ..., tied: Any = ..., bias: Any = ..., activation: Any = ..., positions: Any = ...) -> None: ...

class MultiHeadAttention(_NativeLayer):
    """Attention by several heads."""
    def __init__(self, width: Any, heads: Any, bias: Any = ..., dropout: Any = ...) -> None: ...
