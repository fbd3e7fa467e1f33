"use strict";
// A classifier of table rows: a slider per column, and the name of the class that the circuit sees.
// What inputs and classes are stands in the meta data: columns, thresholds (a list per column), classes.

Farad.TablePage = class {
  /// Whether a circuit is one that this page can show.
  static fits({ kind, meta, inputs, registers }) {
    const lists = Array.isArray(meta.thresholds?.[0]) ? meta.thresholds : null;
    if (kind !== "netlist" || !Array.isArray(meta.columns) || !Array.isArray(meta.classes) || registers.length > 0) return false;
    return lists !== null && lists.length === meta.columns.length && lists.flat().length === inputs.length;
  }

  constructor(data) {
    this.netlist = new Farad.Netlist(data);
    this.columns = data.meta.columns.map(String);
    this.classes = data.meta.classes.map(String);
    this.thresholds = data.meta.thresholds;
    this.element = (id) => document.getElementById(id);
    this.element("table").hidden = false;
  }

  async open() {
    this.bits = this.netlist.outputs.flatMap(({ name, wire }) => (/^class\d+$/.test(name) ? [wire] : []));
    this.sliders = this.columns.map((name, column) => this.slider(name, column));
    const levels = this.thresholds[0].length;
    const name = (wire) => `${this.columns[Math.floor(wire / levels)]} ≥ ${this.short(this.thresholds[Math.floor(wire / levels)][wire % levels])}`;
    this.gates = Farad.showGates(this.netlist, { source: name, long: name, output: (n) => this.netlist.outputs[n].name, letters: 20 });
    this.element("gates-title").textContent = "Gates";
    this.element("table-gates").textContent = this.netlist.gates.toLocaleString("en");
    this.element("table-depth").textContent = this.netlist.depth;
    this.element("table-inputs").textContent = this.netlist.inputs.length.toLocaleString("en");
    window.addEventListener("resize", () => this.gates.fit());
    this.show();
  }

  short(number) {
    return String(Number(number.toPrecision(4)));
  }

  /// A slider that reaches a quarter beyond the outermost thresholds.
  slider(name, column) {
    const list = this.thresholds[column];
    const [low, high] = [Math.min(...list), Math.max(...list)];
    const room = (high - low || Math.abs(high) || 1) / 4;
    const [row, title, input, output] = ["label", "span", "input", "output"].map((tag) => document.createElement(tag));
    row.className = "slide";
    title.textContent = name;
    Object.assign(input, { type: "range", min: low - room, max: high + room, step: "any", value: (low + high) / 2 });
    input.addEventListener("input", () => this.show());
    row.append(title, input, output);
    this.element("columns").append(row);
    return { input, output };
  }

  /// The number of the class for numbers, one per column.
  classify(numbers) {
    // Thresholds are numbers of single precision, and so is what is compared with them.
    const bits = this.thresholds.flatMap((list, column) => list.map((level) => (Math.fround(numbers[column]) >= Math.fround(level) ? 1 : 0)));
    this.values = this.netlist.values(Int32Array.from(bits));
    return this.bits.reduce((sum, wire, place) => sum + (this.values[wire] & 1) * 2 ** place, 0);
  }

  show() {
    const numbers = this.sliders.map(({ input }) => Number(input.value));
    this.sliders.forEach(({ output }, column) => (output.textContent = this.short(numbers[column])));
    const best = this.classify(numbers);
    this.element("table-guess").textContent = this.classes[best] ?? String(best);
    this.gates.show(this.values);
  }

  recolor() {
    this.gates.palette = null;
    this.gates.draw();
  }

  hooks() {
    return {
      kind: "classifier",
      /// The name of the class for numbers, one per column; the sliders move there.
      classify: (numbers) => {
        numbers.forEach((number, column) => {
          const { input } = this.sliders[column];
          [input.min, input.max] = [Math.min(input.min, number), Math.max(input.max, number)];
          input.value = number;
        });
        this.show();
        return this.classes[this.classify(numbers)];
      },
      guess: () => this.element("table-guess").textContent,
    };
  }
};
