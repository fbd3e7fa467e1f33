"use strict";
// The world and its agent: the program's arrays, one step at a time. Invariant: a step is a run of the program and nothing
// else; hands change the state between steps only.

class World {
  constructor(program, data) {
    Object.assign(this, { program, data });
    const inputs = program.inputs;
    this.state = Object.keys(inputs).map((name) => inputs[name]);
    this.next = this.state.map((_, n) => program.outputs[`state${n}`]);
    this.before = this.state.map((array) => array.slice());
    this.drawn = this.state.map((array) => array.slice());
    this.layers = data.layers.map((layer) => ({ ...layer, values: new Float32Array(layer.size), source: program.outputs[layer.key] }));
    this.start = -1;
    this.restart();
  }

  /// Starts from the next of the starts that the page has.
  restart() {
    this.start = (this.start + 1) % this.data.starts.length;
    this.set(this.data.starts[this.start]);
    Object.assign(this, { steps: 0, total: 0, reward: 0, ended: false });
  }

  /// Sets the whole state.
  set(arrays) {
    this.state.forEach((array, n) => array.set(arrays[n]));
    this.before.forEach((array, n) => array.set(arrays[n]));
  }

  /// One step of the agent and its world.
  step() {
    const { program, state, before } = this;
    state.forEach((array, n) => before[n].set(array));
    program.run();
    for (const layer of this.layers) layer.values.set(layer.source);
    state.forEach((array, n) => array.set(this.next[n]));
    this.reward = program.outputs.reward[0];
    this.ended = program.outputs.ended[0] !== 0;
    this.total += this.reward;
    this.steps++;
  }

  /// The state between the last two steps, to be drawn.
  between(share) {
    this.state.forEach((array, n) => {
      const [from, to] = [this.before[n], this.drawn[n]];
      for (let k = 0; k < array.length; k++) to[k] = from[k] + (array[k] - from[k]) * share;
    });
    return this.drawn;
  }

  get action() {
    return this.program.outputs.action;
  }
}
