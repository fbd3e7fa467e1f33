"""Pictures, films and charts that show themselves in a notebook, and are written to files.

>>> import farad as fd
>>> picture = fd.show.Picture(fd.array([[0.0, 1.0], [1.0, 0.0]]))
>>> picture._repr_png_()[:4]
b'\\x89PNG'
"""

from __future__ import annotations

import html
import os
import struct
import zlib
from pathlib import Path
from typing import Any, Iterable

import numpy

from . import _farad

#: Pixels that a small picture is brought up to.
WIDE_ENOUGH = 192


def _pixels(picture: Any) -> numpy.ndarray:
    """`[height, width]` or `[height, width, 3]` as bytes: truth values and numbers from 0 to 1 become 0 to 255."""
    given = numpy.asarray(picture)
    if given.dtype == numpy.uint8:
        return given
    if given.dtype.kind not in "bfiu":
        raise TypeError(f"picture: numbers are wanted, not {given.dtype}")
    return (numpy.clip(numpy.nan_to_num(given.astype(numpy.float64)), 0.0, 1.0) * 255).round().astype(numpy.uint8)


def _is_picture(shape: tuple) -> bool:
    return len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3))


def _larger(pixels: numpy.ndarray, scale: int | None) -> numpy.ndarray:
    times = scale or max(1, WIDE_ENOUGH // max(pixels.shape[0], pixels.shape[1], 1))
    return pixels.repeat(times, axis=0).repeat(times, axis=1)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _packed(pixels: numpy.ndarray) -> bytes:
    """Rows of a picture, each after the byte that says it is not filtered."""
    rows = pixels.reshape(pixels.shape[0], -1)
    return zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows), 6)


def _png(frames: list[numpy.ndarray], seconds: float) -> bytes:
    """A PNG file; with several frames an animated one, which shows the first where animation is unknown."""
    first = frames[0]
    color = 2 if first.ndim == 3 and first.shape[2] == 3 else 0
    head = struct.pack(">IIBBBBB", first.shape[1], first.shape[0], 8, color, 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n", _chunk(b"IHDR", head)]
    if len(frames) == 1:
        return b"".join([*parts, _chunk(b"IDAT", _packed(first)), _chunk(b"IEND", b"")])
    parts.append(_chunk(b"acTL", struct.pack(">II", len(frames), 0)))
    number, delay = 0, max(1, min(65535, round(seconds * 1000)))
    for place, frame in enumerate(frames):
        control = struct.pack(">IIIIIHHBB", number, frame.shape[1], frame.shape[0], 0, 0, delay, 1000, 0, 0)
        parts.append(_chunk(b"fcTL", control))
        number += 1
        if place == 0:
            parts.append(_chunk(b"IDAT", _packed(frame)))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", number) + _packed(frame)))
            number += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


def _write(path: str | os.PathLike, content: bytes) -> Path:
    """Writes a file whole: who reads it sees all of it or what was there before."""
    path = Path(path)
    whole = path.with_name(path.name + ".new")
    whole.write_bytes(content)
    os.replace(whole, path)
    return path


class Picture:
    """A picture of `[height, width]` or `[height, width, 3]`: truth values, numbers from 0 to 1, or `uint8`."""

    def __init__(self, picture: Any, scale: int | None = None) -> None:
        pixels = _pixels(picture)
        if not _is_picture(pixels.shape) or 0 in pixels.shape:
            raise ValueError(f"picture: [height, width] or [height, width, 3] is wanted: {pixels.shape}")
        self.pixels = _larger(pixels, scale)

    def _repr_png_(self) -> bytes:
        return _png([self.pixels], 0.0)

    def save(self, path: str | os.PathLike) -> Path:
        """Writes a PNG file."""
        return _write(path, self._repr_png_())

    def __repr__(self) -> str:
        return f"Picture({self.pixels.shape[1]}×{self.pixels.shape[0]})"


class Film:
    """Pictures one after the other, `[steps, height, width]` or `[steps, height, width, 3]`: an animated PNG."""

    def __init__(self, frames: Any, seconds: float = 0.1, scale: int | None = None) -> None:
        pixels = _pixels(frames)
        if pixels.ndim < 3 or not _is_picture(pixels.shape[1:]) or 0 in pixels.shape:
            raise ValueError(f"film: [steps, height, width] or [steps, height, width, 3] is wanted: {pixels.shape}")
        self.frames, self.seconds = [_larger(frame, scale) for frame in pixels], seconds

    def __len__(self) -> int:
        return len(self.frames)

    def _repr_png_(self) -> bytes:
        return _png(self.frames, self.seconds)

    def save(self, path: str | os.PathLike) -> Path:
        """Writes an animated PNG file."""
        return _write(path, self._repr_png_())

    def __repr__(self) -> str:
        return f"Film({len(self.frames)} frames of {self.frames[0].shape[1]}×{self.frames[0].shape[0]})"


class Chart:
    """Lines over steps, drawn as in reports. A line is values, or steps and values.

    >>> import farad as fd
    >>> chart = fd.show.Chart({"loss": [1.0, 0.5, 0.2]}, title="Training")
    >>> "Training" in chart.svg
    True
    """

    def __init__(
        self, lines: dict[str, Any], title: str = "", x: str = "step", y: str = "", logarithmic: bool = False
    ) -> None:
        named = [(str(name), _points(line)) for name, line in lines.items()]
        self.svg = _farad.line_chart(title or ", ".join(name for name, _ in named), x, y or ", ".join(name for name, _ in named), named, logarithmic)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike) -> Path:
        """Writes an SVG file."""
        return _write(path, self.svg.encode())

    def __repr__(self) -> str:
        return f"Chart({len(self.svg)} bytes of SVG)"


class Report:
    """A run's report as it stands in `report.html`, in a frame of its own."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)
        self.text = self.path.read_text()

    def _repr_html_(self) -> str:
        return f'<iframe style="width:100%;height:36em;border:0" srcdoc="{html.escape(self.text)}"></iframe>'

    def __repr__(self) -> str:
        return f"Report('{self.path}')"


def _points(line: Any) -> list[tuple[float, float]]:
    if isinstance(line, tuple) and len(line) == 2 and isinstance(line[0], Iterable):
        steps, values = numpy.asarray(line[0]), numpy.asarray(line[1])
    else:
        values = numpy.asarray(line)
        steps = numpy.arange(values.size)
    if values.ndim != 1 or steps.shape != values.shape:
        raise ValueError(f"chart: a line is values, or as many steps as values: {steps.shape} and {values.shape}")
    return [(float(at), float(value)) for at, value in zip(steps, values)]


__all__ = ["Chart", "Film", "Picture", "Report"]
