"use strict";
// Two ways to run an automaton, with the same bits: `ScriptEngine` in plain JavaScript and `GpuEngine` by WebGPU.
// A state is words of 32 cells of a row, the leftmost in the lowest bit; rows from the top, channel after channel.
// `run(state, size, steps, fire)` promises the state after so many steps; `fire` is { rate, seed, step }.

/// The bits of the last word of a row that are cells.
Farad.lastMask = (width) => (width % 32 === 0 ? -1 : (1 << width % 32) - 1);

Farad.ScriptEngine = class {
  static NAME = "JavaScript";
  /// Words of a tile: all places of a small circuit stay in the cache, and a gate's decision is paid once for many words.
  static TILE = 512;

  constructor(automaton) {
    this.automaton = automaton;
    this.tape = automaton.cell.tape();
    this.memory = new Int32Array(0);
  }

  async run(state, size, steps, fire) {
    let [from, to] = [state, new Int32Array(state.length)];
    const mask = fire.rate < 1 ? new Int32Array(size.height * Math.ceil(size.width / 32)) : null;
    for (let step = 0; step < steps; step++) {
      if (mask) Farad.fireMask(size.width, size.height, fire.rate, fire.seed, fire.step + step, mask);
      this.step(from, to, size, mask);
      [from, to] = [to, from === state ? new Int32Array(state.length) : from];
    }
    return from;
  }

  step(from, to, { width, height }, mask) {
    const { tape, automaton } = this;
    const rowWords = Math.ceil(width / 32);
    const rows = Math.max(1, Math.floor(Farad.ScriptEngine.TILE / rowWords));
    const space = rows * rowWords;
    if (this.memory.length < tape.places * space) this.memory = new Int32Array(tape.places * space);
    const m = this.memory;
    for (let top = 0; top < height; top += rows) {
      const bottom = Math.min(height, top + rows);
      const words = (bottom - top) * rowWords;
      for (const [input, place] of tape.sources) {
        this.look(from, input, width, height, top, bottom, place * space);
      }
      for (let at = 0; at < tape.steps.length; at += 4) {
        const [a, b] = [tape.steps[at + 2] * space, tape.steps[at + 3] * space];
        Farad.apply(tape.steps[at], m, tape.steps[at + 1] * space, a, b, words);
      }
      for (let channel = 0; channel < automaton.channels; channel++) {
        const first = (channel * height + top) * rowWords;
        this.keep(from, to, first, tape.outputs[channel] * space, words, rowWords, width, mask, top * rowWords);
      }
    }
  }

  /// Copies what cells see of one neighbor's channel into memory.
  look(from, input, width, height, top, bottom, place) {
    const { channels, wrap } = this.automaton;
    const [position, channel] = [Math.floor(input / channels), input % channels];
    const [dx, dy] = [(position % 3) - 1, Math.floor(position / 3) - 1];
    const rowWords = Math.ceil(width / 32);
    const last = (width - 1) % 32;
    const m = this.memory;
    for (let y = top; y < bottom; y++, place += rowWords) {
      let row = y + dy;
      if (wrap) row = (row + height) % height;
      if (row < 0 || row >= height) {
        m.fill(0, place, place + rowWords);
        continue;
      }
      const first = (channel * height + row) * rowWords;
      const end = first + rowWords - 1;
      if (dx === 0) {
        for (let n = 0; n < rowWords; n++) m[place + n] = from[first + n];
      } else if (dx < 0) {
        m[place] = (from[first] << 1) | (wrap ? (from[end] >>> last) & 1 : 0);
        for (let n = 1; n < rowWords; n++) m[place + n] = (from[first + n] << 1) | (from[first + n - 1] >>> 31);
      } else {
        for (let n = 0; n < rowWords - 1; n++) m[place + n] = (from[first + n] >>> 1) | (from[first + n + 1] << 31);
        m[place + rowWords - 1] = (from[end] >>> 1) | (wrap ? (from[first] & 1) << last : 0);
      }
    }
  }

  /// Writes a channel's next words, where cells fire.
  keep(from, to, first, place, words, rowWords, width, mask, at) {
    const m = this.memory;
    if (mask) {
      for (let n = 0; n < words; n++) to[first + n] = (m[place + n] & mask[at + n]) | (from[first + n] & ~mask[at + n]);
    } else {
      for (let n = 0; n < words; n++) to[first + n] = m[place + n];
    }
    const cells = Farad.lastMask(width);
    for (let n = rowWords - 1; n < words; n += rowWords) to[first + n] &= cells;
  }
};

