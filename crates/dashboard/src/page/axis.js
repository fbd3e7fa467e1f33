"use strict";
// The axes that curves can be drawn over: steps, time of training, time of day.
// Invariant: everything here is a function of its arguments. Start at `Farad.AXES`.

/// Seconds between ticks of time.
Farad.TIME_UNITS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000];

Farad.timeUnit = (span, count) => Farad.TIME_UNITS.find((unit) => span / unit <= count) ?? Farad.TIME_UNITS[Farad.TIME_UNITS.length - 1];

/// Ticks of a time of training: round numbers of seconds, minutes, hours or days.
Farad.timeTicks = (from, to, count) => {
  if (to - from < count) return Farad.ticks(from, to, count).filter((tick) => tick >= 0);
  const unit = Farad.timeUnit(to - from, count);
  const ticks = [];
  for (let n = Math.ceil(from / unit); n * unit <= to; n++) if (n >= 0) ticks.push(n * unit);
  return ticks;
};

/// Ticks of the time of day, at round times where the page is read.
Farad.dateTicks = (from, to, count) => {
  const unit = Farad.timeUnit(to - from, count);
  const shift = new Date(from * 1000).getTimezoneOffset() * 60;
  const ticks = [];
  for (let n = Math.ceil((from - shift) / unit); n * unit + shift <= to; n++) ticks.push(n * unit + shift);
  return ticks;
};

/// A time of training as a label: `90` becomes `1:30`.
Farad.timeText = (seconds) => {
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)}:${two((seconds % 3600) / 60)} h`;
  return `${Number((seconds / 86400).toPrecision(3))} d`;
};

/// A time of day as a label, with what tells it from its neighbors.
Farad.dateText = (seconds, span) => {
  const date = new Date(seconds * 1000);
  if (span > 4 * 86400) return date.toLocaleDateString("en", { month: "short", day: "numeric" });
  const time = { hour: "2-digit", minute: "2-digit", hour12: false };
  if (span > 86400) return date.toLocaleString("en", { weekday: "short", ...time });
  return date.toLocaleTimeString("en", span < 300 ? { ...time, second: "2-digit" } : time);
};

Farad.stepText = (step) => (step >= 1e6 ? `${step / 1e6}M` : step >= 1e4 ? `${step / 1e3}k` : step.toLocaleString("en"));

/// Each axis: its name in the menu, its ticks, the text of a tick, what the read-out says, and its column in a CSV file.
Farad.AXES = {
  step: {
    title: "Step",
    column: "step",
    ticks: (from, to, count) => Farad.ticks(from, to, count).filter((tick) => Number.isInteger(tick) && tick >= 0),
    text: Farad.stepText,
    spoken: (step) => `step ${Math.round(step).toLocaleString("en")}`,
  },
  time: {
    title: "Time trained",
    column: "seconds",
    ticks: Farad.timeTicks,
    text: Farad.timeText,
    spoken: (seconds) => `after ${Farad.timeText(seconds)}`,
  },
  date: {
    title: "Time of day",
    column: "time",
    ticks: Farad.dateTicks,
    text: Farad.dateText,
    spoken: (seconds) => new Date(seconds * 1000).toLocaleString("en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false }),
  },
};
