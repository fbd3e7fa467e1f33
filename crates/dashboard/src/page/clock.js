"use strict";
// When a run made which step, from its events and, while it trains, from when its rows arrive.
// Invariant: times go up with steps. Between two marks, time is interpolated. Start at `Clock.times`.

/// Most marks that are kept besides those of events.
Farad.MOST_MARKS = 1000;

Farad.Clock = class {
  constructor() {
    /// Each a step, the seconds of training until then, the seconds since the run was made, and the time of day.
    this.marks = [];
    this.live = [];
    this.before = 0;
  }

  /// Takes an event. A process that goes on from a checkpoint makes the steps after it again.
  happened(event) {
    if (typeof event.step !== "number") return;
    if (event.event === "start" || event.event === "resume") {
      this.marks = this.marks.filter((mark) => mark.step <= event.step);
      this.live = [];
      this.before = this.marks[this.marks.length - 1]?.trained ?? 0;
    } else if (typeof event.training_seconds !== "number") {
      return;
    }
    const trained = this.before + (event.training_seconds ?? 0);
    this.marks.push({ step: event.step, trained, elapsed: event.seconds ?? trained, date: event.time ?? null });
    this.live = this.live.filter((mark) => mark.step > event.step && mark.trained > trained);
  }

  /// Notes that a step has just arrived, after so many seconds of training.
  arrived(step, trained) {
    const last = this.live[this.live.length - 1] ?? this.marks[this.marks.length - 1];
    if (!last || step <= last.step || trained < last.trained) return;
    const mark = this.marks[this.marks.length - 1];
    this.live.push({ step, trained, elapsed: mark.elapsed + trained - mark.trained, date: Date.now() / 1000 });
    if (this.live.length > Farad.MOST_MARKS) this.live = this.live.filter((_, n) => n % 2 === 1);
  }

  /// The times of ascending steps: `trained` in seconds, or `date` in seconds since 1970. `begun` is when the run began,
  /// for events without a time of day; `rate` its steps per second, for steps after the last mark. Empty if no time is
  /// known.
  times(steps, kind, begun, rate) {
    const of = kind === "date" ? (mark) => mark.date ?? begun + mark.elapsed : (mark) => mark.trained;
    const marks = [...this.marks, ...this.live].map((mark) => ({ step: mark.step, time: of(mark) }));
    if (marks.length === 0) return [];
    const last = marks[marks.length - 1];
    const pace = Farad.lastPace(marks) ?? (rate > 0 ? 1 / rate : null);
    let [n, newest] = [0, -Infinity];
    return steps.map((step) => {
      while (n + 1 < marks.length && marks[n + 1].step < step) n++;
      const [from, to] = [marks[n], marks[n + 1]];
      let time = from.time;
      if (step > last.step) time = last.time + (step - last.step) * (pace ?? 0);
      else if (to && to.step > from.step && step > from.step) time += ((to.time - from.time) * (step - from.step)) / (to.step - from.step);
      newest = Math.max(newest, time);
      return newest;
    });
  }
};

/// Seconds per step between the last two marks that differ in their steps.
Farad.lastPace = (marks) => {
  for (let n = marks.length - 1; n > 0; n--) {
    const steps = marks[n].step - marks[n - 1].step;
    if (steps > 0) return (marks[n].time - marks[n - 1].time) / steps;
  }
  return null;
};
