"""The table of ops covers every public op of the library."""

import re
from pathlib import Path

import pytest

import farad as fd
from farad import _farad

SOURCES = Path(__file__).parents[2] / "crates" / "tensor" / "src"


def public_functions():
    """The public functions in the files that define tensor ops, and the rows of their macro tables."""
    found = set()
    files = sorted((SOURCES / "tensor").glob("*.rs")) + [SOURCES / "checkpoint.rs"]
    for file in files:
        in_table = hidden = False
        for line in file.read_text().splitlines():
            method = re.match(r"\s*pub (?:async )?fn (\w+)", line)
            if method and not hidden:
                found.add(method.group(1))
            hidden = line.strip() == "#[doc(hidden)]" or (hidden and line.lstrip().startswith("#["))
            in_table = (in_table or line.endswith("_methods! {") or line == "activations! {") and line != "}"
            row = line.strip()
            if in_table and row.endswith(";") and not row.startswith("//"):
                found.add(re.match(r"\w*", row).group())
    for file in (SOURCES / "loss").glob("*.rs"):  # losses with options
        found.update(re.findall(r"^pub struct (\w+)", file.read_text(), re.MULTILINE))
    return found - {""}


def test_every_public_op_is_covered():
    public = public_functions()
    assert len(public) > 80 and {"tanh", "matmul", "gelu", "less"} <= public
    covered = {name for _, _, covers, _ in _farad.op_table() for name in covers}
    left_out = dict(_farad.left_out())
    assert sorted(public - covered - set(left_out)) == [], "no row and not left out: python/src/ops"
    assert sorted(covered - public) == [], "covered, but not there any more"
    assert sorted(set(left_out) - public) == [], "left out, but not there any more"
    assert all(len(reason) > 10 for reason in left_out.values())


@pytest.mark.parametrize("name", [row[0] for row in _farad.op_table()])
def test_every_row_is_a_method_with_a_text_and_a_function(name):
    method = getattr(fd.Array, name)
    assert method.__doc__ and len(method.__doc__) > 3
    assert callable(getattr(fd, name))


def test_every_schedule_of_the_library_is_there():
    files = (SOURCES.parents[1] / "nn" / "src" / "optim" / "schedule").glob("*.rs")
    found = {name for file in files for name in re.findall(r"^pub struct (\w+)", file.read_text(), re.MULTILINE)}
    there = {*fd.schedule.SCHEDULES, "Plateau"}
    assert found - {"ScheduleRow", "Course", "PlateauState"} == there
