"use strict";
// The circuit of this page, and everything about it that needs neither a grid nor a screen: gates on words of
// 32 samples, levels, and the random numbers that decide which cells fire.

const Farad = {};

Farad.GATES = [
  { name: "false", sign: "0", family: "constant" },
  { name: "and", sign: "∧", family: "and" },
  { name: "a and not b", sign: "∧", family: "and" },
  { name: "a", sign: "=", family: "constant" },
  { name: "not a and b", sign: "∧", family: "and" },
  { name: "b", sign: "=", family: "constant" },
  { name: "xor", sign: "⊕", family: "xor" },
  { name: "or", sign: "∨", family: "or" },
  { name: "nor", sign: "∨", family: "or" },
  { name: "xnor", sign: "⊕", family: "xor" },
  { name: "not b", sign: "¬", family: "not" },
  { name: "a or not b", sign: "∨", family: "or" },
  { name: "not a", sign: "¬", family: "not" },
  { name: "not a or b", sign: "∨", family: "or" },
  { name: "nand", sign: "∧", family: "and" },
  { name: "true", sign: "1", family: "constant" },
];

/// Gates whose output is drawn with the ring of a negation.
Farad.NEGATED = new Set([8, 9, 14]);

/// Which operand of a gate is read as its opposite, and drawn with a ring before the gate: 0 is a, 1 is b.
Farad.INVERTED = new Map([[2, 1], [4, 0], [11, 1], [13, 0]]);

/// A netlist: gates are triples [function, a, b] in one flat array; wires are inputs, registers, gates.
Farad.Netlist = class {
  constructor(data) {
    this.name = data.name;
    this.inputs = data.inputs;
    this.registers = data.registers;
    this.outputs = data.outputs;
    this.code = Int32Array.from(data.gates);
    this.sources = this.inputs.length + this.registers.length;
    this.gates = this.code.length / 3;
    this.wires = this.sources + this.gates;
    this.levels = this.findLevels();
    this.depth = this.outputs.reduce((most, output) => Math.max(most, this.levels[output.wire]), 0);
  }

  /// How many operands a function reads: a constant none, a negation one.
  static reads(gate) {
    return gate === 0 || gate === 15 ? 0 : gate === 10 || gate === 12 ? 1 : 2;
  }

  /// The wires that a gate reads.
  operands(gate) {
    const [kind, a, b] = this.code.subarray(3 * gate, 3 * gate + 3);
    return [a, b].slice(0, Farad.Netlist.reads(kind));
  }

  findLevels() {
    const levels = new Int32Array(this.wires);
    for (let gate = 0; gate < this.gates; gate++) {
      const before = this.operands(gate).map((wire) => levels[wire]);
      levels[this.sources + gate] = before.length === 0 ? 0 : 1 + Math.max(...before);
    }
    return levels;
  }

  /// All wires for 32 samples per word, given the words of inputs and registers.
  values(sources) {
    const values = new Int32Array(this.wires);
    values.set(sources);
    for (let gate = 0, at = 0; gate < this.gates; gate++, at += 3) {
      const wire = this.sources + gate;
      Farad.apply(this.code[at], values, wire, this.code[at + 1], this.code[at + 2], 1);
    }
    return values;
  }

  /// Gives places in a scratch memory to the sources that are read and to the gates, using places again when
  /// nobody reads them any more. A step of the tape is [function, to, a, b].
  tape() {
    const last = new Int32Array(this.wires).fill(-1);
    for (let gate = 0; gate < this.gates; gate++) {
      this.operands(gate).forEach((wire) => (last[wire] = gate));
    }
    this.outputs.forEach((output) => (last[output.wire] = this.gates));
    const [place, free] = [new Int32Array(this.wires).fill(-1), []];
    let places = 0;
    const take = (wire) => (place[wire] = free.length > 0 ? free.pop() : places++);
    const sources = [];
    for (let wire = 0; wire < this.sources; wire++) {
      if (last[wire] >= 0) sources.push([wire, take(wire)]);
    }
    const steps = new Int32Array(4 * this.gates);
    for (let gate = 0; gate < this.gates; gate++) {
      const read = this.operands(gate);
      const [a, b] = [place[read[0]], place[read[read.length - 1]]];
      // A result may take the place of an operand: every word is read before it is written.
      [...new Set(read)].filter((wire) => last[wire] === gate).forEach((wire) => free.push(place[wire]));
      steps.set([this.code[3 * gate], take(this.sources + gate), a ?? 0, b ?? 0], 4 * gate);
    }
    return { steps, places, sources, outputs: this.outputs.map((output) => place[output.wire]) };
  }
};

