"use strict";
// A plain netlist: inputs to switch, outputs to read, the gate view between them.

Farad.NetlistPage = class {
  constructor(data) {
    this.netlist = new Farad.Netlist(data);
    this.sources = new Int32Array(this.netlist.sources);
    this.netlist.registers.forEach((register, n) => (this.sources[this.netlist.inputs.length + n] = Number(register.initial)));
    document.getElementById("netlist").hidden = false;
  }

  async open() {
    const { netlist } = this;
    const name = (wire) => netlist.inputs[wire] ?? netlist.registers[wire - netlist.inputs.length].name;
    const labels = { source: name, long: name, output: (n) => netlist.outputs[n].name };
    this.gates = Farad.showGates(netlist, labels);
    this.gates.onPick = (wire) => wire < netlist.inputs.length && this.flip(wire);
    const inputs = document.getElementById("inputs");
    // More switches than these nobody reads; the gates still show them all.
    this.chips = netlist.inputs.slice(0, 256).map((input, wire) => {
      const chip = document.createElement("button");
      chip.type = "button";
      chip.append(input, " ", document.createElement("b"));
      chip.addEventListener("click", () => this.flip(wire));
      inputs.append(chip);
      return chip;
    });
    this.shown = netlist.outputs.slice(0, 256).map((output) => {
      const chip = document.createElement("span");
      chip.append(output.name, " ", document.createElement("b"));
      document.getElementById("outputs").append(chip);
      return chip;
    });
    document.getElementById("shuffle").addEventListener("click", () => this.shuffle());
    const tick = document.getElementById("tick");
    tick.hidden = netlist.registers.length === 0;
    tick.addEventListener("click", () => this.tick());
    document.getElementById("gates-title").textContent = "Gates";
    if (this.gates instanceof Farad.GateView) document.getElementById("gates-note").textContent = "A click on an input flips it.";
    window.addEventListener("resize", () => this.gates.fit());
    this.show();
  }

  flip(wire) {
    this.sources[wire] ^= 1;
    this.show();
  }

  shuffle() {
    this.netlist.inputs.forEach((_, wire) => (this.sources[wire] = Math.random() < 0.5 ? 1 : 0));
    this.show();
  }

  /// Registers take over their next values.
  tick() {
    const next = this.netlist.registers.map((register) => this.values[register.next] & 1);
    next.forEach((value, n) => (this.sources[this.netlist.inputs.length + n] = value));
    this.show();
  }

  show() {
    this.values = this.netlist.values(this.sources);
    this.chips.forEach((chip, wire) => {
      chip.setAttribute("aria-pressed", String(this.sources[wire] === 1));
      chip.querySelector("b").textContent = this.sources[wire];
    });
    this.shown.forEach((chip, n) => {
      const value = this.values[this.netlist.outputs[n].wire] & 1;
      chip.className = value === 1 ? "one" : "";
      chip.querySelector("b").textContent = value;
    });
    this.gates.show(this.values);
  }

  recolor() {
    this.gates.palette = null;
    this.gates.draw();
  }

  hooks() {
    return {
      kind: "netlist",
      /// The outputs for these inputs, zeros and ones.
      evaluate: (bits) => {
        [...bits].forEach((bit, wire) => (this.sources[wire] = Number(bit)));
        this.show();
        return this.netlist.outputs.map((output) => this.values[output.wire] & 1).join("");
      },
      tick: () => this.tick(),
    };
  }
};
