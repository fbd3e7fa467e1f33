"use strict";
// A small chart: lines and bands over steps or time on a canvas, with a logarithmic axis, smoothing, a read-out, zoom and a
// legend.
// Invariant: a chart draws only what its series and options say, at most once per frame. Start at `Chart.set`.

Farad.Chart = class {
  /// `shared` is the state common to all charts of the view: options, zoom and the step under the pointer.
  constructor(title, format, shared) {
    Object.assign(this, { title, format: format ?? Farad.number, shared, series: [], hidden: new Set(), box: null });
    this.element = Farad.make("figure", "card chart");
    const head = Farad.make("figcaption", "card-head");
    const save = Farad.make("button", "link-button", "CSV");
    save.type = "button";
    save.title = `Save what “${title}” shows as a CSV file`;
    save.addEventListener("click", () => Farad.save(`${title}.csv`.toLowerCase(), Farad.csv(this.visible(), this.shared.axis)));
    head.append(Farad.make("h3", "", title), save);
    this.legend = Farad.make("div", "legend");
    this.canvas = Farad.make("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.readout = Farad.make("div", "readout");
    this.readout.hidden = true;
    const frame = Farad.make("div", "frame");
    frame.append(this.canvas, this.readout);
    this.element.append(head, frame, this.legend);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(frame);
    this.bind();
  }

  close() {
    this.observer.disconnect();
    this.element.remove();
  }

  /// Sets the series: `{ name, color (a CSS variable), x, y, dashed, faint }`, those with a band also `low`, `high`, `counts`.
  set(series) {
    const names = series.map((line) => `${line.name} ${line.color}`).join("\n");
    this.series = series;
    if (names !== this.names) {
      this.names = names;
      this.buildLegend();
    }
    this.draw();
  }

  buildLegend() {
    this.legend.replaceChildren();
    // A single line needs no legend unless runs are compared; a legend of many seeds would be taller than the chart.
    this.legend.hidden = (this.series.length < 2 && !this.shared.compares) || this.series.length > 24;
    for (const line of this.series) {
      const button = Farad.make("button", line.dashed ? "key dashed" : "key", line.name);
      button.type = "button";
      button.style.setProperty("--key", `var(${line.color})`);
      button.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
      button.addEventListener("click", () => {
        if (!this.hidden.delete(line.name)) this.hidden.add(line.name);
        button.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
        this.draw();
      });
      this.legend.append(button);
    }
  }

  /// Schedules drawing for the next animation frame.
  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      if (this.element.isConnected) this.paint();
    });
  }

  visible() {
    return this.series.filter((line) => !this.hidden.has(line.name) && line.x.length > 0);
  }

  /// The visible ranges: steps from the zoom, values from the points within those steps.
  range() {
    const lines = this.visible();
    if (lines.length === 0) return null;
    let [left, right] = this.shared.zoom ?? this.shared.extent;
    if (left === right) [left, right] = [left - 1, right + 1];
    let [low, high] = [Infinity, -Infinity];
    for (const line of lines) {
      const end = Farad.lowerBound(line.x, right) + 1;
      for (let n = Math.max(0, Farad.lowerBound(line.x, left) - 1); n < Math.min(end, line.x.length); n++) {
        for (const value of line.low ? [line.low[n], line.y[n], line.high[n]] : [line.y[n]]) {
          if (!this.draws(value)) continue;
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
      }
    }
    if (low > high) return { left, right, low: this.shared.logarithmic ? 0.1 : 0, high: 1 };
    if (this.shared.logarithmic) {
      const room = Math.max((high / low) ** 0.05, 1.02);
      return { left, right, low: low / room, high: high * room };
    }
    const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    // The axis of non-negative values such as counts and losses starts at zero if they come near zero.
    const floor = low >= 0 && low - room < 0.25 * high ? 0 : low - room;
    return { left, right, low: floor, high: high + room };
  }

  paint() {
    const scale = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0) return;
    [this.canvas.width, this.canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    const style = getComputedStyle(this.element);
    const color = (name) => style.getPropertyValue(name).trim();
    const range = this.range();
    this.canvas.setAttribute("aria-label", this.spoken());
    context.font = `11.5px ${color("--sans")}`;
    if (!range) {
      this.box = null;
      context.fillStyle = color("--soft");
      context.textAlign = "center";
      context.fillText("Nothing logged yet", width / 2, height / 2);
      return;
    }
    const box = this.layout(context, range, width, height);
    this.box = box;
    this.paintAxes(context, color);
    context.save();
    context.beginPath();
    // Points at the ends are whole; lines of a part of a run end a little beside it.
    context.rect(box.x - 4, box.y - 4, box.width + 8, box.height + 8);
    context.clip();
    this.visible().filter((line) => line.low).forEach((line) => this.paintBand(context, line, color));
    this.visible().forEach((line) => this.paintLine(context, line, color));
    this.paintPointer(context, color);
    context.restore();
  }

  /// The layout of the chart, and the mapping from steps and values to pixels.
  layout(context, range, width, height) {
    const { logarithmic } = this.shared;
    const rows = Math.max(2, Math.floor(height / 46));
    const ticks = logarithmic ? Farad.logTicks(range.low, range.high, rows) : Farad.ticks(range.low, range.high, rows);
    const margin = Math.max(28, ...ticks.map((tick) => context.measureText(this.format(tick)).width)) + 12;
    const box = { x: margin, y: 8, width: width - margin - 10, height: height - 34, range, ticks };
    const height_of = logarithmic ? Math.log : (value) => value;
    const [bottom, top] = [height_of(range.low), height_of(range.high)];
    box.across = (step) => box.x + ((step - range.left) / (range.right - range.left)) * box.width;
    box.up = (value) => box.y + box.height * (1 - (height_of(value) - bottom) / (top - bottom));
    box.step = (pixel) => range.left + ((pixel - box.x) / box.width) * (range.right - range.left);
    return box;
  }

  paintAxes(context, color) {
    const { box } = this;
    context.lineWidth = 1;
    context.strokeStyle = color("--line");
    context.fillStyle = color("--soft");
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of box.ticks) {
      const y = Math.round(box.up(tick)) + 0.5;
      context.beginPath();
      context.moveTo(box.x, y);
      context.lineTo(box.x + box.width, y);
      context.stroke();
      context.fillText(this.format(tick), box.x - 8, y);
    }
    context.textBaseline = "top";
    context.textAlign = "center";
    const { axis } = this.shared;
    const { left, right } = box.range;
    for (const tick of axis.ticks(left, right, Math.max(3, Math.floor(box.width / 80)))) {
      const text = axis.text(tick, right - left);
      const half = context.measureText(text).width / 2;
      const x = Math.min(box.across(tick), box.x + box.width - half + 8);
      context.fillText(text, x, box.y + box.height + 9);
    }
  }

  /// Fills the space between the ends of a band. On a logarithmic axis it ends at the edge where there is no logarithm.
  paintBand(context, line, color) {
    const { box } = this;
    const smoothing = this.weight(line);
    const [low, high] = [line.low, line.high].map((values) => (smoothing > 0.01 ? Farad.smoothed(values, smoothing) : values));
    const up = (value) => (this.shared.logarithmic && value <= 0 ? box.y + box.height : box.up(value));
    context.fillStyle = color(line.color);
    context.globalAlpha = 0.17;
    context.beginPath();
    line.x.forEach((x, n) => context.lineTo(box.across(x), up(high[n])));
    for (let n = line.x.length - 1; n >= 0; n--) context.lineTo(box.across(line.x[n]), up(low[n]));
    context.fill();
    context.globalAlpha = 1;
  }

  paintLine(context, line, color) {
    const smoothing = this.weight(line);
    context.strokeStyle = color(line.color);
    context.lineJoin = "round";
    context.setLineDash(line.dashed ? [5, 4] : []);
    const smooths = smoothing > 0.01;
    context.globalAlpha = smooths ? 0.22 : line.faint ? 0.6 : 1;
    context.lineWidth = smooths ? 1 : 1.8;
    this.trace(context, line.x, line.y);
    if (smooths) {
      context.globalAlpha = line.faint ? 0.7 : 1;
      context.lineWidth = 2;
      this.trace(context, line.x, Farad.smoothed(line.y, smoothing));
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
    if (line.x.length <= 40 && !smooths) this.paintDots(context, line, color);
  }

  /// Smoothing is over steps: a curve with few points is smoothed less from point to point.
  weight(line) {
    const { smoothing, spacing } = this.shared;
    return line.x.length > 2 ? smoothing ** (Farad.spacing(line) / spacing) : 0;
  }

  /// Marks the points of a short series, so that a single value is visible too.
  paintDots(context, line, color) {
    context.fillStyle = color(line.color);
    line.x.forEach((x, n) => {
      if (!this.draws(line.y[n])) return;
      context.beginPath();
      context.arc(this.box.across(x), this.box.up(line.y[n]), 2.2, 0, 7);
      context.fill();
    });
  }

  draws(value) {
    return Number.isFinite(value) && (!this.shared.logarithmic || value > 0);
  }

  /// Joins the visible points; where many fall into one pixel column, only the lowest and the highest are drawn.
  trace(context, xs, ys) {
    const { box } = this;
    const first = Math.max(0, Farad.lowerBound(xs, box.range.left) - 1);
    const end = Math.min(xs.length, Farad.lowerBound(xs, box.range.right) + 2);
    const crowded = end - first > 3 * box.width;
    context.beginPath();
    let [column, low, high, open] = [-1, 0, 0, false];
    const to = (x, y) => (open ? context.lineTo(x, y) : context.moveTo(x, y), (open = true));
    for (let n = first; n < end; n++) {
      if (!this.draws(ys[n])) {
        open = false;
        continue;
      }
      const [x, y] = [box.across(xs[n]), box.up(ys[n])];
      if (!crowded) {
        to(x, y);
        continue;
      }
      const place = Math.floor(x);
      if (place !== column) {
        if (column >= 0) [low, high].forEach((edge) => to(column, edge));
        [column, low, high] = [place, y, y];
      }
      [low, high] = [Math.min(low, y), Math.max(high, y)];
    }
    if (crowded && column >= 0) [low, high].forEach((edge) => to(column, edge));
    context.stroke();
  }

  paintPointer(context, color) {
    const { box, shared } = this;
    if (this.dragged) {
      context.fillStyle = color("--accent");
      context.globalAlpha = 0.14;
      const [from, to] = this.dragged.map((step) => box.across(step));
      context.fillRect(Math.min(from, to), box.y, Math.abs(to - from), box.height);
      context.globalAlpha = 1;
    }
    if (shared.step === null) return;
    const x = Math.round(box.across(shared.step)) + 0.5;
    context.strokeStyle = color("--soft");
    context.lineWidth = 1;
    context.globalAlpha = 0.6;
    context.beginPath();
    context.moveTo(x, box.y);
    context.lineTo(x, box.y + box.height);
    context.stroke();
    context.globalAlpha = 1;
    for (const { line, n } of this.at(shared.step)) {
      if (!this.draws(line.y[n])) continue;
      context.fillStyle = color(line.color);
      context.beginPath();
      context.arc(box.across(line.x[n]), box.up(line.y[n]), 3.5, 0, 7);
      context.fill();
    }
  }

  /// For every line, the point nearest to a step.
  at(step) {
    return this.visible().map((line) => {
      const after = Math.min(Farad.lowerBound(line.x, step), line.x.length - 1);
      const before = Math.max(0, after - 1);
      const n = step - line.x[before] < line.x[after] - step ? before : after;
      return { line, n };
    });
  }

  /// Describes the chart for screen readers.
  spoken() {
    const last = this.visible().map((line) => `${line.name} ${this.format(line.y[line.y.length - 1])}`);
    return `${this.title}: ${last.slice(0, 8).join(", ") || "nothing logged yet"}`;
  }

  showReadout() {
    const { shared, box, readout } = this;
    readout.hidden = shared.step === null || !box || shared.chart !== this;
    if (readout.hidden) return;
    const near = this.at(shared.step);
    const nearest = near.map(({ line, n }) => line.x[n]).sort((a, b) => Math.abs(a - shared.step) - Math.abs(b - shared.step));
    const title = Farad.make("p", "readout-step", shared.axis.spoken(nearest[0] ?? 0));
    const rows = near.slice(0, 12).map(({ line, n }) => {
      const row = Farad.make("p", line.dashed ? "key dashed" : "key");
      row.style.setProperty("--key", `var(${line.color})`);
      row.append(Farad.make("span", "", line.name), Farad.make("b", "", this.format(line.y[n])));
      if (line.low) row.append(Farad.make("i", "", `${this.format(line.low[n])} to ${this.format(line.high[n])}, ${line.counts[n]}`));
      return row;
    });
    readout.replaceChildren(title, ...rows);
    const x = box.across(shared.step);
    const right = x > box.x + box.width / 2;
    readout.style.left = right ? "auto" : `${x + 14}px`;
    readout.style.right = right ? `${this.canvas.clientWidth - x + 14}px` : "auto";
  }

  bind() {
    const { canvas, shared } = this;
    const step = (event) => {
      const { box } = this;
      const at = box.step(event.clientX - canvas.getBoundingClientRect().left);
      return Math.min(box.range.right, Math.max(box.range.left, at));
    };
    canvas.addEventListener("pointermove", (event) => {
      if (!this.box) return;
      if (this.dragged) this.dragged[1] = step(event);
      shared.point(this, step(event));
    });
    canvas.addEventListener("pointerleave", () => !this.dragged && shared.point(this, null));
    canvas.addEventListener("pointerdown", (event) => {
      // A touch scrolls the page: reading values and zooming need a mouse or a keyboard.
      if (!this.box || event.button !== 0 || event.pointerType === "touch") return;
      canvas.setPointerCapture(event.pointerId);
      this.dragged = [step(event), step(event)];
    });
    const release = (event) => {
      if (!this.dragged) return;
      const [from, to] = this.dragged.map((at) => this.box.across(at));
      const zoom = [...this.dragged].sort((a, b) => a - b);
      this.dragged = null;
      if (event.type === "pointerup" && Math.abs(to - from) > 6) shared.setZoom(zoom);
      else this.draw();
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("dblclick", () => shared.setZoom(null));
    canvas.addEventListener("blur", () => shared.point(this, null));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /// Arrows move the read-out from point to point, plus and minus zoom around it, Escape shows the whole run.
  key(event) {
    const line = this.visible()[0];
    if (!line || !this.box) return;
    const { left, right } = this.box.range;
    const now = this.shared.step ?? right;
    const move = (by) => {
      const n = Math.min(line.x.length - 1, Math.max(0, this.at(now)[0].n + by));
      this.shared.point(this, Math.min(right, Math.max(left, line.x[n])));
    };
    const zoom = (by) => this.shared.setZoom([now - (now - left) * by, now + (right - now) * by]);
    const acts = {
      ArrowLeft: () => move(-1),
      ArrowRight: () => move(1),
      Home: () => this.shared.point(this, left),
      End: () => this.shared.point(this, right),
      "+": () => zoom(0.5),
      "-": () => (this.shared.zoom ? zoom(2) : null),
      Escape: () => this.shared.setZoom(null),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }
};
