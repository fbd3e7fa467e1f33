"""The type stubs are those that scripts/stubs writes, and name everything that there is."""

import ast
import runpy
from pathlib import Path

import pytest

import farad as fd

ROOT = Path(__file__).parents[2]
STUBS = runpy.run_path(str(ROOT / "scripts" / "stubs"), run_name="stubs")["stubs"]()


@pytest.mark.parametrize("name", sorted(STUBS))
def test_stubs_are_current(name):
    assert (ROOT / "python" / "farad" / name).read_text() == STUBS[name], "run scripts/stubs"
    ast.parse(STUBS[name])


def test_every_method_of_arrays_has_a_stub():
    tree = ast.parse(STUBS["_farad.pyi"])
    array = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Array")
    named = {node.name for node in array.body if isinstance(node, ast.FunctionDef)}
    named |= {node.target.id for node in array.body if isinstance(node, ast.AnnAssign)}
    there = {name for name in dir(fd.Array) if not name.startswith("_")}
    assert there - named == set()
