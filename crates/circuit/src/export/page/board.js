"use strict";
// The grid on the screen: its cells as packed words, what can be drawn on them, and how they are painted.
// Bits beyond the width are always zero.

Farad.Board = class {
  constructor(automaton, canvas, frame) {
    this.automaton = automaton;
    this.canvas = canvas;
    this.frame = frame;
    this.small = document.createElement("canvas");
    this.look = { view: "picture", glow: true };
    this.chosen = null;
    this.make(64, 64);
  }

  make(width, height) {
    this.width = width;
    this.height = height;
    this.rowWords = Math.ceil(width / 32);
    this.plane = this.rowWords * height;
    this.words = new Int32Array(this.plane * this.automaton.channels);
    this.warmth = new Float32Array(width * height);
    this.small.width = width;
    this.small.height = height;
    this.image = new ImageData(width, height);
    this.chosen = null;
    this.fit();
  }

  /// Another size; what was there stays in the middle.
  resize(width, height, keep) {
    const old = { words: this.words, width: this.width, height: this.height, rowWords: this.rowWords, plane: this.plane };
    this.make(width, height);
    if (!keep) return;
    const [right, down] = [Math.floor((width - old.width) / 2), Math.floor((height - old.height) / 2)];
    for (let channel = 0; channel < this.automaton.channels; channel++) {
      for (let y = 0; y < old.height; y++) {
        for (let x = 0; x < old.width; x++) {
          const word = old.words[channel * old.plane + y * old.rowWords + (x >> 5)];
          if ((word >>> (x & 31)) & 1) this.set(channel, x + right, y + down, true);
        }
      }
    }
  }

  get(channel, x, y) {
    return (this.words[channel * this.plane + y * this.rowWords + (x >> 5)] >>> (x & 31)) & 1;
  }

  /// Sets a bit; outside the grid nothing happens.
  set(channel, x, y, value) {
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) return;
    const place = channel * this.plane + y * this.rowWords + (x >> 5);
    if (value) this.words[place] |= 1 << (x & 31);
    else this.words[place] &= ~(1 << (x & 31));
  }

  /// What a cell sees of a neighbor, as the circuit's input of this number.
  seen(input, x, y) {
    const { channels, wrap } = this.automaton;
    const [position, channel] = [Math.floor(input / channels), input % channels];
    let [column, row] = [x + (position % 3) - 1, y + Math.floor(position / 3) - 1];
    if (wrap) [column, row] = [(column + this.width) % this.width, (row + this.height) % this.height];
    return column < 0 || row < 0 || column >= this.width || row >= this.height ? 0 : this.get(channel, column, row);
  }

  /// The cells as zeros and ones: channel after channel, row after row.
  text() {
    const bits = [];
    for (let channel = 0; channel < this.automaton.channels; channel++) {
      for (let y = 0; y < this.height; y++) {
        for (let x = 0; x < this.width; x++) bits.push(this.get(channel, x, y));
      }
    }
    return bits.join("");
  }

  fill(words) {
    this.words.set(words);
    const mask = Farad.lastMask(this.width);
    for (let n = this.rowWords - 1; n < this.words.length; n += this.rowWords) this.words[n] &= mask;
  }

  /// Where roll-outs start.
  start(kind, seed) {
    this.words.fill(0);
    this.warmth.fill(0);
    const [x, y] = [Math.floor(this.width / 2), Math.floor(this.height / 2)];
    const all = [...Array(this.automaton.channels).keys()];
    if (kind === "random") this.fill(Farad.randomWords(seed, this.words.length, 0.5));
    else if (kind === "sparse") this.fill(Farad.randomWords(seed, this.words.length, 0.2));
    else if (kind === "center") all.forEach((channel) => this.set(channel, x, y, true));
    else if (Farad.PATTERNS[kind]) {
      const rows = Farad.PATTERNS[kind].rows;
      const [left, top] = [x - Math.floor(rows[0].length / 2), y - Math.floor(rows.length / 2)];
      rows.forEach((row, dy) => [...row].forEach((mark, dx) => this.set(0, left + dx, top + dy, mark === "#")));
    }
  }

  /// Puts a round brush down: `paint` says what becomes of a bit.
  dab(x, y, size, channels, paint) {
    const reach = (size - 1) / 2;
    const from = Math.ceil(-reach);
    for (let dy = from; dy <= reach + 0.5; dy++) {
      for (let dx = from; dx <= reach + 0.5; dx++) {
        const [a, b] = [dx - (from + reach), dy - (from + reach)];
        if (size > 2 && a * a + b * b > (size * size) / 4) continue;
        channels.forEach((channel) => this.set(channel, x + dx, y + dy, paint()));
      }
    }
  }

  /// Draws from cell to cell without gaps.
  stroke(from, to, size, channels, paint) {
    const length = Math.max(Math.abs(to.x - from.x), Math.abs(to.y - from.y), 1);
    for (let n = 0; n <= length; n++) {
      const [x, y] = [from.x + ((to.x - from.x) * n) / length, from.y + ((to.y - from.y) * n) / length];
      this.dab(Math.round(x), Math.round(y), size, channels, paint);
    }
  }

  /// Sets a block of cells to zero.
  cut(x, y, width, height) {
    for (let channel = 0; channel < this.automaton.channels; channel++) {
      for (let row = y; row < y + height; row++) {
        for (let column = x; column < x + width; column++) this.set(channel, column, row, false);
      }
    }
  }

  /// Flips bits at random.
  sprinkle(seed, density) {
    this.fill(Farad.randomWords(seed, this.words.length, density).map((word, n) => word ^ this.words[n]));
  }

  /// How many cells show something: a one in a visible channel.
  living() {
    let count = 0;
    for (let n = 0; n < this.plane; n++) {
      let word = 0;
      for (const channel of this.automaton.shown) word |= this.words[channel * this.plane + n];
      for (; word !== 0; word &= word - 1) count++;
    }
    return count;
  }

  /// The cell under a point of the screen.
  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * this.width);
    const y = Math.floor(((event.clientY - box.top) / box.height) * this.height);
    return { x, y };
  }

  /// The middle of a cell on the screen.
  place(x, y) {
    const box = this.canvas.getBoundingClientRect();
    return { x: box.left + ((x + 0.5) / this.width) * box.width, y: box.top + ((y + 0.5) / this.height) * box.height };
  }

  /// Makes the canvas as large as there is room for in whole pixels per cell.
  fit() {
    const space = Farad.room(this.frame);
    const density = window.devicePixelRatio || 1;
    const side = Math.max(this.width, this.height);
    this.cell = Math.max(1, Math.floor((space * density) / side));
    this.canvas.width = this.cell * this.width;
    this.canvas.height = this.cell * this.height;
    const scale = Math.min(1 / density, space / (this.cell * side));
    this.canvas.style.width = `${this.canvas.width * scale}px`;
    this.canvas.style.height = `${this.canvas.height * scale}px`;
  }

  paint(moved) {
    const colors = this.colors();
    const data = new Uint32Array(this.image.data.buffer);
    const { view } = this.look;
    if (view === "picture" && this.automaton.colors) this.paintColors(data);
    else if (view === "picture" && this.automaton.shown.length >= 3) this.paintLight(data);
    else if (view === "all") this.paintSum(data, colors);
    else this.paintChannel(data, colors, view === "picture" ? this.automaton.shown[0] : Number(view), moved);
    this.small.getContext("2d").putImageData(this.image, 0, 0);
    const context = this.canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(this.small, 0, 0, this.canvas.width, this.canvas.height);
    if (this.cell >= 7) this.paintLines(context, colors.grid);
    if (this.chosen) this.paintChosen(context, colors);
  }

  colors() {
    if (this.palette) return this.palette;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => {
      const text = style.getPropertyValue(`--${name}`).trim();
      return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
    };
    const [off, on, glow] = [color("off"), color("on"), color("glow")];
    const css = (name) => style.getPropertyValue(`--${name}`).trim();
    this.palette = { off, on, glow, grid: css("grid"), lit: css("lit"), ramp: Farad.ramp(off, glow, on) };
    return this.palette;
  }

  /// One channel: on, off, and the afterglow of what was on.
  paintChannel(data, colors, channel, moved) {
    const on = Farad.pack(colors.on);
    const fade = !this.look.glow ? 0 : moved ? 0.84 : 1;
    for (let y = 0, cell = 0; y < this.height; y++) {
      for (let x = 0; x < this.width; x++, cell++) {
        const alive = this.get(channel, x, y);
        const warmth = alive ? 1 : this.warmth[cell] * fade;
        this.warmth[cell] = warmth;
        data[cell] = alive ? on : colors.ramp[Math.round(warmth * 0.42 * 127)];
      }
    }
  }

  /// The visible channels as the bits of a color's number; numbers of no color are loud.
  paintColors(data) {
    const { shown, colors } = this.automaton;
    const inks = colors.map((name) => Farad.pack([1, 3, 5].map((at) => parseInt(name.slice(at, at + 2), 16))));
    const none = Farad.pack([255, 0, 255]);
    for (let y = 0, cell = 0; y < this.height; y++) {
      for (let x = 0; x < this.width; x++, cell++) {
        const code = shown.reduce((sum, channel, n) => sum + (this.get(channel, x, y) ? 1 << n : 0), 0);
        data[cell] = inks[code] ?? none;
      }
    }
  }

  /// The first three visible channels as red, green and blue light.
  paintLight(data) {
    const [red, green, blue] = this.automaton.shown;
    const light = (channel, x, y) => (this.get(channel, x, y) ? 0xf4 : 0x18);
    for (let y = 0, cell = 0; y < this.height; y++) {
      for (let x = 0; x < this.width; x++, cell++) {
        data[cell] = Farad.pack([light(red, x, y), light(green, x, y), light(blue, x, y)]);
      }
    }
  }

  /// How many channels of a cell are on.
  paintSum(data, colors) {
    const { channels } = this.automaton;
    for (let y = 0, cell = 0; y < this.height; y++) {
      for (let x = 0; x < this.width; x++, cell++) {
        let sum = 0;
        for (let channel = 0; channel < channels; channel++) sum += this.get(channel, x, y);
        data[cell] = colors.ramp[Math.round((127 * sum) / channels)];
      }
    }
  }

  paintLines(context, color) {
    context.fillStyle = color;
    for (let x = 1; x < this.width; x++) context.fillRect(x * this.cell, 0, 1, this.canvas.height);
    for (let y = 1; y < this.height; y++) context.fillRect(0, y * this.cell, this.canvas.width, 1);
  }

  /// The cell looked into, and what it sees.
  paintChosen(context, colors) {
    const line = Math.max(2, Math.round(this.cell / 6));
    const { x, y } = this.chosen;
    context.strokeStyle = colors.lit;
    context.lineWidth = line;
    context.strokeRect(x * this.cell, y * this.cell, this.cell, this.cell);
    context.globalAlpha = 0.45;
    context.strokeRect((x - 1) * this.cell, (y - 1) * this.cell, 3 * this.cell, 3 * this.cell);
    context.globalAlpha = 1;
  }
};

