"""Fits the model of docs/scale.md to measured all-reduces, and computes its tables.

    python3 tools/scale.py docs/scale/measured.jsonl [docs/scale/threads.jsonl]

The files have the lines of `farad bench --group --json`, of ranks that are processes and of ranks that are threads. `scripts/scale`
makes both. The model is fitted to the first. For n ranks and S bytes an all-reduce takes

    2 (n - 1) alpha + min(S, knee) beta + max(S - knee, 0) gamma

Beta is the time per byte on one machine, copies and sums, inside the caches; gamma is the time beyond the knee. A network adds
2 (n - 1)/n S/B. Lines are weighted by 1/seconds squared, so that small and large sizes count the same. Gamma is fitted last, to what
alpha and beta leave.
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
# Bytes up to which numbers stay in the caches, by the measurements; a bucket has at most as many.
KNEE = 4 << 20


def read(path):
    """All lines of a file."""
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def measured(rows):
    """(ranks, bytes, seconds) of every line that has a size."""
    return [(row["ranks"], row["bytes"], row["us"] * 1e-6) for row in rows if "bytes" in row]


def compared(processes, threads):
    """What was measured of both kinds of ranks: all-reduces, and steps of a training."""
    ranks = processes[0]["ranks"]
    kinds = f"{ranks} processes | {ranks} threads"
    print(f"| bytes | {kinds} |\n|---:|---:|---:|")
    for (_, size, one), (_, _, other) in zip(measured(processes), measured(threads)):
        print(f"| {size:,} | {one * 1e6:,.1f} µs | {other * 1e6:,.1f} µs |")
    print(f"\n| a step | {kinds} |\n|---|---:|---:|")
    steps = [{row["mode"]: row["step_ms"] for row in rows if "mode" in row} for rows in (processes, threads)]
    for mode in steps[0]:
        print(f"| {mode} | {steps[0][mode]:.2f} ms | {steps[1][mode]:.2f} ms |")
    hidden = [next(row["hidden"] for row in rows if "hidden" in row) for rows in (processes, threads)]
    shown = ["nothing to hide" if share is None else f"{100 * share:.0f} %" for share in hidden]
    print(f"| share hidden | {shown[0]} | {shown[1]} |\n")


def fit(points):
    """Alpha, beta and gamma with the smallest relative errors; none is below zero."""
    aa = ab = bb = at = bt = 0.0
    for ranks, size, seconds in points:
        if size <= KNEE:
            a, b, weight = 2 * (ranks - 1), size, 1 / seconds**2
            aa, ab, bb = aa + weight * a * a, ab + weight * a * b, bb + weight * b * b
            at, bt = at + weight * a * seconds, bt + weight * b * seconds
    determinant = aa * bb - ab * ab
    if determinant <= 0:
        raise SystemExit("scale: too few sizes: a fit needs at least two")
    alpha = max((at * bb - bt * ab) / determinant, 0.0)
    beta = max((bt * aa - at * ab) / determinant, 0.0)
    above = over = 0.0
    for ranks, size, seconds in points:
        if size > KNEE:
            beyond, weight = size - KNEE, 1 / seconds**2
            above += weight * beyond * (seconds - 2 * (ranks - 1) * alpha - KNEE * beta)
            over += weight * beyond**2
    return alpha, beta, max(above / over, 0.0) if over else beta


def reduction(ranks, size, alpha, beta, gamma):
    """Seconds of an all-reduce in one piece, on one machine."""
    return 2 * (ranks - 1) * alpha + min(size, KNEE) * beta + max(size - KNEE, 0) * gamma


def network(size, devices, gigabits):
    """Seconds that the network adds."""
    return 2 * (devices - 1) / devices * size / (gigabits * 1e9 / 8)


def share(size, compute, devices, gigabits, fitted):
    """The share of a step in which devices compute, if all gradients go in one piece after the backward pass."""
    return compute / (compute + reduction(devices, size, *fitted) + network(size, devices, gigabits))


def share_in_buckets(size, compute, devices, gigabits, fitted):
    """The same if buckets go beside the backward pass, which is two thirds of the computing; the last one is not hidden."""
    count = -(-size // KNEE)
    each = reduction(devices, size / count, *fitted) + network(size / count, devices, gigabits)
    hidden = max(compute * 2 / 3, (count - 1) * each)
    return compute / (compute / 3 + hidden + each)


def table(title, share_of, fitted):
    """A row per model and number of devices, a column per network."""
    print(f"\n{title}\n\n| model | devices | " + " | ".join(f"{n} Gbit/s" for n in NETWORKS) + " |")
    print("|---|---:|" + "---:|" * len(NETWORKS))
    for name, size, compute in MODELS:
        for devices in DEVICES:
            cells = [f"{100 * share_of(size, compute, devices, n, fitted):.0f} %" for n in NETWORKS]
            print(f"| {name} | {devices:,} | " + " | ".join(cells) + " |")


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: python3 tools/scale.py docs/scale/measured.jsonl [docs/scale/threads.jsonl]")
    processes = read(sys.argv[1])
    if len(sys.argv) == 3:
        compared(processes, read(sys.argv[2]))
    points = measured(processes)
    fitted = fit(points)
    alpha, beta, gamma = fitted
    print(f"fit of {len(points)} points: alpha {alpha * 1e6:.1f} µs, beta {beta * 1e9:.2f} ns per byte, ", end="")
    print(f"beyond {KNEE >> 20} MiB {gamma * 1e9:.2f} ns\n")
    print("| ranks | bytes | measured | model |\n|---:|---:|---:|---:|")
    for ranks, size, seconds in points:
        print(f"| {ranks} | {size:,} | {seconds * 1e6:,.1f} µs | {reduction(ranks, size, *fitted) * 1e6:,.1f} µs |")
    table("In one piece, after the backward pass:", share, fitted)
    table("In buckets, beside the backward pass:", share_in_buckets, fitted)


if __name__ == "__main__":
    main()
