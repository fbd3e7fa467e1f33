#!/usr/bin/env python3
"""Fits the cost model of tiles (crates/compile/src/passes/tiles.rs) to measurements, and says how well it chooses.

usage: tools/tiles.py fit TUNE.jsonl...          print a row per tile
       tools/tiles.py check TUNE.jsonl...        how much slower the model's choices are than the best tile

TUNE.jsonl is what `farad tune --random N --seed S --json` prints: every tile's time on random products. Fit on some
seeds, check on others. A row is: m n k speed extra together alone.
"""
import json
import math
import random
import re
import statistics
import sys

PROCESSORS = 132
# What the rows of tiles.rs say now, in their order.
ROWS = {
    "128x128x16": (1.0, 46, 2, 1.4),
    "128x64x16": (0.87, 21, 2, 1.1),
    "64x64x32": (0.7, 8, 1, 1.0),
    "32x32x32 in 4 parts": (0.45, 38, 1, 1.2),
    "16x16x64 in 16 parts": (0.25, 84, 1, 1.4),
    "128x128x32 by subgroups": (6.2, 64, 2, 1.4),
    "64x64x64 by subgroups": (3.0, 64, 2, 1.3),
    "32x128x64 by subgroups": (2.4, 64, 2, 1.3),
}


def cost(name, row, s):
    """The model: a number that should be proportional to the time."""
    m, n, k = map(int, re.match(r"(\d+)x(\d+)x(\d+)", name).groups())
    speed, extra, together, alone = row
    tiles = s["batch"] * math.ceil(s["m"] / m) * math.ceil(s["n"] / n)
    rounds = math.ceil(tiles / PROCESSORS)
    busy = rounds if rounds <= together else math.ceil(rounds / together) * together
    busy = max(alone, busy)
    terms = math.ceil(s["k"] / k) * k + extra
    return busy * m * n * terms / speed


def measured(paths):
    lines = []
    for path in paths:
        with open(path) as file:
            lines += [json.loads(line) for line in file if line.startswith("{")]
    return lines


def fit(lines):
    random.seed(1)
    unit = None
    rows = {}
    for name in ROWS:
        data = [(s, s["tiles"][name] * 1e6) for s in lines if name in s["tiles"]]
        if not data:
            continue

        def error(row):
            logs = [math.log(ns / cost(name, (1.0, *row[1:]), s)) for s, ns in data]
            level = statistics.median(logs)
            return statistics.mean(min(abs(x - level), 1.0) for x in logs), level

        best = None
        for together in (1, 2, 3, 4):
            row = (1.0, 40, together, 1.2)
            score = error(row)
            for _ in range(1500):
                extra = max(0, row[1] * math.exp(random.gauss(0, 0.3)) + random.gauss(0, 4))
                alone = min(max(1.0, row[3] + random.gauss(0, 0.15)), together if together > 1 else 2.0)
                trial = (1.0, extra, together, alone)
                found = error(trial)
                if found < score:
                    row, score = trial, found
            if best is None or score < best[1]:
                best = (row, score)
        row, (off, level) = best
        if unit is None:
            unit = level
        rows[name] = (math.exp(unit - level), *row[1:])
        speed, extra, together, alone = rows[name]
        print(f"{name:28} speed {speed:.3f} extra {extra:.0f} together {together} alone {alone:.2f}   off by {off:.1%}, {len(data)} products")
    print(f"a multiplication with the first tile: {math.exp(unit):.3g} ns on a processor")
    return rows


def check(lines, rows):
    for is_f16 in (False, True):
        lost = []
        for s in lines:
            if s["f16"] != is_f16:
                continue
            names = [name for name in s["tiles"] if name in rows]
            chosen = min(names, key=lambda name: cost(name, rows[name], s))
            lost.append((s["tiles"][chosen] / min(s["tiles"].values()), s["product"], chosen))
        if lost:
            ratios = sorted(x[0] for x in lost)
            at = lambda share: ratios[min(len(ratios) - 1, int(share * len(ratios)))]
            print(f"{'f16' if is_f16 else 'f32'}: {len(ratios)} products; against the best tile: median {at(0.5):.3f}, 90 % {at(0.9):.3f}, worst {ratios[-1]:.2f} ({max(lost)[1]}, {max(lost)[2]})")


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("fit", "check"):
        sys.exit(__doc__)
    lines = measured(sys.argv[2:])
    if sys.argv[1] == "fit":
        check(lines, ROWS)
        check(lines, fit(lines))
    else:
        check(lines, ROWS)


if __name__ == "__main__":
    main()