/// One gate on `count` words: memory[to..] of memory[a..] and memory[b..]. Loops are inside the switch, so that a gate
/// costs one decision and then runs through words as compiled code would.
Farad.apply = function (gate, m, to, a, b, count) {
  switch (gate) {
    case 0: for (let n = 0; n < count; n++) m[to + n] = 0; break;
    case 1: for (let n = 0; n < count; n++) m[to + n] = m[a + n] & m[b + n]; break;
    case 2: for (let n = 0; n < count; n++) m[to + n] = m[a + n] & ~m[b + n]; break;
    case 3: for (let n = 0; n < count; n++) m[to + n] = m[a + n]; break;
    case 4: for (let n = 0; n < count; n++) m[to + n] = ~m[a + n] & m[b + n]; break;
    case 5: for (let n = 0; n < count; n++) m[to + n] = m[b + n]; break;
    case 6: for (let n = 0; n < count; n++) m[to + n] = m[a + n] ^ m[b + n]; break;
    case 7: for (let n = 0; n < count; n++) m[to + n] = m[a + n] | m[b + n]; break;
    case 8: for (let n = 0; n < count; n++) m[to + n] = ~(m[a + n] | m[b + n]); break;
    case 9: for (let n = 0; n < count; n++) m[to + n] = ~(m[a + n] ^ m[b + n]); break;
    case 10: for (let n = 0; n < count; n++) m[to + n] = ~m[b + n]; break;
    case 11: for (let n = 0; n < count; n++) m[to + n] = m[a + n] | ~m[b + n]; break;
    case 12: for (let n = 0; n < count; n++) m[to + n] = ~m[a + n]; break;
    case 13: for (let n = 0; n < count; n++) m[to + n] = ~m[a + n] | m[b + n]; break;
    case 14: for (let n = 0; n < count; n++) m[to + n] = ~(m[a + n] & m[b + n]); break;
    default: for (let n = 0; n < count; n++) m[to + n] = -1;
  }
};

/// The upper half of the product of two words.
function high(a, b) {
  const a0 = a & 0xffff;
  const a1 = a >>> 16;
  const b0 = b & 0xffff;
  const b1 = b >>> 16;
  const middle = a1 * b0 + ((a0 * b0) >>> 16);
  const other = a0 * b1 + (middle & 0xffff);
  return (a1 * b1 + (middle >>> 16) + (other >>> 16)) | 0;
}

/// Philox4x32-10: four random words for a counter of four words and a key of two, written to `to`.
Farad.block = function (x, y, z, w, k, l, to) {
  for (let round = 0; round < 10; round++) {
    const p = high(0xd2511f53, x);
    const q = high(0xcd9e8d57, z);
    const p0 = Math.imul(0xd2511f53, x);
    const q0 = Math.imul(0xcd9e8d57, z);
    x = q ^ y ^ k;
    y = q0;
    z = p ^ w ^ l;
    w = p0;
    k = (k + 0x9e3779b9) | 0;
    l = (l + 0xbb67ae85) | 0;
  }
  to[0] = x;
  to[1] = y;
  to[2] = z;
  to[3] = w;
};

/// A rate as the 24-bit number below which a cell fires.
Farad.threshold = (rate) => Math.ceil(Math.fround(rate) * 2 ** 24);

/// The cells that fire at a step: packed rows, one bit per cell. The same as the simulator's and the shader's.
Farad.fireMask = function (width, height, rate, seed, step, mask) {
  const rowWords = Math.ceil(width / 32);
  const threshold = Farad.threshold(rate);
  const words = new Int32Array(4);
  const [low, high] = [seed | 0, Math.floor(seed / 2 ** 32)];
  const [stepLow, stepHigh] = [step | 0, Math.floor(step / 2 ** 32)];
  mask.fill(0);
  for (let element = 0, x = 0, y = 0; element < width * height; element++) {
    if (element % 4 === 0) {
      Farad.block(element / 4, 0, stepLow, stepHigh, low, high, words);
    }
    if (words[element % 4] >>> 8 < threshold) mask[y * rowWords + (x >> 5)] |= 1 << (x & 31);
    if (++x === width) {
      x = 0;
      y++;
    }
  }
  return mask;
};

/// Random bits of this density from a seed, as words.
Farad.randomWords = function (seed, count, density) {
  const [words, drawn] = [new Int32Array(count), new Int32Array(4)];
  const threshold = Math.round(density * 256);
  for (let n = 0; n < count; n++) {
    for (let part = 0; part < 2; part++) {
      Farad.block(n, part, 0, 1, seed | 0, Math.floor(seed / 2 ** 32), drawn);
      for (let byte = 0; byte < 16; byte++) {
        const value = (drawn[byte >> 2] >>> (8 * (byte & 3))) & 255;
        if (value < threshold) words[n] |= 1 << (16 * part + byte);
      }
    }
  }
  return words;
};
