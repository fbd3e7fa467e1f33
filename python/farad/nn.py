"""Layers and modules. Layers are those of the library; modules of your own are Python classes.

>>> import farad as fd
>>> from farad import nn
>>> class Net(nn.Module):
...     def __init__(self):
...         self.hidden = nn.Linear(2, 8)
...         self.out = nn.Linear(8, 1)
...     def forward(self, x):
...         return self.out(self.hidden(x).relu())
>>> Net()(fd.zeros((4, 2))).shape
(4, 1)
"""

from __future__ import annotations

from typing import Any, Iterator

import numpy

from . import _farad
from ._creation import asarray
from ._errors import OpError
from ._farad import Array, Layer, Parameter


class Buffer:
    """A cell that holds an array which is kept and saved with its module, but not trained."""

    def __init__(self, value: Any) -> None:
        self.value = asarray(value)


def _parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Cells, layers and modules in a value, with their paths."""
    if isinstance(value, (Parameter, Buffer, Layer, Module)):
        yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _parts(part, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for place, part in enumerate(value):
            yield from _parts(part, f"{path}.{place}")


class Module:
    """Something with named parts: parameters, buffers, layers, and modules that have such parts themselves.

    Parts are attributes, or lists and dictionaries of them. Paths are those of PyTorch: `features.0.weight`.
    """

    training = True

    def __getattr__(self, name: str) -> Any:
        from ._habits import MODULES_INSTEAD, hint

        raise hint(f"'{type(self).__name__}'", name, MODULES_INSTEAD)

    def children(self) -> Iterator[tuple[str, Any]]:
        """Parts with their names."""
        for name, value in vars(self).items():
            yield from _parts(value, name)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return self.forward(*inputs, **options)

    def forward(self, *inputs: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: it has no forward")

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        """All parameters with their paths, frozen ones too."""
        found = []
        for path, part in self.children():
            if isinstance(part, Parameter):
                found.append((path, part))
            elif isinstance(part, (Layer, Module)):
                found += [(f"{path}.{name}", cell) for name, cell in part.named_parameters()]
        return found

    def named_buffers(self) -> list[tuple[str, Array]]:
        """All arrays that are kept and not trained, with their paths."""
        found = []
        for path, part in self.children():
            if isinstance(part, Buffer):
                found.append((path, part.value))
            elif isinstance(part, (Layer, Module)):
                found += [(f"{path}.{name}", value) for name, value in part.named_buffers()]
        return found

    def parameters(self) -> list[Parameter]:
        """The parameters that are trained, in a fixed order."""
        return [cell for _, cell in self.named_parameters() if not cell.frozen]

    def state_dict(self) -> dict[str, Array]:
        """The arrays of all parameters and buffers with their paths."""
        found: dict[str, Array] = {}
        for path, part in self.children():
            if isinstance(part, (Parameter, Buffer)):
                found[path] = part.value
            else:
                found.update({f"{path}.{name}": value for name, value in part.state_dict().items()})
        return found

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Puts arrays into parameters and buffers; floats take the dtype that is there. Nothing may be missing, and nothing
        may be left, unless `strict` is false. If something does not fit, nothing changes."""
        own = self.state_dict()
        missing, more = sorted(set(own) - set(state)), sorted(set(state) - set(own))
        if strict and (missing or more):
            raise OpError(f"load_state_dict: names differ: missing {missing}, unknown {more}")
        given = {name: asarray(state[name]) for name in own if name in state}
        for name, value in given.items():
            if value.shape != own[name].shape:
                raise OpError(f"load_state_dict: shapes differ: {name} ({value.shape} vs {own[name].shape})")
            if value.dtype != own[name].dtype:
                if {value.dtype.kind, own[name].dtype.kind} != {"real floating"}:
                    raise OpError(f"load_state_dict: dtypes differ: {name} ({value.dtype} vs {own[name].dtype})")
                given[name] = value.cast(own[name].dtype)
        for name, value in given.items():
            self._put(name, value)

    def _put(self, path: str, value: Any) -> bool:
        for name, part in self.children():
            if path == name and isinstance(part, (Parameter, Buffer)):
                part.value = value.to_device(part.value.device)
                return True
            if isinstance(part, (Layer, Module)) and path.startswith(name + ".") and part._put(path[len(name) + 1 :], value):
                return True
        return False

    def _set_training(self, training: bool) -> None:
        self.training = training
        for _, part in self.children():
            if isinstance(part, (Layer, Module)):
                part._set_training(training)

    def _move(self, device: Any) -> None:
        for _, part in self.children():
            if isinstance(part, Parameter):
                part.to(device)
            elif isinstance(part, Buffer):
                part.value = part.value.to_device(device)
            else:
                part._move(device)

    def train(self, mode: bool = True) -> "Module":
        """Layers that differ in training and in use train from now on."""
        self._set_training(mode)
        return self

    def eval(self) -> "Module":
        """Layers that differ in training and in use are in use from now on."""
        return self.train(False)

    def to(self, device: Any) -> "Module":
        """Moves parameters and buffers to a device."""
        self._move(device)
        return self

    def freeze(self) -> "Module":
        """Takes all parameters out of training."""
        for _, cell in self.named_parameters():
            cell.freeze()
        return self

    def unfreeze(self) -> "Module":
        """Takes all parameters back into training."""
        for _, cell in self.named_parameters():
            cell.unfreeze()
        return self

    def summary(self) -> str:
        """A table of all parameters."""
        rows = [(name, str(cell.value.shape), cell.value.size) for name, cell in self.named_parameters()]
        wide = max([len(row[0]) for row in rows] + [9])
        lines = [f"{name:<{wide}}  {shape:<20}{size:>12,}" for name, shape, size in rows]
        return "\n".join(lines + [f"{'total':<{wide}}  {'':<20}{sum(row[2] for row in rows):>12,}"])

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={part!r}" for name, part in self.children())
        return f"{type(self).__name__}({parts})"


