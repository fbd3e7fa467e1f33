"use strict";
// The gate view: a netlist drawn by levels from left to right. Gates whose value is one are filled and their wires lit.
// It knows nothing of grids: whoever shows it gives the values of the wires.

Farad.GateView = class {
  constructor(netlist, labels) {
    this.netlist = netlist;
    this.labels = labels;
    /// Letters of a name at most, and the room that they take before the first column.
    this.letters = labels.letters ?? 9;
    this.left = 64 + 6.6 * (this.letters - 9);
    this.canvas = document.getElementById("gates-canvas");
    this.scroll = document.getElementById("gates-scroll");
    this.tip = document.getElementById("tip");
    this.values = null;
    this.hovered = -1;
    this.onPick = null;
    this.columns = this.order();
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("pointerdown", (event) => this.pick(event));
    this.scroll.addEventListener("scroll", () => this.leave());
    this.fit();
  }

  /// The wires of each level, ordered so that few lines cross: each goes where its neighbors are on average.
  order() {
    const { netlist } = this;
    const drawn = new Uint8Array(netlist.wires);
    netlist.outputs.concat(netlist.registers.map((register) => ({ wire: register.next }))).forEach(({ wire }) => (drawn[wire] = 1));
    const readers = Array.from({ length: netlist.wires }, () => []);
    for (let gate = netlist.gates - 1; gate >= 0; gate--) {
      drawn[netlist.sources + gate] = 1;
      for (const wire of netlist.operands(gate)) {
        drawn[wire] = 1;
        readers[wire].push(netlist.sources + gate);
      }
    }
    const columns = [];
    for (let wire = 0; wire < netlist.wires; wire++) {
      if (drawn[wire]) (columns[netlist.levels[wire]] ??= []).push(wire);
    }
    for (let level = 0; level < columns.length; level++) columns[level] ??= [];
    const rank = new Float64Array(netlist.wires);
    const number = (column) => column.forEach((wire, n) => (rank[wire] = (n + 0.5) / column.length));
    columns.forEach(number);
    const operands = (wire) => (wire < netlist.sources ? [] : netlist.operands(wire - netlist.sources));
    const mean = (wires, wire) => (wires.length === 0 ? rank[wire] : wires.reduce((sum, other) => sum + rank[other], 0) / wires.length);
    for (let sweep = 0; sweep < 8; sweep++) {
      const forward = sweep % 2 === 0;
      const list = forward ? columns : [...columns].reverse();
      for (const column of list) {
        const weight = new Map(column.map((wire) => [wire, mean(forward ? operands(wire) : readers[wire], wire)]));
        // Sources keep the order of the neighborhood on the way back, so that they can be found.
        if (!forward && netlist.levels[column[0]] === 0 && column.length <= 18) continue;
        column.sort((a, b) => weight.get(a) - weight.get(b));
        number(column);
      }
    }
    this.readers = readers;
    return columns;
  }

  fit() {
    const { columns } = this;
    const density = window.devicePixelRatio || 1;
    const tallest = Math.max(1, ...columns.map((column) => column.length));
    const room = Math.max(280, this.scroll.clientWidth);
    const gap = Math.min(46, Math.max(tallest > 200 ? 7 : 22, 520 / tallest));
    const height = Math.max(220, Math.round(gap * tallest + 44));
    const width = Math.max(room, (columns.length - 1) * (this.netlist.gates > 400 ? 30 : 44) + 96 + this.left);
    this.canvas.width = Math.round(width * density);
    this.canvas.height = Math.round(height * density);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.radius = Math.min(13, Math.max(3, gap * 0.36));
    this.x = new Float64Array(this.netlist.wires).fill(-1);
    this.y = new Float64Array(this.netlist.wires);
    columns.forEach((column, level) => {
      column.forEach((wire, n) => {
        this.x[wire] = this.left + ((width - 64 - this.left) * level) / Math.max(1, columns.length - 1);
        this.y[wire] = 22 + ((height - 44) * (n + 0.5)) / column.length;
      });
    });
    this.density = density;
    this.draw();
  }

  /// Shows these values, one a wire (the lowest bit counts); null shows none.
  show(values) {
    const same = this.values && values && this.values.every((value, wire) => ((value ^ values[wire]) & 1) === 0);
    if (same || (this.values === null && values === null)) return;
    this.values = values;
    this.draw();
  }

  lit(wire) {
    return this.values !== null && (this.values[wire] & 1) === 1;
  }

  colors() {
    if (!this.palette) {
      const style = getComputedStyle(document.documentElement);
      const names = ["card", "ink", "soft", "wire", "lit", "and", "or", "xor", "not", "constant"];
      this.palette = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
      this.sans = style.getPropertyValue("--sans");
    }
    return this.palette;
  }

  draw() {
    const colors = this.colors();
    const context = this.canvas.getContext("2d");
    context.setTransform(this.density, 0, 0, this.density, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const many = this.netlist.gates > 150;
    const lines = (accept, color, width, alpha) => {
      context.beginPath();
      for (let gate = 0; gate < this.netlist.gates; gate++) {
        const to = this.netlist.sources + gate;
        this.netlist.operands(gate).forEach((from, n) => accept(from, to) && this.line(context, from, to, this.pin(gate, n)));
      }
      context.strokeStyle = color;
      context.lineWidth = width;
      context.globalAlpha = alpha;
      context.stroke();
      context.globalAlpha = 1;
    };
    const near = (from, to) => this.hovered >= 0 && (from === this.hovered || to === this.hovered);
    lines((from) => !this.lit(from), colors.wire, many ? 0.8 : 1.4, many ? 0.5 : 1);
    lines((from) => this.lit(from), colors.lit, many ? 1 : 1.8, many ? 0.7 : 1);
    lines(near, colors.ink, 2.2, 0.9);
    this.columns.flat().forEach((wire) => this.dot(context, wire, colors));
    this.rings(context, colors);
    this.names(context, colors);
  }

  /// How far above or below the middle of a gate its operand arrives: the higher one above, so that lines do not cross.
  pin(gate, operand) {
    const [a, b] = this.netlist.operands(gate);
    if (b === undefined || this.radius < 5) return 0;
    const above = this.y[a] <= this.y[b] ? 0 : 1;
    return (operand === above ? -0.5 : 0.5) * this.radius;
  }

  /// Rings where a gate reads the opposite of an operand.
  rings(context, colors) {
    if (this.radius < 5) return;
    for (let gate = 0; gate < this.netlist.gates; gate++) {
      const operand = Farad.INVERTED.get(this.netlist.code[3 * gate]);
      if (operand === undefined) continue;
      const [wire, from] = [this.netlist.sources + gate, this.netlist.operands(gate)[operand]];
      const dy = this.pin(gate, operand);
      const size = Math.max(2.2, this.radius * 0.26);
      context.beginPath();
      context.arc(this.x[wire] - Math.sqrt(this.radius ** 2 - dy ** 2) - size, this.y[wire] + dy, size, 0, 7);
      // A ring is lit where what the gate reads is one.
      context.fillStyle = this.values !== null && !this.lit(from) ? colors.lit : colors.card;
      context.strokeStyle = colors[Farad.GATES[this.netlist.code[3 * gate]].family];
      context.lineWidth = 1.4;
      context.fill();
      context.stroke();
    }
  }

  line(context, from, to, dy = 0) {
    const [x0, y0, x1, y1] = [this.x[from], this.y[from], this.x[to], this.y[to] + dy];
    const middle = (x0 + x1) / 2;
    context.moveTo(x0, y0);
    context.bezierCurveTo(middle, y0, middle, y1, x1, y1);
  }

  dot(context, wire, colors) {
    const gate = wire - this.netlist.sources;
    const kind = gate < 0 ? -1 : this.netlist.code[3 * gate];
    const color = gate < 0 ? colors.soft : colors[Farad.GATES[kind].family];
    const lit = this.lit(wire);
    const radius = this.radius * (gate < 0 ? 0.72 : 1);
    context.beginPath();
    if (gate < 0) context.roundRect(this.x[wire] - radius, this.y[wire] - radius, 2 * radius, 2 * radius, 3);
    else context.arc(this.x[wire], this.y[wire], radius, 0, 7);
    context.fillStyle = lit ? (gate < 0 ? colors.lit : color) : colors.card;
    context.strokeStyle = lit && gate < 0 ? colors.lit : color;
    context.lineWidth = wire === this.hovered ? 3 : 1.6;
    context.fill();
    context.stroke();
    if (gate >= 0 && radius >= 8) {
      context.fillStyle = lit ? colors.card : color;
      context.font = `600 ${Math.round(radius * 1.15)}px ${this.sans}`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      const sign = (Farad.NEGATED.has(kind) ? "¬" : "") + Farad.GATES[kind].sign;
      if (sign.length > 1) context.font = `600 ${Math.round(radius * 0.86)}px ${this.sans}`;
      context.fillText(sign, this.x[wire], this.y[wire] + 0.5);
    }
  }

  /// Names of inputs to the left, of outputs to the right of their gates.
  names(context, colors) {
    if (this.radius < 5) return;
    context.font = `500 12.5px ${this.sans}`;
    context.textBaseline = "middle";
    context.fillStyle = colors.soft;
    context.textAlign = "right";
    for (const wire of this.columns[0] ?? []) {
      if (wire < this.netlist.sources) context.fillText(this.short(this.labels.source(wire)), this.x[wire] - this.radius - 5, this.y[wire]);
    }
    context.textAlign = "left";
    context.fillStyle = colors.ink;
    const shown = new Map();
    this.netlist.outputs.forEach((output, n) => shown.set(output.wire, [...(shown.get(output.wire) ?? []), this.labels.output(n)]));
    for (const [wire, names] of shown) {
      const last = this.x[wire] > this.canvas.width / this.density - 130;
      if (!last && this.netlist.outputs.length > 24) continue;
      context.textAlign = last ? "left" : "center";
      const [x, y] = last ? [this.x[wire] + this.radius + 6, this.y[wire]] : [this.x[wire], this.y[wire] - this.radius - 8];
      context.fillText(this.short(names.join(", ")), x, y);
    }
  }

  short(text) {
    return text.length > this.letters ? `${text.slice(0, this.letters - 1)}…` : text;
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const reach = Math.max(9, this.radius + 3);
    let [best, found] = [reach * reach, -1];
    for (let wire = 0; wire < this.netlist.wires; wire++) {
      if (this.x[wire] < 0) continue;
      const distance = (this.x[wire] - x) ** 2 + (this.y[wire] - y) ** 2;
      if (distance < best) [best, found] = [distance, wire];
    }
    return found;
  }

  hover(event) {
    const wire = this.at(event);
    if (wire !== this.hovered) {
      this.hovered = wire;
      this.draw();
    }
    this.tip.hidden = wire < 0;
    if (wire < 0) return;
    this.tip.textContent = this.describe(wire);
    const box = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, window.innerWidth - box.width - 8))}px`;
    this.tip.style.top = `${event.clientY + 18 + box.height > window.innerHeight ? event.clientY - box.height - 12 : event.clientY + 18}px`;
  }

  leave() {
    this.tip.hidden = true;
    if (this.hovered < 0) return;
    this.hovered = -1;
    this.draw();
  }

  pick(event) {
    this.hover(event);
    if (this.onPick && this.hovered >= 0) this.onPick(this.hovered);
  }

  /// What a wire is, in words.
  describe(wire) {
    const { netlist } = this;
    const value = (of) => (this.values ? ` = ${this.values[of] & 1}` : "");
    const name = (of) => (of < netlist.sources ? this.labels.source(of) : `gate ${of - netlist.sources}`);
    const outputs = netlist.outputs.flatMap((output, n) => (output.wire === wire ? [this.labels.output(n)] : []));
    const shown = outputs.length > 0 ? `\nshown as ${outputs.slice(0, 6).join(", ")}` : "";
    if (wire < netlist.sources) return `${this.labels.long(wire)}${value(wire)}${shown}`;
    const gate = wire - netlist.sources;
    const [a, b] = netlist.operands(gate);
    const reads = [["a", a], ["b", b ?? a]].slice(0, netlist.operands(gate).length);
    const lines = reads.map(([letter, of]) => `${reads.length > 1 ? `${letter}: ` : "of "}${name(of)}${value(of)}`);
    return `${Farad.GATES[netlist.code[3 * gate]].name}${value(wire)} · level ${netlist.levels[wire]}\n${lines.join("\n")}${shown}`;
  }
};
