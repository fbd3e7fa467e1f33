#!/usr/bin/env python3
"""Lists type names of the workspace that are defined more than once, outside of tests and examples.

    tools/names.py            # all names that are shared, with their files
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = {"tests", "examples", "benches"}
TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|b?r(#*)"(?:.*?)"\1|b?"(?:[^"\\]|\\.)*"', re.S)
# A type alias inside an `impl` or a trait is an associated type, and indented.
DEFINED = re.compile(r"^(?:[ \t]*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union)|(?:pub(?:\([^)]*\))? )?type) ([A-Z]\w*)", re.M)


def defined(path):
    """The names that a file defines, and in which line."""
    text = TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), path.read_text())
    text = re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", text)[0]
    for found in DEFINED.finditer(text):
        yield found.group(1), text.count("\n", 0, found.start(1)) + 1


def main():
    names = collections.defaultdict(set)
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        if path.name == "tests.rs" or SKIPPED & set(path.relative_to(ROOT).parts):
            continue
        for name, line in defined(path):
            names[name].add(f"{path.relative_to(ROOT)}:{line}")
    shared = {name: places for name, places in names.items() if len(places) > 1}
    print(f"{len(names)} type names, {len(shared)} of them defined more than once")
    for name, places in sorted(shared.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        print(name, *sorted(places), sep="\n    ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
