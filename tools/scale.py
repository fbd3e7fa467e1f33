"""Fits the model of docs/scale.md to measured all-reduces, and computes its table.

    python3 tools/scale.py docs/scale/measured.jsonl

The file has the lines of `farad bench --group --json`. For n ranks and S bytes an all-reduce takes

    2 (n - 1) alpha + S beta

Beta is the time per byte on one machine: copies and sums. A network adds 2 (n - 1)/n S/B. Lines are weighted by 1/seconds squared,
so that small and large sizes count the same.
"""

import json
import sys

# Name, bytes of gradients per rank, seconds of computing per step. The seconds are assumptions: see docs/scale.md.
MODELS = [
    ("gpt_small", 4 * 124e6, 0.15),
    ("1.3 G parameters", 4 * 1.3e9, 1.6),
    ("ResNet-50", 4 * 25.6e6, 0.04),
    ("evolution, 1 M policies", 4 * 1e6, 0.1),
]
DEVICES = [8, 64, 1024]
NETWORKS = [10, 100, 400]


def measured(path):
    """(ranks, bytes, seconds) of every line that has a size."""
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return [(row["ranks"], row["bytes"], row["us"] * 1e-6) for row in rows if "bytes" in row]


def fit(points):
    """Alpha and beta with the smallest relative errors; neither is below zero."""
    aa = ab = bb = at = bt = 0.0
    for ranks, size, seconds in points:
        a, b, weight = 2 * (ranks - 1), size, 1 / seconds**2
        aa, ab, bb = aa + weight * a * a, ab + weight * a * b, bb + weight * b * b
        at, bt = at + weight * a * seconds, bt + weight * b * seconds
    determinant = aa * bb - ab * ab
    if determinant <= 0:
        raise SystemExit("scale: too few sizes: a fit needs at least two")
    return max((at * bb - bt * ab) / determinant, 0.0), max((bt * aa - at * ab) / determinant, 0.0)


def share(size, compute, devices, gigabits, alpha, beta):
    """The share of a step in which devices compute, if nothing is hidden."""
    network = 2 * (devices - 1) / devices * size / (gigabits * 1e9 / 8)
    return compute / (compute + 2 * (devices - 1) * alpha + network + size * beta)


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: python3 tools/scale.py docs/scale/measured.jsonl")
    points = measured(sys.argv[1])
    alpha, beta = fit(points)
    print(f"fit of {len(points)} points: alpha {alpha * 1e6:.1f} µs, beta {beta * 1e9:.2f} ns per byte\n")
    print("| ranks | bytes | measured | model |\n|---:|---:|---:|---:|")
    for ranks, size, seconds in points:
        model = 2 * (ranks - 1) * alpha + size * beta
        print(f"| {ranks} | {size:,} | {seconds * 1e6:,.1f} µs | {model * 1e6:,.1f} µs |")
    print("\n| model | devices | " + " | ".join(f"{n} Gbit/s" for n in NETWORKS) + " |")
    print("|---|---:|" + "---:|" * len(NETWORKS))
    for name, size, compute in MODELS:
        for devices in DEVICES:
            cells = [f"{100 * share(size, compute, devices, n, alpha, beta):.0f} %" for n in NETWORKS]
            print(f"| {name} | {devices:,} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
