"""The notebooks were built from the cells beside them, and nothing went wrong in them."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "docs" / "notebooks").glob("*.py"))
cells = runpy.run_path(str(ROOT / "scripts" / "notebooks"), run_name="notebooks")["cells"]


def test_there_are_three():
    assert {path.stem for path in SOURCES} >= {"digits", "checkerboard", "cart_pole"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_notebooks_are_current_and_executed(path):
    book = json.loads(path.with_suffix(".ipynb").read_text())
    assert [(cell["cell_type"], cell["source"]) for cell in book["cells"]] == list(cells(path.read_text())), "run scripts/notebooks"
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert sum(bool(cell["outputs"]) for cell in code) >= len(code) / 2
    assert not any(output["output_type"] == "error" for cell in code for output in cell["outputs"])
