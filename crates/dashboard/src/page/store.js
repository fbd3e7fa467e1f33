"use strict";
// The data of the page: the table of runs, and the curves of the runs shown, as the server sends them.
// Invariant: a run's curves are complete after its first message, and nothing grows without bound. Start at
// `Store.follow`.

const Farad = {};

/// An element with a class and a text, which is never parsed as HTML.
Farad.make = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

/// An element of a drawing, with its attributes.
Farad.draw = (tag, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, String(value)));
  if (text !== undefined) element.textContent = text;
  return element;
};

/// The maximum length of a curve: a longer one drops every second point. Charts draw far fewer anyway.
Farad.MOST_POINTS = 60000;

/// A curve: steps and values side by side, only where there is a value.
Farad.Series = class {
  constructor() {
    this.x = [];
    this.y = [];
    this.every = 1;
    this.skipped = 0;
  }

  push(x, y) {
    if (++this.skipped < this.every) return;
    this.skipped = 0;
    this.x.push(x);
    this.y.push(y);
    if (this.x.length < Farad.MOST_POINTS) return;
    this.every *= 2;
    this.x = this.x.filter((_, n) => n % 2 === 1);
    this.y = this.y.filter((_, n) => n % 2 === 1);
  }

  get last() {
    return this.y[this.y.length - 1];
  }
};

/// The curves of a run: one series per column of its log, and its speed between events.
Farad.Log = class {
  constructor() {
    this.clock = new Farad.Clock();
    this.clear([]);
  }

  clear(columns) {
    this.columns = columns;
    this.series = new Map(columns.map((column) => [column, new Farad.Series()]));
    this.speed = new Farad.Series();
    this.tokens = 0;
    this.mark = null;
    this.rows = 0;
  }

  add(message) {
    if (message.reset) this.clock = new Farad.Clock();
    if (message.reset || message.columns.join() !== this.columns.join()) {
      const { speed, mark } = this;
      this.clear(message.columns);
      if (!message.reset) Object.assign(this, { speed, mark });
    }
    const columns = message.columns.map((column) => this.series.get(column));
    for (const row of message.rows) {
      columns.forEach((series, n) => row[n + 1] !== null && series.push(row[0], row[n + 1]));
      this.rows++;
    }
    const tokens = this.series.get("tokens");
    if (tokens && tokens.x.length > 0) this.tokens = tokens.last / tokens.x[tokens.x.length - 1];
    message.events.forEach((event) => this.happened(event));
  }

  /// Speed is steps divided by seconds of training between two events of one process.
  happened(event) {
    this.clock.happened(event);
    const begins = event.event === "start" || event.event === "resume";
    const now = { step: event.step, seconds: begins ? 0 : event.training_seconds };
    if (typeof now.seconds !== "number") return;
    if (!begins && this.mark && now.step > this.mark.step && now.seconds > this.mark.seconds) {
      this.speed.push(now.step, (now.step - this.mark.step) / (now.seconds - this.mark.seconds));
    }
    this.mark = now;
  }
};

Farad.Store = class {
  constructor() {
    this.runs = new Map();
    this.logs = new Map();
    this.folder = "";
    this.followed = null;
    this.listeners = { runs: [], rows: [], load: [], link: [] };
    this.state = "waiting";
  }

  on(name, listener) {
    this.listeners[name].push(listener);
  }

  tell(name, value) {
    this.listeners[name].forEach((listener) => listener(value));
  }

  /// Subscribes to the table and to the curves of these runs.
  follow(names) {
    const wanted = names.map((name) => `run=${encodeURIComponent(name)}`).join("&");
    if (wanted === this.followed) return;
    this.followed = wanted;
    [...this.logs.keys()].filter((name) => !names.includes(name)).forEach((name) => this.logs.delete(name));
    this.open();
  }

  open() {
    clearTimeout(this.again);
    this.source?.close();
    const source = new EventSource(`events?${this.followed}`);
    this.source = source;
    source.addEventListener("open", () => this.setState("live"));
    source.addEventListener("runs", (event) => this.takeRuns(JSON.parse(event.data)));
    source.addEventListener("rows", (event) => this.takeRows(JSON.parse(event.data)));
    source.addEventListener("load", (event) => this.tell("load", JSON.parse(event.data)));
    source.addEventListener("error", () => {
      this.setState("lost");
      // After certain responses a browser stops reconnecting, but the server may come back.
      if (source.readyState === EventSource.CLOSED) this.again = setTimeout(() => this.open(), 2000);
    });
  }

  setState(state) {
    this.state = state;
    this.tell("link", state);
  }

  takeRuns(message) {
    if (message.reset) this.runs.clear();
    message.gone.forEach((name) => this.runs.delete(name));
    message.runs.forEach((run) => this.runs.set(run.name, run));
    this.folder = message.folder;
    this.more = message.more;
    this.tell("runs");
  }

  takeRows(message) {
    if (!this.logs.has(message.run)) this.logs.set(message.run, new Farad.Log());
    const log = this.logs.get(message.run);
    log.add(message);
    const run = this.runs.get(message.run);
    const newest = message.rows[message.rows.length - 1];
    if (run?.since && newest) log.clock.arrived(newest[0], Farad.trained(run));
    this.tell("rows", message.run);
  }
};
