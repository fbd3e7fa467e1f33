"use strict";
// Cart-pole and pendulum: how they are drawn and pushed.

const limited = (x, most) => Math.max(-most, Math.min(most, x));

/// A straight arrow.
function arrow(g, from, to, color, width) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]], length = Math.hypot(dx, dy);
  if (length < 2) return;
  const [ux, uy] = [dx / length, dy / length], head = Math.min(length, 4 * width);
  g.strokeStyle = g.fillStyle = color;
  g.lineWidth = width;
  g.lineCap = "butt";
  g.beginPath();
  g.moveTo(from[0], from[1]);
  g.lineTo(to[0] - ux * head, to[1] - uy * head);
  g.stroke();
  g.beginPath();
  g.moveTo(to[0], to[1]);
  g.lineTo(to[0] - ux * head - uy * head * 0.6, to[1] - uy * head + ux * head * 0.6);
  g.lineTo(to[0] - ux * head + uy * head * 0.6, to[1] - uy * head - ux * head * 0.6);
  g.fill();
}

function line(g, from, to, color, width) {
  g.strokeStyle = color;
  g.lineWidth = width;
  g.lineCap = "round";
  g.beginPath();
  g.moveTo(from[0], from[1]);
  g.lineTo(to[0], to[1]);
  g.stroke();
}

function disc(g, at, radius, color) {
  g.fillStyle = color;
  g.beginPath();
  g.arc(at[0], at[1], radius, 0, 2 * Math.PI);
  g.fill();
}

class CartPole {
  constructor(scene) {
    this.scene = scene;
    this.words = "the cart or its pole";
  }

  /// Where things are, in pixels.
  layout(view, state) {
    const { place, length, hangs } = this.scene, [x, , angle] = state[0];
    // A pole that may hang needs as much room below the cart as above it, and room beside it at the ends of the track.
    const beside = hangs ? length + 0.1 : 0.45;
    const zoom = Math.min(view.width / (2 * (place + beside)), view.height / ((hangs ? 2 : 1) * length + 0.95));
    const ground = view.height / 2 + (hangs ? 0.27 : 0.5 * length + 0.1) * zoom;
    const cart = [view.width / 2 + x * zoom, ground - 0.17 * zoom], hinge = [cart[0], cart[1] - 0.1 * zoom];
    const top = [hinge[0] + length * zoom * Math.sin(angle), hinge[1] - length * zoom * Math.cos(angle)];
    return { zoom, ground, cart, hinge, top };
  }

  draw(g, view, state, world) {
    const { zoom, ground, cart, hinge, top } = this.layout(view, state), color = view.color;
    if (!this.scene.hangs) {
      g.fillStyle = color("--ground");
      g.fillRect(0, ground, view.width, view.height - ground);
    }
    line(g, [0, ground], [view.width, ground], color("--ground-line"), 0.02 * zoom);
    for (const side of [-1, 1]) {
      const at = view.width / 2 + side * this.scene.place * zoom;
      line(g, [at, ground - 0.12 * zoom], [at, ground + 0.06 * zoom], color("--minus"), 0.03 * zoom);
    }
    g.fillStyle = color("--dark-part");
    g.beginPath();
    g.roundRect(cart[0] - 0.24 * zoom, cart[1] - 0.1 * zoom, 0.48 * zoom, 0.2 * zoom, 0.03 * zoom);
    g.fill();
    for (const side of [-1, 1]) disc(g, [cart[0] + side * 0.15 * zoom, ground - 0.06 * zoom], 0.06 * zoom, color("--soft"));
    line(g, hinge, top, color("--pole"), 0.085 * zoom);
    disc(g, hinge, 0.032 * zoom, color("--card"));
    // The force as a share of the largest: any, or one of two.
    const push = this.scene.hangs ? world.action[0] : world.action[0] > 0.5 ? 1 : -1;
    const tail = cart[0] + Math.sign(push) * 0.28 * zoom;
    if (Math.abs(push) > 0.05) arrow(g, [tail, cart[1]], [tail + push * 0.3 * zoom, cart[1]], color("--accent"), 0.04 * zoom);
  }

