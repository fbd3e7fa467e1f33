"use strict";
// Several curves as one: their mean, and a band around it.
// Invariant: at every place, mean and band are those of the curves that reach it, interpolated between their points.
// Start at `Farad.band`.

/// The ways to show curves that differ only in their seeds.
Farad.BANDS = { range: "Mean, least to most", quartiles: "Mean, quartiles", each: "Each seed" };

/// Most places at which a band is computed.
Farad.MOST_PLACES = 1500;

/// The places of several curves together, or evenly spaced ones where there would be too many.
Farad.placesOf = (curves) => {
  const all = [...new Set(curves.flatMap(({ x }) => x))].sort((a, b) => a - b);
  if (all.length <= Farad.MOST_PLACES) return all;
  const [first, last] = [all[0], all[all.length - 1]];
  return Array.from({ length: Farad.MOST_PLACES }, (_, n) => first + ((last - first) * n) / (Farad.MOST_PLACES - 1));
};

/// The value of a curve between its points; null before its first and after its last.
Farad.valueAt = ({ x, y }, place) => {
  if (x.length === 0 || place < x[0] || place > x[x.length - 1]) return null;
  const n = Farad.lowerBound(x, place);
  if (x[n] === place || n === 0) return y[n];
  return y[n - 1] + ((y[n] - y[n - 1]) * (place - x[n - 1])) / (x[n] - x[n - 1]);
};

/// A share of sorted values, between the two that are nearest.
Farad.quantile = (sorted, share) => {
  const at = (sorted.length - 1) * share;
  const low = Math.floor(at);
  return sorted[low] + ((sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low));
};

/// Mean and band of curves: `{ x, y, low, high, counts }`. A value that is not finite does not count.
Farad.band = (curves, kind) => {
  const made = { x: [], y: [], low: [], high: [], counts: [] };
  for (const place of Farad.placesOf(curves)) {
    const values = curves.map((curve) => Farad.valueAt(curve, place)).filter(Number.isFinite).sort((a, b) => a - b);
    if (values.length === 0) continue;
    made.x.push(place);
    made.y.push(values.reduce((sum, value) => sum + value, 0) / values.length);
    made.low.push(kind === "quartiles" ? Farad.quantile(values, 0.25) : values[0]);
    made.high.push(kind === "quartiles" ? Farad.quantile(values, 0.75) : values[values.length - 1]);
    made.counts.push(values.length);
  }
  return made;
};
