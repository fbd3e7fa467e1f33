"""Language models: `fd.train("lm", data="book.txt")` trains one, `load` opens what was trained, or what others have
published.

>>> import farad as fd, os, tempfile
>>> from farad import lm
>>> folder = tempfile.mkdtemp()
>>> path = os.path.join(folder, "text.txt")
>>> _ = open(path, "w").write("abcd" * 500)
>>> run = fd.train("lm", os.path.join(folder, "run"), data=path, layers=1, heads=2, width=16, context=16, batch=8,
...                updates=60, learning_rate=0.01, device="cpu", progress=False)
>>> lm.load(run).generate("abcda", tokens=7, temperature=0)
'bcdabcd'
"""

from __future__ import annotations

import os
from typing import Any

from . import _farad
from ._farad import LanguageModel
from ._runs import Run
from .nn import Transformer


def load(run: Run | str | os.PathLike, device: Any = None, context: int = 0) -> LanguageModel:
    """The model of a run, or of a folder as Hugging Face's (GPT-2, Llama, Qwen2, Mistral).

    `context` is how many tokens a published model sees at once; 0: as many as it can, up to 4,096.
    """
    folder = run.folder if isinstance(run, Run) else run
    return _farad.LanguageModel.load(folder, device, context)


__all__ = ["LanguageModel", "Transformer", "load"]
