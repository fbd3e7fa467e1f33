"use strict";
// The charts of the chosen runs: one run with all its curves, or one curve of several runs.
// Invariant: charts stay the same objects while their runs do, so that nothing flickers while rows come in. Start at
// `Curves.show`.

Farad.Curves = class {
  constructor(host, store, changed) {
    Object.assign(this, { host, store, changed, charts: new Map(), names: [] });
    this.shared = {
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

  /// Shows these runs.
  show(names) {
    if (names.join("\n") !== this.names.join("\n")) {
      this.shared.zoom = null;
      [...this.charts.values()].forEach((chart) => chart.close());
      this.charts.clear();
    }
    this.names = names;
    this.shared.compares = names.length > 1;
    this.update();
  }

  /// Draws the data received so far.
  update() {
    const lines = this.names.length === 1 ? this.ofOne(this.names[0]) : this.ofSeveral();
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

  /// One chart per group of columns. With several seeds that would be too many lines: then one chart per column with
  /// one line per seed.
  ofOne(name) {
    const log = this.store.logs.get(name);
    if (!log) return [];
    const curves = Farad.curvesOf(this.store.runs.get(name), log);
    const lines = [];
    for (const group of Farad.groups(new Set(curves.keys()))) {
      const columns = group.columns.filter((column) => curves.has(column) && (column !== "speed" || curves.get(column)[0].x.length > 0));
      const seeds = columns.some((column) => curves.get(column).length > 1);
      if (columns.length === 0) continue;
      if (!seeds) {
        const series = columns.map((column) => this.line(Farad.columnName(column), this.color(column), curves.get(column)[0]));
        lines.push({ ...group, series });
        continue;
      }
      for (const column of columns) {
        const each = curves.get(column).map((curve, n) => this.line(`seed ${curve.seed}`, Farad.RUN_COLORS[n % 8], curve, n >= 8));
        const title = columns.length > 1 ? Farad.words(column) : group.title;
        lines.push({ key: column, title, format: group.format, series: each });
      }
    }
    return lines;
  }

  /// One chart per column with one line per run; a run with several seeds is drawn as their mean.
  ofSeveral() {
    const all = new Map();
    this.names.forEach((name, n) => {
      const log = this.store.logs.get(name);
      if (!log) return;
      for (const [base, curves] of Farad.curvesOf(this.store.runs.get(name), log)) {
        if (curves[0].x.length === 0) continue;
        if (!all.has(base)) all.set(base, []);
        const curve = curves.length > 1 ? Farad.mean(curves) : curves[0];
        all.get(base).push(this.line(name, Farad.RUN_COLORS[n % 8], curve, n >= 8));
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

  line(name, color, { x, y }, dashed = false) {
    return { name, color, x, y, dashed };
  }

  color(column) {
    return Farad.LINE_COLORS[column] ?? "--line-6";
  }
};

/// The mean of curves with the same steps, up to the last step that all of them have reached.
Farad.mean = (curves) => {
  const length = Math.min(...curves.map((curve) => curve.x.length));
  const x = curves[0].x.slice(0, length);
  const y = x.map((_, n) => curves.reduce((sum, curve) => sum + curve.y[n], 0) / curves.length);
  return { x, y };
};
