"use strict";
// The charts of the chosen runs: one run (or its repetitions with other seeds) with all its curves, or one curve of several
// runs.
// Invariant: charts stay the same objects while their runs do, so that nothing flickers while rows come in. Start at
// `Curves.show`.

Farad.Curves = class {
  constructor(host, store, changed) {
    Object.assign(this, { host, store, changed, charts: new Map(), names: [], axis: "step", band: "range", bands: false });
    this.shared = {
      axis: Farad.AXES.step,
      logarithmic: false,
      smoothing: 0,
      extent: [0, 1],
      spacing: 1,
      zoom: null,
      step: null,
      chart: null,
      point: (chart, step) => {
        Object.assign(this.shared, { chart, step });
        for (const other of this.charts.values()) {
          other.draw();
          other.showReadout();
        }
      },
      setZoom: (zoom) => {
        this.shared.zoom = zoom;
        this.draw();
        this.changed();
      },
    };
  }

  /// Shows these runs, over an axis, with seeds as the band says.
  show(names, axis, band) {
    if (names.join("\n") !== this.names.join("\n") || axis !== this.axis || band !== this.band) {
      this.shared.zoom = null;
      [...this.charts.values()].forEach((chart) => chart.close());
      this.charts.clear();
    }
    Object.assign(this, { names, axis, band });
    this.shared.axis = Farad.AXES[axis];
    this.units = Farad.unitsOf(names, this.store, band);
    this.shared.compares = this.units.length > 1;
    this.update();
  }

  /// Draws the data received so far.
  update() {
    this.bands = false;
    const lines = this.units.length === 1 ? this.ofOne(this.units[0]) : this.ofSeveral(this.units);
    for (const [key, chart] of this.charts) {
      if (!lines.some((line) => line.key === key)) {
        chart.close();
        this.charts.delete(key);
      }
    }
    // All charts share one range of steps, so that points above one another belong to the same step.
    const ends = lines.flatMap(({ series }) => series).filter(({ x }) => x.length > 0);
    this.shared.extent = [Math.min(...ends.map(({ x }) => x[0])), Math.max(...ends.map(({ x }) => x[x.length - 1]))];
    this.shared.spacing = Math.min(...ends.filter(({ x }) => x.length > 1).map(Farad.spacing));
    for (const { key, title, format, series } of lines) {
      if (!this.charts.has(key)) {
        const chart = new Farad.Chart(title, format, this.shared);
        this.charts.set(key, chart);
      }
      this.charts.get(key).set(series);
    }
    const order = lines.map((line) => this.charts.get(line.key).element);
    const placed = [...this.host.children];
    if (order.some((element, n) => placed[n] !== element)) this.host.replaceChildren(...order);
  }

  draw() {
    this.charts.forEach((chart) => chart.draw());
  }

  /// Redraws after the colors have changed.
  recolor() {
    this.draw();
  }

  /// All curves of a unit by column, over the chosen axis: one per run and seed.
  curvesOf(unit) {
    const all = new Map();
    for (const name of unit.names) {
      const log = this.store.logs.get(name);
      if (!log) continue;
      const run = this.store.runs.get(name);
      for (const [base, curves] of Farad.curvesOf(run, log)) {
        for (const curve of curves) {
          if (curve.x.length === 0) continue;
          if (!all.has(base)) all.set(base, []);
          const label = unit.names.length > 1 ? [name, curve.seed].filter(Boolean).join(", ") : `seed ${curve.seed}`;
          all.get(base).push({ label, x: this.places(curve.x, run, log), y: curve.y });
        }
      }
    }
    return all;
  }

  /// Steps as places on the chosen axis.
  places(steps, run, log) {
    if (this.axis === "step") return steps;
    return log.clock.times(steps, this.axis === "date" ? "date" : "trained", (run?.begun ?? 0) / 1000, run?.rate);
  }

  /// One chart per group of columns. Several seeds are a mean and a band; drawn each, they would be too many lines: then
  /// one chart per column with one line per seed.
  ofOne(unit) {
    const curves = this.curvesOf(unit);
    const lines = [];
    for (const group of Farad.groups(new Set(curves.keys()))) {
      const columns = group.columns.filter((column) => curves.has(column));
      if (columns.length === 0) continue;
      if (this.band !== "each" || columns.every((column) => curves.get(column).length === 1)) {
        const series = columns.map((column) => this.lineOf(Farad.columnName(column), this.color(column), curves.get(column)));
        lines.push({ ...group, series });
        continue;
      }
      for (const column of columns) {
        const each = curves.get(column).map((curve, n) => this.line(curve.label, Farad.RUN_COLORS[n % 8], curve, n >= 8));
        const title = columns.length > 1 ? Farad.words(column) : group.title;
        lines.push({ key: column, title, format: group.format, series: each });
      }
    }
    return lines;
  }

  /// One chart per column with one line per unit; several runs or seeds of a unit are drawn as their mean and a band.
  ofSeveral(units) {
    const all = new Map();
    units.forEach((unit, n) => {
      for (const [base, curves] of this.curvesOf(unit)) {
        if (!all.has(base)) all.set(base, []);
        all.get(base).push(this.lineOf(unit.title, Farad.RUN_COLORS[n % 8], curves, n >= 8));
      }
    });
    const lines = [];
    for (const group of Farad.groups(new Set(all.keys()))) {
      for (const column of group.columns.filter((column) => all.has(column))) {
        const several = group.columns.filter((other) => all.has(other)).length > 1;
        const title = several ? Farad.words(column) : group.title;
        lines.push({ key: column, title, format: group.format, series: all.get(column) });
      }
    }
    // Columns that more of the runs share come first.
    return lines.sort((a, b) => b.series.length - a.series.length);
  }

  /// A curve as a line, or several as their mean with a band.
  lineOf(name, color, curves, dashed = false) {
    if (curves.length === 1) return this.line(name, color, curves[0], dashed);
    this.bands = true;
    const { low, high, counts, ...mean } = Farad.band(curves, this.band === "quartiles" ? "quartiles" : "range");
    return { ...this.line(name, color, mean, dashed), low, high, counts };
  }

  line(name, color, { x, y }, dashed = false) {
    return { name, color, x, y, dashed };
  }

  color(column) {
    return Farad.LINE_COLORS[column] ?? "--line-6";
  }
};

/// What is drawn as one: each run, or all runs that differ only in their seeds.
Farad.unitsOf = (names, store, band) => {
  if (band === "each") return names.map((name) => ({ title: name, names: [name] }));
  const places = Farad.grouped(names.map((name) => store.runs.get(name) ?? { name }));
  const titles = places.map(({ runs }) => (runs.length > 1 ? Farad.groupName(runs) : runs[0].name));
  return places.map(({ runs }, n) => {
    const alone = titles.filter((title) => title === titles[n]).length === 1;
    return { title: alone ? titles[n] : `${titles[n]} (${runs[0].name} …)`, names: runs.map((run) => run.name) };
  });
};
