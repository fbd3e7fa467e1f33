"""The command beside the package, where it is built."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def farad_command():
    """Runs the command that cargo has built; gives what it prints."""
    built = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug" / "farad"
    assert built.exists(), "cargo build --workspace --bins"

    def run(*arguments):
        done = subprocess.run([built, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