class Sequential(Module):
    """Layers applied in order. Parameters are named by position: `0.weight`, `2.bias`."""

    def __init__(self, *layers: Any) -> None:
        self.layers = list(layers)

    def children(self) -> Iterator[tuple[str, Any]]:
        for place, layer in enumerate(self.layers):
            yield from _parts(layer, str(place))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, place: Any) -> Any:
        return Sequential(*self.layers[place]) if isinstance(place, slice) else self.layers[place]

    def append(self, layer: Any) -> "Sequential":
        """One more layer at the end."""
        self.layers.append(layer)
        return self

    def __repr__(self) -> str:
        return f"Sequential({', '.join(repr(layer) for layer in self.layers)})"


#: What a layer of the library has because modules have it.
SHARED = ("parameters", "load_state_dict", "train", "eval", "to", "freeze", "unfreeze", "summary")


def _made_again(kind: type, given: tuple, options: dict, state: dict, frozen: list, training: bool) -> Any:
    """A layer from what it was made of and what it holds: for copies and pickles."""
    layer = kind(*given, **options)
    layer.load_state_dict(state)
    for path, cell in layer.named_parameters():
        if path in frozen:
            cell.freeze()
    return layer if training else layer.eval()


def _layer_class(name: str, arguments: str, about: str) -> type:
    def new(cls: type, *given: Any, **options: Any) -> Any:
        return Layer.__new__(cls, name, *given, **options)

    def init(self: Any, *given: Any, **options: Any) -> None:
        self._given = (given, options)
        shown = [repr(value) for value in given] + [f"{key}={value!r}" for key, value in options.items()]
        self._arguments = ", ".join(shown)

    def show(self: Any) -> str:
        return f"{name}({self._arguments})"

    def forward(self: Any, *inputs: Any, **options: Any) -> Any:
        return self(*inputs, **options)

    def attribute(self: Any, part: str) -> Any:
        for path, cell in self.named_parameters():
            if path == part:
                return cell
        from ._habits import MODULES_INSTEAD, hint

        raise hint(name, part, MODULES_INSTEAD)

    def set_training(self: Any, training: bool) -> None:
        object.__setattr__(self, "training", training)
        Layer._set_training(self, training)

    def reduce(self: Any) -> Any:
        state = {path: numpy.array(value) for path, value in self.state_dict().items()}
        frozen = [path for path, cell in self.named_parameters() if cell.frozen]
        return _made_again, (type(self), *self._given, state, frozen, self.training)

    def assign(self: Any, part: str, value: Any) -> None:
        if not part.startswith("_") and any(path == part for path, _ in self.named_parameters()):
            raise AttributeError(f"{name}: {part} is a cell: assign to `{part}.value`")
        object.__setattr__(self, part, value)

    members: dict[str, Any] = {
        "__setattr__": assign,
        "__doc__": f"{about}\n\nArguments: {arguments or 'none'}.",
        "__new__": new,
        "__init__": init,
        "__repr__": show,
        "__reduce__": reduce,
        "__getattr__": attribute,
        "training": True,
        "_set_training": set_training,
        "forward": forward,
        "__module__": __name__,
    }
    members.update({shared: getattr(Module, shared) for shared in SHARED})
    return type(name, (Layer,), members)


#: The names of all layers of the library.
LAYERS = [name for name, _, _ in _farad.layer_table()]

for _row in _farad.layer_table():
    globals()[_row[0]] = _layer_class(*_row)
del _row


def __getattr__(name: str) -> Any:
    from ._habits import LAYERS_INSTEAD, hint

    raise hint("farad.nn", name, LAYERS_INSTEAD)


__all__ = ["Buffer", "Layer", "Module", "Parameter", "Sequential", *LAYERS]
