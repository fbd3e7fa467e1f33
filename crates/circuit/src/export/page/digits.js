"use strict";
// The digit pad: a drawing becomes a picture as the data set has them, the picture bits, the bits a class.
// What the circuit expects stands in its meta data: height, width, thresholds, classes (see the circuit file's format).

Farad.DigitsPage = class {
  constructor(data) {
    const { meta } = data;
    this.netlist = new Farad.Netlist(data);
    this.height = meta.height;
    this.width = meta.width;
    const brightest = meta.brightest ?? 1;
    const lists = Array.isArray(meta.thresholds?.[0]) ? meta.thresholds : [meta.thresholds ?? [0.5 * brightest]];
    /// One list for all pixels or one per pixel, in units of white.
    this.thresholds = lists.map((list) => list.map((threshold) => threshold / brightest));
    this.levels = this.thresholds[0].length;
    this.byPixel = meta.order !== "threshold";
    this.classes = Array.isArray(meta.classes) ? meta.classes.map(String) : Array.from({ length: meta.classes ?? 0 }, (_, n) => String(n));
    this.outputs = this.findOutputs();
    this.element = (id) => document.getElementById(id);
    this.element("digits").hidden = false;
  }

  /// Outputs by what they say: bits of the class's number, and bits of every class's count.
  findOutputs() {
    const [bits, counts] = [[], this.classes.map(() => [])];
    for (const { name, wire } of this.netlist.outputs) {
      const [, bit] = /^class(?:_bit_)?(\d+)$/.exec(name) ?? [];
      const [, of, place] = /^count_(\d+)_(\d+)$/.exec(name) ?? [];
      if (bit !== undefined) bits[bit] = wire;
      if (of !== undefined && counts[of]) counts[of][place] = wire;
    }
    return { bits, counts };
  }

  async open() {
    const wanted = this.height * this.width * this.levels;
    if (wanted !== this.netlist.inputs.length) {
      throw new Error(`the circuit has ${this.netlist.inputs.length} inputs, but its meta data describes ${wanted}`);
    }
    this.ink = this.element("pad").getContext("2d", { willReadFrequently: true });
    this.ink.canvas.width = this.ink.canvas.height = Farad.DigitsPage.SIDE;
    this.fit();
    this.bind();
    this.makeBars();
    this.makeSeen();
    const name = (wire) => this.inputName(wire);
    this.gates = Farad.showGates(this.netlist, { source: name, long: name, output: (n) => this.netlist.outputs[n].name });
    this.element("gates-title").textContent = "Gates";
    this.element("digit-gates").textContent = this.netlist.gates.toLocaleString("en");
    this.element("digit-depth").textContent = this.netlist.depth;
    this.element("digit-inputs").textContent = this.netlist.inputs.length.toLocaleString("en");
    this.wipe();
  }

  /// Which pixel and threshold an input is of.
  source(wire) {
    const [pixels, { levels }] = [this.height * this.width, this];
    return this.byPixel ? [Math.floor(wire / levels), wire % levels] : [wire % pixels, Math.floor(wire / pixels)];
  }

  threshold(pixel, level) {
    return (this.thresholds[pixel] ?? this.thresholds[0])[level];
  }

  inputName(wire) {
    const [pixel, level] = this.source(wire);
    return `${pixel % this.width},${Math.floor(pixel / this.width)}${this.levels > 1 ? ` ≥ ${this.threshold(pixel, level).toFixed(2)}` : ""}`;
  }

  bind() {
    const pad = this.element("pad");
    let last = null;
    const at = (event) => {
      const box = pad.getBoundingClientRect();
      const side = Farad.DigitsPage.SIDE;
      return { x: ((event.clientX - box.left) / box.width) * side, y: ((event.clientY - box.top) / box.height) * side };
    };
    pad.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      pad.setPointerCapture(event.pointerId);
      last = at(event);
      this.stroke(last, last);
    });
    pad.addEventListener("pointermove", (event) => {
      if (last === null) return;
      for (const moved of event.getCoalescedEvents?.() ?? [event]) {
        const next = at(moved);
        this.stroke(last, next);
        last = next;
      }
    });
    ["pointerup", "pointercancel"].forEach((name) => pad.addEventListener(name, () => (last = null)));
    this.element("wipe").addEventListener("click", () => this.wipe());
    const pen = this.element("pen");
    const showPen = () => (this.element("pen-value").textContent = `${pen.value}`);
    pen.addEventListener("input", showPen);
    showPen();
    document.addEventListener("keydown", (event) => event.key.toLowerCase() === "c" && !event.ctrlKey && !event.metaKey && this.wipe());
    window.addEventListener("resize", () => {
      this.fit();
      this.gates.fit();
    });
  }

  fit() {
    const space = Math.min(560, Farad.room(this.element("pad-frame")));
    Object.assign(this.element("pad").style, { width: `${space}px`, height: `${space}px` });
  }

  wipe() {
    this.drawn = new Float32Array(Farad.DigitsPage.SIDE ** 2);
    this.element("pad-hint").hidden = false;
    this.judge();
  }

  /// Soft ink along a line: full in the middle, fading over the rim of the brush.
  stroke(from, to) {
    const side = Farad.DigitsPage.SIDE;
    const radius = (Number(this.element("pen").value) / 280) * side;
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    const dabs = Math.max(1, Math.ceil(length / (radius / 4)));
    for (let n = 0; n <= dabs; n++) {
      const [x, y] = [from.x + ((to.x - from.x) * n) / dabs, from.y + ((to.y - from.y) * n) / dabs];
      for (let row = Math.max(0, Math.floor(y - radius)); row < Math.min(side, y + radius + 1); row++) {
        for (let column = Math.max(0, Math.floor(x - radius)); column < Math.min(side, x + radius + 1); column++) {
          const distance = Math.hypot(column + 0.5 - x, row + 0.5 - y) / radius;
          const ink = Math.min(1, Math.max(0, (1 - distance) * 2.5));
          const place = row * side + column;
          if (ink > this.drawn[place]) this.drawn[place] = ink;
        }
      }
    }
    this.element("pad-hint").hidden = true;
    if (this.due) return;
    this.due = requestAnimationFrame(() => {
      this.due = null;
      this.judge();
    });
  }

  /// From the drawing to the class, and all of it on the screen.
  judge() {
    this.picture = Farad.normalized(this.drawn, Farad.DigitsPage.SIDE, this.width, this.height);
    const result = this.classify(this.picture);
    this.paintPad();
    this.paintSeen();
    this.gates.show(this.values);
    this.showResult(result, this.drawn.some((ink) => ink > 0.1));
  }

  /// The class of a picture (`[height, width]`, from 0 to 1) and the counts of all classes.
  classify(picture) {
    const begin = performance.now();
    this.bits = Int32Array.from(this.netlist.inputs, (_, wire) => {
      const [pixel, level] = this.source(wire);
      return picture[pixel] >= this.threshold(pixel, level) ? 1 : 0;
    });
    this.values = this.netlist.values(this.bits);
    const bit = (wire) => (wire === undefined ? 0 : this.values[wire] & 1);
    const number = (wires) => wires.reduce((sum, wire, place) => sum + bit(wire) * 2 ** place, 0);
    const counts = this.outputs.counts.map((wires) => (wires.length > 0 ? number(wires) : null));
    const best = this.outputs.bits.length > 0 ? number(this.outputs.bits) : counts.indexOf(Math.max(...counts));
    this.element("digit-time").textContent = `${(performance.now() - begin).toFixed(1)} ms`;
    return { best, counts };
  }

  makeBars() {
    this.bars = this.classes.map((name) => {
      const row = document.createElement("div");
      row.className = "vote";
      const parts = ["span", "i", "span"].map((tag) => row.appendChild(document.createElement(tag)));
      parts[0].textContent = name;
      this.element("bars").append(row);
      return { row, bar: parts[1], count: parts[2] };
    });
  }

  showResult({ best, counts }, drawn) {
    const most = Math.max(1, ...counts.map((count) => count ?? 0));
    this.element("guess").textContent = drawn ? this.classes[best] ?? `${best}` : "–";
    this.element("guess-note").textContent = drawn ? "what the circuit reads" : "nothing drawn yet";
    this.bars.forEach(({ row, bar, count }, n) => {
      const votes = counts[n];
      row.classList.toggle("best", drawn && n === best);
      bar.style.width = drawn ? `${(100 * (votes ?? (n === best ? 1 : 0))) / (votes === null ? 1 : most)}%` : "0";
      count.textContent = drawn && votes !== null ? votes : "";
    });
  }

  makeSeen() {
    const show = (label) => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height, canvas.title] = [this.width, this.height, label];
      this.element("seen").append(canvas);
      return canvas.getContext("2d");
    };
    const shown = Array.from({ length: Math.min(4, this.levels) }, (_, level) => `bit ${level} of every pixel`);
    this.seen = [show("centered and scaled"), ...shown.map(show)];
    const same = this.levels === 1 && this.thresholds.length === 1;
    this.element("seen-note").textContent =
      `Centered and scaled to ${this.width} × ${this.height}, then ` +
      (same ? `one bit per pixel: from ${Number(this.thresholds[0][0].toFixed(2))} on.` : `${this.levels} bits per pixel, one per threshold.`);
  }

  tones() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => [1, 3, 5].map((at) => parseInt(style.getPropertyValue(`--${name}`).trim().slice(at, at + 2), 16));
    return [color("off"), color("on")];
  }

  /// Paints values from 0 to 1.
  paint(context, width, height, value) {
    const [off, on] = this.tones();
    const image = new ImageData(width, height);
    for (let n = 0; n < width * height; n++) {
      const shade = value(n);
      off.forEach((tone, part) => (image.data[4 * n + part] = tone + (on[part] - tone) * shade));
      image.data[4 * n + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }

  paintPad() {
    this.paint(this.ink, Farad.DigitsPage.SIDE, Farad.DigitsPage.SIDE, (n) => this.drawn[n]);
  }

  paintSeen() {
    const pixels = this.width * this.height;
    const { levels } = this;
    this.seen.forEach((context, part) => {
      const bit = (n) => this.bits[this.byPixel ? n * levels + part - 1 : (part - 1) * pixels + n];
      this.paint(context, this.width, this.height, part === 0 ? (n) => this.picture[n] : bit);
    });
  }

  recolor() {
    this.paintPad();
    this.paintSeen();
    this.gates.palette = null;
    this.gates.draw();
  }

  hooks() {
    return {
      kind: "image-classifier",
      /// The class and the counts for a picture of numbers from 0 to 1, as it is: neither centered nor scaled.
      classify: (picture) => this.classify(picture),
      /// The picture that the drawing became.
      picture: () => [...this.picture],
      guess: () => this.element("guess").textContent,
    };
  }
};

/// Cells of the drawing along a side.
Farad.DigitsPage.SIDE = 196;

/// A drawing as MNIST has its digits: the ink fills a box of 20 of 28 in its longer direction, and its center of
/// mass is the middle of the picture. Values from 0 to 1; an empty drawing gives zeros.
Farad.normalized = function (drawn, side, width, height) {
  const picture = new Float32Array(width * height);
  let [left, right, top, bottom] = [side, -1, side, -1];
  for (let place = 0; place < side * side; place++) {
    if (drawn[place] < 0.1) continue;
    const [x, y] = [place % side, Math.floor(place / side)];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  }
  if (right < 0) return picture;
  const longer = Math.max(right - left, bottom - top) + 1;
  const scale = ((20 / 28) * Math.min(width, height)) / longer;
  const [middleX, middleY] = Farad.centerOfMass(drawn, side);
  // A pixel is the mean of the ink under it, found at a few points.
  const points = Math.max(2, Math.min(8, Math.round(1 / scale)));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      let sum = 0;
      for (let n = 0; n < points * points; n++) {
        const [dx, dy] = [((n % points) + 0.5) / points, (Math.floor(n / points) + 0.5) / points];
        const column = Math.floor((x + dx - width / 2) / scale + middleX);
        const row = Math.floor((y + dy - height / 2) / scale + middleY);
        if (column >= 0 && row >= 0 && column < side && row < side) sum += drawn[row * side + column];
      }
      picture[y * width + x] = sum / (points * points);
    }
  }
  return picture;
};

Farad.centerOfMass = function (drawn, side) {
  let [mass, x, y] = [0, 0, 0];
  for (let place = 0; place < side * side; place++) {
    mass += drawn[place];
    x += drawn[place] * ((place % side) + 0.5);
    y += drawn[place] * (Math.floor(place / side) + 0.5);
  }
  return [x / mass, y / mass];
};