  /// What a point holds: the cart, or a place on the pole.
  grab(view, state, [x, y]) {
    const { zoom, cart, hinge, top } = this.layout(view, state);
    const along = [top[0] - hinge[0], top[1] - hinge[1]], square = along[0] ** 2 + along[1] ** 2;
    const share = Math.max(0, Math.min(1, ((x - hinge[0]) * along[0] + (y - hinge[1]) * along[1]) / square));
    const pole = Math.hypot(x - hinge[0] - share * along[0], y - hinge[1] - share * along[1]);
    const body = Math.hypot(x - cart[0], y - cart[1]);
    if (Math.min(pole, body - 0.15 * zoom) > 0.4 * zoom) return null;
    return share > 0.15 && pole < body - 0.1 * zoom ? { share } : { share: 0 };
  }

  /// Where a hold is, in pixels.
  held(view, state, { share }) {
    const { cart, hinge, top } = this.layout(view, state);
    return share === 0 ? cart : [hinge[0] + share * (top[0] - hinge[0]), hinge[1] + share * (top[1] - hinge[1])];
  }

  /// Pulls what is held toward a point, for so many seconds.
  push(view, state, hold, [x, y], seconds) {
    const { zoom, hinge } = this.layout(view, state), own = state[0];
    if (hold.share === 0) {
      own[1] += limited(60 * ((x - view.width / 2) / zoom - own[0]) - 4 * own[1], 15) * seconds;
    } else {
      const up = this.scene.hangs ? hinge[1] - y : Math.max(hinge[1] - y, 0.2 * zoom);
      const turns = Math.round((own[2] - Math.atan2(x - hinge[0], up)) / (2 * Math.PI));
      const wanted = Math.atan2(x - hinge[0], up) + 2 * Math.PI * turns;
      own[3] += hold.share * limited(80 * (wanted - own[2]) - 4 * own[3], 14) * seconds;
    }
  }

  shove(state, side) {
    state[0][1] += 0.5 * side;
    state[0][3] += 0.4 * side;
  }
}

class Pendulum {
  constructor(scene) {
    this.scene = scene;
    this.words = "the pendulum";
  }

  layout(view, [[angle]]) {
    const zoom = Math.min(view.width, view.height) / 2.7, middle = [view.width / 2, view.height / 2];
    return { zoom, middle, end: [middle[0] - zoom * Math.sin(angle), middle[1] - zoom * Math.cos(angle)] };
  }

  draw(g, view, state, world) {
    const { zoom, middle, end } = this.layout(view, state), color = view.color;
    g.strokeStyle = color("--ground-line");
    g.lineWidth = 1.5 * view.scale;
    g.setLineDash([4 * view.scale, 6 * view.scale]);
    g.beginPath();
    g.arc(middle[0], middle[1], zoom, 0, 2 * Math.PI);
    g.stroke();
    g.setLineDash([]);
    line(g, middle, end, color("--pole"), 0.13 * zoom);
    disc(g, end, 0.11 * zoom, color("--dark-part"));
    disc(g, middle, 0.045 * zoom, color("--card"));
    this.torque(g, view, middle, 0.32 * zoom, world.action[0]);
  }

  /// The motor's torque, as an arc with an arrow: positive is counterclockwise.
  torque(g, view, middle, radius, torque) {
    const sweep = -limited(torque, 1) * 2.4, color = view.color("--accent"), width = 0.14 * radius;
    if (Math.abs(sweep) < 0.5) return;
    const from = -Math.PI / 2, to = from + sweep, side = Math.sign(sweep);
    const at = (angle) => [middle[0] + radius * Math.cos(angle), middle[1] + radius * Math.sin(angle)];
    g.strokeStyle = color;
    g.lineWidth = width;
    g.lineCap = "butt";
    g.beginPath();
    g.arc(middle[0], middle[1], radius, from, to - side * 0.25, sweep < 0);
    g.stroke();
    arrow(g, at(to - side * 0.45), at(to), color, width);
  }

  grab(view, state, [x, y]) {
    const { zoom, middle } = this.layout(view, state);
    return Math.hypot(x - middle[0], y - middle[1]) < 1.3 * zoom ? {} : null;
  }

  held(view, state) {
    return this.layout(view, state).end;
  }

  push(view, state, _hold, [x, y], seconds) {
    const { middle } = this.layout(view, state), [[angle], [speed]] = state;
    const off = Math.atan2(middle[0] - x, middle[1] - y) - angle;
    const turn = Math.atan2(Math.sin(off), Math.cos(off));
    state[1][0] += limited(70 * turn - 8 * speed, 45) * seconds;
  }

  shove(state, side) {
    state[1][0] -= 3 * side;
  }
}
