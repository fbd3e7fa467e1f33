"use strict";
// Charts as CSV files, made in the page.
// Invariant: a file has what its chart shows, with all digits. Start at `Farad.csv`.

/// A cell: quoted where it has to be.
Farad.cell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/// Lines over one axis as CSV: a row per place, a column per line, and the ends of its band if it has one.
Farad.csv = (lines, axis) => {
  const columns = lines.flatMap((line) => {
    const places = new Map(line.x.map((x, n) => [x, n]));
    const column = (name, values) => ({ name, at: (x) => (places.has(x) ? values[places.get(x)] : null) });
    const mean = column(line.name, line.y);
    return line.low ? [mean, column(`${line.name}, low`, line.low), column(`${line.name}, high`, line.high)] : [mean];
  });
  const places = [...new Set(lines.flatMap(({ x }) => x))].sort((a, b) => a - b);
  const rows = places.map((x) => [axis.column === "time" ? new Date(x * 1000).toISOString() : x, ...columns.map(({ at }) => at(x))]);
  return [[axis.column, ...columns.map(({ name }) => name)], ...rows].map((row) => row.map(Farad.cell).join(",")).join("\n") + "\n";
};

/// Gives a text to the user as a file.
Farad.save = (name, text) => {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = Farad.make("a");
  link.href = address;
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
};
