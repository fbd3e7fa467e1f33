"""The Python blocks of the guide run, from top to bottom of each chapter, and so do the examples in docstrings."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "src"
README = Path(__file__).parents[2] / "README.md"
CHAPTERS = [README, *sorted(path for path in GUIDE.glob("*.md") if "```python" in path.read_text())]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_blocks_run(path):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL):
        exec(compile(block, str(path), "exec"), names)


def test_chapters_were_found():
    assert {path.stem for path in CHAPTERS} >= {"README", "python", "python-from-pytorch"}


@pytest.mark.parametrize(
    "name", ["farad", "farad.nn", "farad.optim", "farad.random", "farad.array_api", "farad.data", "farad.logic", "farad.lm", "farad.rl", "farad.linalg", "farad.show", "farad._einsum", "farad._creation", "farad._transforms", "farad._manipulation"]
)
def test_docstrings_run(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module)
    assert result.failed == 0 and result.attempted > 0
