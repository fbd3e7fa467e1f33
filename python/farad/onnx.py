"""ONNX files: read as models that run and train, and written from modules."""

from __future__ import annotations

import os
from typing import Any, Sequence

from . import _farad
from ._farad import OnnxModel


def load(path: str | os.PathLike) -> OnnxModel:
    """The model of a file. Call it with arrays, in the order of its inputs or by name."""
    return OnnxModel(path)


def save(path: str | os.PathLike, model: Any, shape: Sequence[int], tokens: bool = False) -> None:
    """Writes a module as a file. `shape` is that of one sample; the batch may have any size.

    With `tokens` the input is whole numbers.
    """
    content = _farad.onnx_bytes(model, model.state_dict(), list(shape), tokens)
    whole = f"{os.fspath(path)}.new"
    with open(whole, "wb") as file:
        file.write(content)
    os.replace(whole, path)


__all__ = ["OnnxModel", "load", "save"]
