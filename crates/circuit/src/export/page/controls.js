"use strict";
// The automaton's controls: buttons, sliders, the pointer on the grid, keys.

Farad.KEYS = [
  ["space", "play or pause"], ["S", "one step"], ["R", "restart"], ["+ −", "faster, slower"], ["D E N", "draw, erase, noise"],
  ["I", "inspect: look into a cell"], ["[ ]", "smaller, larger brush"], ["B", "cut a hole"], ["X", "sprinkle noise"], ["C", "clear"],
  ["T", "light or dark"], ["?", "these keys"],
];

Object.assign(Farad.AutomatonPage.prototype, {
  bindControls() {
    const { automaton, meta } = this;
    const on = (id, event, act) => this.element(id).addEventListener(event, act);
    this.fillSelects(automaton, meta);
    on("play", "click", () => this.play(!this.playing));
    on("step", "click", () => this.stepOnce());
    on("restart", "click", () => this.restart());
    on("start", "change", () => this.restart());
    on("block", "click", () => this.cutHole());
    on("sprinkle", "click", () => this.edit((board) => board.sprinkle(Farad.freshSeed(), 0.02)));
    on("clear", "click", () => this.edit((board) => board.start("zeros", 0)));
    on("speed", "input", (event) => this.setSpeed(Number(event.target.value)));
    on("brush", "input", (event) => this.setBrush(Number(event.target.value)));
    on("fire", "input", (event) => this.setFire(Number(event.target.value) / 100));
    on("glow", "change", (event) => this.edit((board) => (board.look.glow = event.target.checked)));
    on("view", "change", (event) => this.edit((board) => (board.look.view = event.target.value)));
    on("size", "change", (event) => this.changeSize(event.target.value));
    document.querySelectorAll("[data-tool]").forEach((button) => button.addEventListener("click", () => this.setTool(button.dataset.tool)));
    document.querySelectorAll("[data-engine]").forEach((button) =>
      button.addEventListener("click", () => this.choose(button.dataset.engine, true)),
    );
    document.addEventListener("keydown", (event) => this.key(event));
    this.setSpeed(this.speed);
    this.setBrush(1);
    this.setFire(this.fire.rate);
    this.setTool("draw");
    this.gates.onPick = (wire) => this.flipSeen(wire);
    this.element("gate-count").textContent = automaton.cell.gates.toLocaleString("en");
    this.element("depth").textContent = automaton.cell.depth;
  },

  fillSelects({ channels, shown }, meta) {
    const add = (id, options) => options.forEach(([value, text]) => this.element(id).add(new Option(text, value)));
    const starts = [["random", "Random bits"], ["sparse", "A few random bits"], ["center", "One cell in the middle"], ["zeros", "Nothing"]];
    const life = channels === 1 && /life/i.test(`${meta.recipe ?? ""} ${this.automaton.cell.name}`);
    const patterns = life ? Object.entries(Farad.PATTERNS).map(([name, { title }]) => [name, title]) : [];
    add("start", [...starts, ...patterns]);
    // Earlier versions wrote "centre".
    const wanted = meta.start === "boards" || life ? "sparse" : meta.start === "centre" ? "center" : meta.start;
    this.element("start").value = starts.some(([name]) => name === wanted) ? wanted : "random";
    add("size", [8, 16, 20, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024].map((side) => [side, `${side} × ${side}`]));
    const each = Array.from({ length: channels }, (_, n) => [String(n), `Channel ${this.automaton.cell.outputs[n].name}${shown.includes(n) ? " (visible)" : ""}`]);
    const many = channels > 1;
    add("view", [["picture", shown.length >= 3 ? "Colors" : "Picture"], ...(many ? [["all", "All channels"], ...each] : [])]);
    add("channel", [...(many ? [["all", "All channels"], ["visible", "Visible channels"]] : []), ...each]);
    this.element("channel-row").hidden = !many;
  },

  setSpeed(index) {
    this.speed = Math.max(0, Math.min(Farad.SPEEDS.length - 1, index));
    this.element("speed").value = this.speed;
    const speed = Farad.SPEEDS[this.speed];
    this.element("speed-value").textContent = speed === Infinity ? "most" : `${speed} /s`;
  },

  setBrush(size) {
    this.brush = Math.max(1, Math.min(16, size));
    this.element("brush").value = this.brush;
    this.element("brush-value").textContent = this.brush === 1 ? "1 cell" : `${this.brush} cells`;
  },

  setFire(rate) {
    this.fire.rate = rate;
    this.element("fire").value = Math.round(rate * 100);
    this.element("fire-value").textContent = `${Math.round(rate * 100)} %`;
  },

  setTool(tool) {
    this.tool = tool;
    Farad.check("[data-tool]", (button) => button.dataset.tool === tool);
    this.element("board").style.cursor = tool === "inspect" ? "help" : "crosshair";
  },

  changeSize(value) {
    const [width, height] = value.includes("x") ? value.split("x").map(Number) : [Number(value), Number(value)];
    const keep = this.element("keep").checked;
    this.edit((board) => board.resize(width, height, keep));
    if (!keep) this.restart();
  },

  stepOnce() {
    this.play(false);
    return this.advance(1);
  },

  cutHole() {
    this.edit((board) => {
      const side = Math.max(2, Math.round(Math.min(board.width, board.height) * 0.3));
      const random = (limit) => Math.floor(Math.random() * Math.max(1, limit));
      board.cut(random(board.width - side + 1), random(board.height - side + 1), side, side);
    });
  },

  /// Flips a bit that the chosen cell sees, by its input in the gate view.
  flipSeen(input) {
    const { chosen, width, height } = this.board;
    const { channels, wrap } = this.automaton;
    if (!chosen || input >= this.automaton.cell.sources) return;
    const position = Math.floor(input / channels);
    let [x, y] = [chosen.x + (position % 3) - 1, chosen.y + Math.floor(position / 3) - 1];
    if (wrap) [x, y] = [(x + width) % width, (y + height) % height];
    const value = !this.board.seen(input, chosen.x, chosen.y);
    this.edit((board) => board.set(input % channels, x, y, value));
  },

  /// The channels that the brush paints.
  painted() {
    const choice = this.element("channel").value;
    if (choice === "all" || this.tool === "erase") return [...Array(this.automaton.channels).keys()];
    return choice === "visible" ? this.automaton.shown : [Number(choice)];
  },

  bindPointer() {
    const canvas = this.element("board");
    let last = null;
    const paint = { draw: () => true, erase: () => false, noise: () => Math.random() < 0.5 };
    const put = (event) => {
      const cell = this.board.cellAt(event);
      if (this.tool === "inspect") return this.inspect(cell);
      const [from, size, channels, bit] = [last ?? cell, this.brush, this.painted(), paint[this.drawing]];
      this.edit((board) => board.stroke(from, cell, size, channels, bit));
      last = cell;
    };
    canvas.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      canvas.setPointerCapture(event.pointerId);
      last = null;
      const cell = this.board.cellAt(event);
      const single = this.automaton.channels === 1 && this.brush === 1;
      // With one channel, a press on a living cell rubs it out: drawing and correcting need one tool.
      const rub = this.tool === "draw" && (event.button === 2 || (single && this.board.get(0, cell.x, cell.y) === 1));
      this.drawing = rub ? "erase" : this.tool;
      put(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      // A pointer that was pressed elsewhere does not draw.
      if (this.drawing) (event.getCoalescedEvents?.() ?? [event]).forEach(put);
    });
    ["pointerup", "pointercancel"].forEach((name) => canvas.addEventListener(name, () => (this.drawing = null)));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  },

  inspect({ x, y }) {
    const { board } = this;
    if (x < 0 || y < 0 || x >= board.width || y >= board.height) return;
    this.edit(() => (board.chosen = { x, y }));
    this.element("gates-note").textContent = `Column ${x + 1}, row ${y + 1}, marked on the grid: choose another with Inspect. A click on an input flips that cell.`;
  },

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === " " && event.target.tagName === "BUTTON") return;
    const click = (id) => () => this.element(id).click();
    const keys = {
      " ": click("play"), s: click("step"), ArrowRight: click("step"), r: click("restart"), b: click("block"), x: click("sprinkle"), c: click("clear"),
      d: () => this.setTool("draw"), e: () => this.setTool("erase"), n: () => this.setTool("noise"), i: () => this.setTool("inspect"),
      "[": () => this.setBrush(this.brush - 1), "]": () => this.setBrush(this.brush + 1),
      "+": () => this.setSpeed(this.speed + 1), "=": () => this.setSpeed(this.speed + 1), "-": () => this.setSpeed(this.speed - 1),
    };
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  },

  /// What programs and tests may use.
  hooks() {
    const page = this;
    return {
      kind: "automaton",
      get engine() {
        return page.engine === page.gpu ? "webgpu" : "js";
      },
      /// A grid of this size: zeros and ones, channel after channel, row after row.
      setGrid: (width, height, bits) =>
        page.edit((board) => {
          board.make(width, height);
          const size = width * height;
          [...bits].forEach((bit, n) => board.set(Math.floor(n / size), n % width, Math.floor((n % size) / width), bit === "1"));
          page.showSize();
        }),
      setSeed: (seed) => page.exclusive(async () => Object.assign(page.fire, { seed, step: 0 })),
      step: (count = 1) => page.advance(count),
      grid: () => page.exclusive(async () => page.board.text()),
      place: (x, y) => page.board.place(x, y),
      pause: () => page.play(false),
      inspect: (x, y) => page.inspect({ x, y }),
      values: () => (page.gates.values ? [...page.gates.values].map((value) => value & 1) : null),
    };
  },
});
