"""Trainings of the command, from Python: `fd.train("mnist")` gives a run with its curves and results."""

from __future__ import annotations

import base64
import csv
import html
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Callable

import numpy

from . import _farad
from ._creation import asarray
from ._farad import Array


#: How many plots and films a run shows in a notebook, and the bytes of the largest film.
SHOWN_PLOTS, SHOWN_FILMS, LARGEST_FILM = 3, 2, 100_000


class ProgressBar:
    """A line that shows how far a training is: in place in a terminal and in a notebook, else every tenth."""

    def __init__(self, title: str, file: Any = None) -> None:
        self.title, self.file = title, file if file is not None else sys.stderr
        self.last = self.tenth = -1.0
        self.moves = _in_notebook() or (hasattr(self.file, "isatty") and self.file.isatty())

    def __call__(self, done: int, steps: int, losses: list[float], words: str) -> None:
        now, share = time.monotonic(), done / steps if steps else 1.0
        if self.moves and (now - self.last >= 0.1 or done == steps):
            self.last = now
            filled = int(share * 24)
            line = f"\r{self.title} [{'█' * filled}{'·' * (24 - filled)}] {done}/{steps} {words}"
            self.file.write(line[:118].ljust(118))
            self.file.flush()
        elif not self.moves and int(share * 10) > self.tenth:
            self.tenth = int(share * 10)
            self.file.write(f"{self.title} {done}/{steps} {words}\n")

    def close(self) -> None:
        if self.moves:
            self.file.write("\n")


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    try:
        return shell is not None and "IPKernelApp" in shell.get_ipython().config
    except AttributeError:
        return False


class Run:
    """A run folder: settings, curves, results, pictures. The command `farad` knows it too."""

    def __init__(self, folder: str | os.PathLike, results: list | None = None, lines: list | None = None) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise FileNotFoundError(f"run: there is no folder {self.folder}")
        self.results = results or []
        self.lines = lines or []

    @property
    def curves(self) -> dict[str, tuple[list[int], list[float]]]:
        """Steps and values of every column of the log."""
        with open(self.folder / "log.csv", newline="") as file:
            rows = list(csv.reader(file))
        found: dict[str, tuple[list[int], list[float]]] = {name: ([], []) for name in rows[0][1:]} if rows else {}
        for row in rows[1:]:
            for name, value in zip(found, row[1:]):
                try:
                    found[name][1].append(float(value))
                except ValueError:
                    continue
                found[name][0].append(int(row[0]))
        return found

    @property
    def pictures(self) -> list[Path]:
        """The pictures of the run."""
        return sorted(path for path in self.folder.rglob("*") if path.suffix in (".svg", ".png", ".gif"))

    @property
    def report(self) -> str:
        """The report, as Markdown."""
        return (self.folder / "report.md").read_text()

    def chart(self, *names: str, logarithmic: bool = False) -> Any:
        """Columns of the log as a chart; the loss if none is named."""
        from .show import Chart

        curves = self.curves
        chosen = names or ("loss",)
        unknown = [name for name in chosen if name not in curves]
        if unknown:
            raise KeyError(f"chart: the log has no {unknown}; it has {sorted(curves)}")
        return Chart({name: curves[name] for name in chosen}, title=str(self.folder), logarithmic=logarithmic)

    def show_report(self) -> Any:
        """The whole report, as it stands in `report.html`."""
        from .show import Report

        return Report(self.folder / "report.html")

    def circuit(self) -> Any:
        """The circuit that the run learned, if it learned one; simplified if the run did that."""
        found = sorted(self.folder.rglob("*.json"), key=lambda path: ("simplified" not in path.name, str(path)))
        for path in found:
            if '"farad-circuit"' in path.read_text()[:200]:
                return _farad.Circuit.load(path)
        raise FileNotFoundError(f"run: no circuit in {self.folder}")

    def predict(self, samples: Any, device: Any = None) -> Array:
        """What the model says of samples: classes, or numbers."""
        said = numpy.asarray(_farad.predict_run(self.folder, asarray(samples), device))
        return asarray(said[:, 0].astype(numpy.int32) if said.shape[1] == 1 and _is_whole(said) else said, copy=True)

    def resume(self, device: Any = None, progress: bool | Callable = True, **settings: Any) -> "Run":
        """Goes on with the training."""
        return _carry_out("", self.folder, device, progress, settings, True)

    def _repr_html_(self) -> str:
        plots = [path.read_text() for path in self.pictures if path.suffix == ".svg"][:SHOWN_PLOTS]
        films = [path for path in self.pictures if path.suffix in (".gif", ".png")]
        small = [path for path in films if path.stat().st_size <= LARGEST_FILM][:SHOWN_FILMS]
        shown = "".join(plots + [_image(path) for path in small])
        return f"<div><b>{html.escape(str(self.folder))}</b><br>{html.escape(' '.join(self.lines))}{shown}</div>"

    def __repr__(self) -> str:
        return f"Run('{self.folder}'{': ' + '; '.join(self.lines) if self.lines else ''})"


def _image(path: Path) -> str:
    content = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{html.escape(path.stem)}" src="data:image/{path.suffix[1:]};base64,{content}">'


def _is_whole(numbers: numpy.ndarray) -> bool:
    return bool((numbers == numpy.floor(numbers)).all())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _carry_out(subject: str, folder: Any, device: Any, progress: Any, settings: dict, resumes: bool) -> Run:
    bar = ProgressBar(subject or str(folder)) if progress is True else None
    callback = bar if bar is not None else (progress or None)
    pairs = [(NAMES.get(key, key), _text(value)) for key, value in settings.items()]
    try:
        path, _, results, lines = _farad.train_run(subject, folder, pairs, device, callback, resumes)
    finally:
        if bar is not None:
            bar.close()
    return Run(path, [json.loads(text) for text in results], lines)


def train(
    subject: str, folder: Any = None, *, device: Any = None, progress: bool | Callable = True, **settings: Any
) -> Run:
    """Trains what the command `farad train` trains, into a run folder. Settings are those of the command.

    Ctrl-C and a notebook's stop button end it after a step, with a checkpoint: `Run(folder).resume()` goes on.
    `train_subjects()` says what can be learned, and `train_settings(subject)` what can be set.
    """
    known = {key for key, _ in _farad.train_settings(subject)} | FLAGS
    unknown = sorted(set(settings) - known)
    if unknown:
        raise TypeError(f"train: {subject} has no settings {unknown}\nhelp: train_settings({subject!r}) lists them")
    return _carry_out(subject, folder, device, progress, settings, False)


#: Flags of the command that are no settings of a row.
FLAGS = {"seed", "seeds", "data", "epochs", "updates", "quick", "no_repair", "recipe", "start_from", "context", "lora", "tokenizer"}
#: Flags whose names Python has for itself.
NAMES = {"start_from": "from"}


def train_subjects() -> dict[str, str]:
    """What can be learned, and what it is."""
    return dict(_farad.train_subjects())


def train_settings(subject: str) -> dict[str, str]:
    """What can be set of a training, and what it does."""
    return dict(_farad.train_settings(subject))
