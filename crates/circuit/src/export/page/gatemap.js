"use strict";
// Circuits too large for lines between gates: a square a gate, level after level, bright where its value is one.

Farad.GateMap = class {
  constructor(netlist) {
    this.netlist = netlist;
    this.canvas = document.getElementById("gates-canvas");
    this.scroll = document.getElementById("gates-scroll");
    this.values = null;
    this.levels = [];
    for (let gate = 0; gate < netlist.gates; gate++) {
      const level = netlist.levels[netlist.sources + gate];
      (this.levels[level] ??= []).push(gate);
    }
    this.levels = this.levels.filter((level) => level !== undefined);
    this.fit();
  }

  fit() {
    const { netlist } = this;
    this.density = window.devicePixelRatio || 1;
    const width = Math.max(280, this.scroll.clientWidth);
    this.size = netlist.gates > 20000 ? 4 : 6;
    this.across = Math.max(8, Math.floor((width - 36) / this.size));
    let top = 12;
    this.tops = this.levels.map((level) => {
      const at = top;
      top += Math.ceil(level.length / this.across) * this.size + 5;
      return at;
    });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${top + 10}px` });
    [this.canvas.width, this.canvas.height] = [width * this.density, (top + 10) * this.density];
    this.draw();
  }

  /// Shows values a moment later: thousands of squares must not hold up a stroke.
  show(values) {
    this.values = values;
    clearTimeout(this.due);
    this.due = setTimeout(() => this.draw(), 60);
  }

  draw() {
    const style = getComputedStyle(document.documentElement);
    this.palette = Object.fromEntries(["and", "or", "xor", "not", "constant"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    const context = this.canvas.getContext("2d");
    context.setTransform(this.density, 0, 0, this.density, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.levels.forEach((level, row) => {
      level.forEach((gate, n) => {
        const lit = this.values !== null && (this.values[this.netlist.sources + gate] & 1) === 1;
        context.globalAlpha = lit ? 1 : 0.16;
        context.fillStyle = this.palette[Farad.GATES[this.netlist.code[3 * gate]].family];
        const [x, y] = [18 + (n % this.across) * this.size, this.tops[row] + Math.floor(n / this.across) * this.size];
        context.fillRect(x, y, this.size - 1, this.size - 1);
      });
    });
    context.globalAlpha = 1;
  }
};

/// The view that suits a netlist.
Farad.showGates = (netlist, labels) => {
  const small = netlist.gates <= 3000;
  if (!small) {
    document.getElementById("gates-note").textContent =
      `A square a gate, ${netlist.depth} levels from the top; bright where it is one.`;
  }
  return small ? new Farad.GateView(netlist, labels) : new Farad.GateMap(netlist);
};