/// The side of the largest square that a frame can hold without leaving its column or the window.
Farad.room = (frame) => {
  const style = getComputedStyle(frame);
  const rim = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight) + 2;
  const usual = window.innerWidth > 900 ? window.innerHeight - 190 : window.innerHeight * 0.78;
  const high = document.documentElement.hasAttribute("data-embed") ? window.innerHeight - 78 : usual;
  return Math.max(220, Math.min(frame.parentElement.clientWidth, high) - rim);
};

/// A color as a pixel.
Farad.pack = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;

/// 128 pixels from one color over a second to a third.
Farad.ramp = (from, over, to) => {
  const mix = (a, b, t) => a.map((value, n) => Math.round(value + (b[n] - value) * t));
  return Uint32Array.from({ length: 128 }, (_, n) => {
    const t = (2 * n) / 127;
    return Farad.pack(t <= 1 ? mix(from, over, t) : mix(over, to, t - 1));
  });
};

/// Patterns that one-channel automata are known for.
Farad.PATTERNS = {
  glider: { title: "Glider", rows: [".#.", "..#", "###"] },
  acorn: { title: "Acorn", rows: [".#.....", "...#...", "##..###"] },
  pulsar: { title: "Pulsar seed", rows: ["####.#.####", "#..#.#.#..#", "####.#.####"] },
  ship: { title: "Spaceship", rows: [".#..#", "#....", "#...#", "####."] },
};
