"use strict";
// Numbers for charts: formatting, axis ticks and smoothing.
// Invariant: everything here is a function of its arguments.

/// Formats a number for people: few digits, thousands separated.
Farad.number = (value) => {
  if (typeof value === "string") return value;
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  return String(Number(value.toPrecision(4)));
};

/// A count with its noun, in the singular for one.
Farad.counted = (count, thing) => `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;

/// Round numbers between two values, about as many as requested.
Farad.ticks = (from, to, count) => {
  const span = to - from || Math.abs(to) || 1;
  const power = 10 ** Math.floor(Math.log10(span / count));
  const unit = [1, 2, 2.5, 5, 10].map((n) => n * power).find((step) => span / step <= count) ?? 10 * power;
  const ticks = [];
  for (let n = Math.ceil(from / unit); n * unit <= to + unit * 1e-9; n++) ticks.push(Number((n * unit).toPrecision(12)));
  return ticks;
};

/// Ticks of a logarithmic axis: powers of ten, and their halves and fifths where there is room.
Farad.logTicks = (from, to, count) => {
  const [low, high] = [Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))];
  const decades = Math.log10(to / from);
  const parts = decades <= 1.5 ? [1, 2, 5] : decades <= 3 ? [1, 3] : [1];
  const every = Math.max(1, Math.ceil((high - low) / count));
  const ticks = [];
  for (let power = low; power <= high; power += every) parts.forEach((part) => ticks.push(part * 10 ** power));
  const inside = ticks.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001);
  return inside.length >= 2 ? inside : Farad.ticks(from, to, count).filter((tick) => tick > 0);
};

/// An exponential moving average: `weight` of the old value and the rest of the new one, unbiased from the first value.
Farad.smoothed = (values, weight) => {
  if (weight === 0) return values;
  let [sum, mass] = [0, 0];
  return values.map((value) => {
    if (!Number.isFinite(value)) return value;
    sum = sum * weight + value * (1 - weight);
    mass = mass * weight + (1 - weight);
    return sum / mass;
  });
};

/// The average number of steps between two points.
Farad.spacing = ({ x }) => (x[x.length - 1] - x[0]) / (x.length - 1);

/// The index of the first element that is not less than a value.
Farad.lowerBound = (sorted, value) => {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
};