Farad.GpuEngine = class {
  static NAME = "WebGPU";
  /// Steps of one submission.
  static BATCH = 64;
  /// Uniforms of a dispatch must begin at multiples of this.
  static STRIDE = 256;

  /// The engine, or an error that says why there is none.
  static async open(automaton, texts) {
    if (!navigator.gpu) throw new Error("this browser has no WebGPU here");
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) throw new Error("WebGPU found no adapter");
    const device = await adapter.requestDevice();
    const engine = new Farad.GpuEngine(device, automaton);
    engine.adapter = adapter.info ? adapter.info.description || adapter.info.vendor || "" : "";
    device.pushErrorScope("validation");
    engine.stepping = await engine.pipeline(texts.step, false);
    engine.firing = await engine.pipeline(texts.fire, true);
    const error = await device.popErrorScope();
    if (error) throw new Error(error.message);
    return engine;
  }

  constructor(device, automaton) {
    this.device = device;
    this.automaton = automaton;
    this.buffers = null;
    this.lost = false;
    device.lost.then(() => (this.lost = true));
  }

  /// A pipeline whose first binding is a uniform, at an offset that changes from dispatch to dispatch if it is dynamic.
  async pipeline(code, dynamic) {
    const { device } = this;
    const module = device.createShaderModule({ code });
    const kinds = dynamic ? ["storage"] : ["read-only-storage", "storage", "read-only-storage"];
    const entries = [{ type: "uniform", hasDynamicOffset: dynamic }, ...kinds.map((type) => ({ type }))];
    const layout = device.createBindGroupLayout({
      entries: entries.map((buffer, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer })),
    });
    const pipeline = await device.createComputePipelineAsync({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module, entryPoint: "main" },
    });
    return { pipeline, layout };
  }

  /// Buffers and groups for a size of grid; made again when the size changes.
  prepare(bytes, { width, height }) {
    const key = `${width}x${height}`;
    if (this.buffers && this.buffers.key === key) return this.buffers;
    if (this.buffers) this.buffers.all.forEach((buffer) => buffer.destroy());
    const { device } = this;
    const all = [];
    const make = (size, usage) => {
      const buffer = device.createBuffer({ size, usage });
      all.push(buffer);
      return buffer;
    };
    const { STORAGE, UNIFORM, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
    const states = [0, 1].map(() => make(bytes, STORAGE | COPY_DST | COPY_SRC));
    const fire = make(4 * height * Math.ceil(width / 32), STORAGE | COPY_DST);
    const size = make(16, UNIFORM | COPY_DST);
    const draws = make(Farad.GpuEngine.BATCH * Farad.GpuEngine.STRIDE, UNIFORM | COPY_DST);
    const staging = make(bytes, MAP_READ | COPY_DST);
    device.queue.writeBuffer(size, 0, Uint32Array.of(width, height, 0, 0));
    const group = (layout, resources) =>
      device.createBindGroup({ layout, entries: resources.map((resource, binding) => ({ binding, resource })) });
    const steps = [0, 1].map((from) =>
      group(this.stepping.layout, [{ buffer: size }, { buffer: states[from] }, { buffer: states[1 - from] }, { buffer: fire }]),
    );
    const fires = group(this.firing.layout, [{ buffer: draws, size: 32 }, { buffer: fire }]);
    this.buffers = { key, all, states, fire, draws, staging, steps, fires, filled: false };
    return this.buffers;
  }

  async run(state, size, steps, fire) {
    if (this.lost) throw new Error("the GPU was lost");
    const { device } = this;
    const buffers = this.prepare(state.byteLength, size);
    device.queue.writeBuffer(buffers.states[0], 0, state);
    if (fire.rate >= 1 && !buffers.filled) {
      device.queue.writeBuffer(buffers.fire, 0, new Int32Array(buffers.fire.size / 4).fill(-1));
    }
    buffers.filled = fire.rate >= 1;
    let from = 0;
    for (let done = 0; done < steps; done += Farad.GpuEngine.BATCH) {
      const batch = Math.min(Farad.GpuEngine.BATCH, steps - done);
      const encoder = device.createCommandEncoder();
      from = this.encode(encoder, buffers, size, batch, { ...fire, step: fire.step + done }, from);
      if (done + batch === steps) {
        encoder.copyBufferToBuffer(buffers.states[from], 0, buffers.staging, 0, state.byteLength);
      }
      device.queue.submit([encoder.finish()]);
    }
    if (steps === 0) return state;
    await buffers.staging.mapAsync(GPUMapMode.READ);
    const result = new Int32Array(buffers.staging.getMappedRange().slice(0));
    buffers.staging.unmap();
    return result;
  }

  /// Encodes a few steps from one state buffer; the buffer that holds the last.
  encode(encoder, buffers, { width, height }, steps, { rate, seed, step }, from) {
    const [across, down] = [Math.ceil(Math.ceil(width / 32) / 8), Math.ceil(height / 8)];
    if (rate < 1) {
      const draws = new Uint32Array((steps * Farad.GpuEngine.STRIDE) / 4);
      for (let n = 0; n < steps; n++) {
        const now = step + n;
        const words = [width, height, Farad.threshold(rate), seed, Math.floor(seed / 2 ** 32), now, Math.floor(now / 2 ** 32)];
        draws.set(words.map((word) => word >>> 0), (n * Farad.GpuEngine.STRIDE) / 4);
      }
      this.device.queue.writeBuffer(buffers.draws, 0, draws);
    }
    const pass = encoder.beginComputePass();
    for (let n = 0; n < steps; n++, from = 1 - from) {
      if (rate < 1) {
        pass.setPipeline(this.firing.pipeline);
        pass.setBindGroup(0, buffers.fires, [n * Farad.GpuEngine.STRIDE]);
        pass.dispatchWorkgroups(across, down);
      }
      pass.setPipeline(this.stepping.pipeline);
      pass.setBindGroup(0, buffers.steps[from]);
      pass.dispatchWorkgroups(across, down);
    }
    pass.end();
    return from;
  }
};
