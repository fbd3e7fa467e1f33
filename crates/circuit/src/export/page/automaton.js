"use strict";
// The automaton's part of the page: who may change the grid and when, the controls, the keys.
// Invariant: the grid changes only inside `exclusive`, one task after the other, so that no stroke is lost while an
// engine is under way.

Farad.SPEEDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 1000, Infinity];

Farad.AutomatonPage = class {
  constructor(data) {
    const { channels, visible, edge } = data;
    this.automaton = { cell: new Farad.Netlist(data), channels, shown: visible.length > 0 ? visible : [0], wrap: edge === "wrap" };
    this.texts = data.wgsl;
    this.meta = data.meta;
    // Where the visible channels are the bits of a color's number.
    if (Array.isArray(data.meta?.palette)) this.automaton.colors = data.meta.palette;
    this.fire = { rate: data.fireRate, seed: Farad.freshSeed(), step: 0 };
    this.tool = "draw";
    this.playing = false;
    this.speed = 4;
    this.waiting = Promise.resolve();
    this.tasks = 0;
    this.pace = { last: 0, credit: 0, cost: 1, seen: 0, since: performance.now() };
    this.element = (id) => document.getElementById(id);
    this.element("automaton").hidden = false;
    this.board = new Farad.Board(this.automaton, this.element("board"), this.element("frame"));
    this.gates = Farad.showGates(this.automaton.cell, this.labels());
  }

  /// How inputs and outputs of the cell are called: an arrow to the neighbor and the channel.
  labels() {
    const { channels, cell } = this.automaton;
    const arrows = ["↖", "↑", "↗", "←", "●", "→", "↙", "↓", "↘"];
    const words = ["up left", "up", "up right", "left", "the cell itself", "right", "down left", "down", "down right"];
    // Channels have the names that reports and rules give them, also where simplification left some out.
    const named = (wire) => (channels > 1 ? cell.outputs[wire % channels].name : "");
    const of = (wire) => (channels > 1 ? `, channel ${named(wire)}` : "");
    return {
      source: (wire) => named(wire) + arrows[Math.floor(wire / channels)],
      long: (wire) => `neighbor: ${words[Math.floor(wire / channels)]}${of(wire)}`,
      output: (n) => (channels > 1 ? `next ${cell.outputs[n].name}` : "next"),
    };
  }

  async open() {
    this.script = new Farad.ScriptEngine(this.automaton);
    this.engine = this.script;
    this.bindControls();
    this.bindPointer();
    const [width, height] = this.firstSize();
    this.board.make(width, height);
    this.showSize();
    this.restart();
    const embedded = document.documentElement.hasAttribute("data-embed");
    if (!embedded) this.inspect({ x: Math.floor(width / 2), y: Math.floor(height / 2) });
    this.use(this.script);
    window.addEventListener("resize", () => this.refit());
    // In a frame the size may come after the page.
    new ResizeObserver(() => this.refit()).observe(document.documentElement);
    requestAnimationFrame((now) => this.frame(now));
    const hash = new URLSearchParams(location.hash.slice(1));
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches || hash.has("paused");
    if (!still) this.play(true);
    // JavaScript goes on until WebGPU is ready.
    if (hash.get("engine") !== "js") await this.choose("webgpu", hash.get("engine") === "webgpu");
  }

  /// Runs tasks that change the grid one after the other.
  exclusive(task) {
    this.tasks++;
    const done = this.waiting.then(task).finally(() => this.tasks--);
    this.waiting = done.catch((error) => Farad.note(`Something went wrong: ${error.message}`));
    return done;
  }

  /// Changes the grid and paints it.
  edit(change) {
    return this.exclusive(async () => {
      change(this.board);
      this.paint(false);
    });
  }

  /// Goes on by some steps.
  advance(steps) {
    return this.exclusive(async () => {
      const { board, fire } = this;
      const begin = performance.now();
      let words;
      try {
        words = await this.engine.run(board.words, board, steps, { ...fire });
      } catch (error) {
        if (this.engine === this.script) throw error;
        Farad.note(`WebGPU stopped (${error.message}); going on in JavaScript.`);
        this.gpu = null;
        this.use(this.script);
        words = await this.engine.run(board.words, board, steps, { ...fire });
      }
      board.words = words;
      fire.step += steps;
      this.pace.cost = 0.7 * this.pace.cost + (0.3 * (performance.now() - begin)) / steps;
      this.pace.seen += steps;
      this.paint(true);
    });
  }

  frame(now) {
    requestAnimationFrame((next) => this.frame(next));
    const { pace } = this;
    const passed = Math.min(250, now - pace.last);
    pace.last = now;
    this.showRate(now);
    if (!this.playing || this.tasks > 0) return;
    const speed = Farad.SPEEDS[this.speed];
    const most = Math.max(1, Math.min(512, Math.floor(12 / Math.max(pace.cost, 0.001))));
    pace.credit = speed === Infinity ? most : Math.min(most, pace.credit + (passed / 1000) * speed);
    const due = Math.floor(pace.credit);
    if (due === 0) return;
    pace.credit -= due;
    this.advance(due);
  }

  paint(moved) {
    this.board.paint(moved);
    this.element("count").textContent = this.fire.step.toLocaleString("en");
    this.element("living").textContent = this.board.living().toLocaleString("en");
    const { chosen } = this.board;
    if (!chosen) return this.gates.show(null);
    const sources = Int32Array.from(this.automaton.cell.inputs, (_, input) => this.board.seen(input, chosen.x, chosen.y));
    this.gates.show(this.automaton.cell.values(sources));
  }

  showRate(now) {
    const { pace } = this;
    if (now - pace.since < 500) return;
    const rate = (1000 * pace.seen) / (now - pace.since);
    this.element("rate").textContent = rate >= 10 ? Math.round(rate).toLocaleString("en") : rate.toFixed(1).replace(/\.0$/, "");
    [pace.seen, pace.since] = [0, now];
  }

  play(on) {
    this.playing = on;
    this.pace.credit = on ? 1 : 0;
    this.element("play-icon").setAttribute("href", on ? "#icon-pause" : "#icon-play");
    this.element("play").setAttribute("aria-label", on ? "Pause" : "Play");
  }

  restart() {
    this.fire.seed = Farad.freshSeed();
    return this.edit((board) => {
      board.start(this.element("start").value, this.fire.seed);
      this.fire.step = 0;
    });
  }

  /// Takes an engine: `webgpu` if there is one, else JavaScript, with a note that says why.
  async choose(name, insisted) {
    let reason = "";
    if (name === "webgpu" && !this.gpu) {
      try {
        this.gpu = await Farad.GpuEngine.open(this.automaton, this.texts);
      } catch (error) {
        reason = error.message;
      }
    }
    await this.exclusive(async () => this.use(name === "webgpu" && this.gpu ? this.gpu : this.script));
    const button = document.querySelector('[data-engine="webgpu"]');
    button.title = reason || (this.gpu && this.gpu.adapter) || "";
    button.disabled = reason !== "";
    Farad.note(insisted && reason ? `No WebGPU: ${reason}. The circuit runs in JavaScript, with the same bits.` : "");
  }

  use(engine) {
    this.engine = engine;
    this.pace.cost = 1;
    const name = engine.constructor.NAME;
    this.element("engine-name").textContent = name;
    this.element("engines").hidden = false;
    Farad.check("[data-engine]", (button) => button.textContent === name);
  }

  firstSize() {
    const size = this.meta.size;
    const learned = Array.isArray(size) && size.every((side) => Number.isInteger(side) && side >= 8 && side <= 1024);
    // A picture that was learned at one size needs that size; rules that work on any look better on a larger one.
    if (learned && ["center", "centre", "zeros"].includes(this.meta.start)) return size;
    return [64, 64];
  }

  showSize() {
    const { width, height } = this.board;
    const select = this.element("size");
    const value = width === height ? String(width) : `${width}x${height}`;
    if (![...select.options].some((option) => option.value === value)) select.add(new Option(`${width} × ${height}`, value));
    select.value = value;
  }

  refit() {
    this.board.fit();
    this.gates.fit();
    this.paint(false);
  }

  /// Colors have changed.
  recolor() {
    this.board.palette = null;
    this.gates.palette = null;
    this.gates.draw();
    this.paint(false);
  }
};
