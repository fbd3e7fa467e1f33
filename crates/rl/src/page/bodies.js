"use strict";
// Rigid bodies in the plane and in space: seen without perspective, drawn from back to front, pulled by their centers.
// Invariant: points are [x, y, z] in meters; in the plane z is 0.

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const plus = (a, b, times = 1) => [a[0] + times * b[0], a[1] + times * b[1], a[2] + times * b[2]];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

/// A vector turned by a quaternion of any length.
function turned([w, x, y, z], v) {
  const s = 2 / (w * w + x * x + y * y + z * z), t = cross([x, y, z], v), u = cross([x, y, z], t);
  return [v[0] + s * (w * t[0] + u[0]), v[1] + s * (w * t[1] + u[1]), v[2] + s * (w * t[2] + u[2])];
}

const after = ([a, b, c, d], [w, x, y, z]) => [
  a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y, a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w,
];

class Bodies {
  constructor(scene) {
    this.scene = scene;
    this.plane = scene.dimensions === 2;
    this.camera = { ...scene.camera, target: scene.camera.target.slice() };
    this.up = this.plane ? [0, 1, 0] : [0, 0, 1];
    this.mass = scene.bodies.reduce((sum, body) => sum + body.mass, 0);
    this.words = "a part of the body";
  }

  place(state, n) {
    const [p] = state;
    return this.plane ? [p[2 * n], p[2 * n + 1], 0] : [p[3 * n], p[3 * n + 1], p[3 * n + 2]];
  }

  turn(state, n) {
    const r = state[1];
    return this.plane ? [r[2 * n], 0, 0, r[2 * n + 1]] : [r[4 * n], r[4 * n + 1], r[4 * n + 2], r[4 * n + 3]];
  }

  /// The solids as they lie now.
  solids(state) {
    return this.scene.bodies.flatMap((body, n) => {
      const [at, turn] = [this.place(state, n), this.turn(state, n)];
      return body.solids.map((solid) => ({
        ...solid, body: n, color: body.color, at: plus(at, turned(turn, solid.center)), turn: after(turn, solid.turn),
      }));
    });
  }

  zoom(view) {
    return Math.min(view.height, 0.95 * view.width) / this.camera.meters;
  }

  /// A point in pixels, and how far away it is.
  seen(view, p) {
    const { right, up, along, target } = this.camera, d = plus(p, target, -1), zoom = this.zoom(view);
    return [view.width / 2 + dot(d, right) * zoom, view.height * 0.55 - dot(d, up) * zoom, dot(d, along)];
  }

  /// The camera goes along the ground with a body.
  follow(state) {
    const place = this.place(state, this.scene.follow), { target } = this.camera;
    const level = dot(this.scene.camera.target, this.up) - dot(place, this.up);
    this.camera.target = plus(place, this.up, level);
    if (!target.every(Number.isFinite)) this.camera.target = this.scene.camera.target.slice();
  }

  draw(g, view, state) {
    this.follow(state);
    const solids = this.solids(state);
    if (this.scene.planes.length === 0) this.grid(g, view, this.camera.target);
    for (const plane of this.scene.planes) this.plane ? this.ground(g, view, plane) : this.floor(g, view, plane, solids);
    for (const solid of solids) solid.depth = this.seen(view, solid.at)[2];
    for (const solid of solids.sort((a, b) => b.depth - a.depth)) this.solid(g, view, solid);
  }

  /// Lines every half meter, so that moving is seen.
  grid(g, view, middle) {
    const base = this.plane ? [0, 0, 0] : [0, 0, middle[2] - 0.8];
    this.lines(g, view, base, [[1, 0, 0], [0, 1, 0]], middle);
  }

  lines(g, view, base, [first, second], middle) {
    // Seen from above at a slant, a meter of ground is a third of a meter of picture.
    const meters = Math.max(view.width, 3 * view.height) / this.zoom(view), far = Math.ceil(meters * (this.plane ? 0.6 : 0.8)) + 1;
    g.strokeStyle = view.color("--ground-line");
    g.lineWidth = 0.75 * view.scale;
    g.globalAlpha = 0.6;
    g.beginPath();
    for (const [a, b] of [[first, second], [second, first]]) {
      const from = Math.floor(dot(middle, a) - far), other = dot(middle, b);
      for (let n = 0; n <= 4 * far; n++) {
        const start = plus(base, a, from + n / 2), [p, q] = [-far, far].map((s) => this.seen(view, plus(start, b, other + s)));
        g.moveTo(p[0], p[1]);
        g.lineTo(q[0], q[1]);
      }
    }
    g.stroke();
    g.globalAlpha = 1;
  }

  /// In the plane, everything below a line is ground.
  ground(g, view, { normal, offset }) {
    const along = [normal[1], -normal[0], 0], base = normal.map((v) => v * offset), far = view.width / this.zoom(view) + 2;
    const here = dot(this.camera.target, along), corner = (t, down) => this.seen(view, plus(plus(base, along, t), normal, -down));
    const shape = [corner(here - far, 0), corner(here + far, 0), corner(here + far, 20), corner(here - far, 20)];
    g.fillStyle = view.color("--ground");
    g.beginPath();
    shape.forEach(([x, y], n) => (n === 0 ? g.moveTo(x, y) : g.lineTo(x, y)));
    g.fill();
    line(g, shape[0], shape[1], view.color("--ground-line"), 2 * view.scale);
    g.fillStyle = view.color("--soft");
    g.font = `${11 * view.scale}px system-ui, sans-serif`;
    g.textAlign = "center";
    const seen = view.width / this.zoom(view) / 2 + 0.5;
    for (let meter = Math.ceil(here - seen); meter < here + seen; meter++) {
      line(g, corner(meter, 0), corner(meter, 0.05), view.color("--ground-line"), 1.5 * view.scale);
      const [x, y] = corner(meter, 0.05);
      g.fillText(`${meter} m`, x, y + 14 * view.scale);
    }
  }

  /// In space, a plane has lines, and shadows from straight above it.
  floor(g, view, { normal, offset }, solids) {
    const first = Math.abs(normal[0]) < 0.9 ? cross([0, 1, 0], normal) : cross([0, 0, 1], normal);
    const size = Math.hypot(...first), a = first.map((v) => v / size), b = cross(normal, a);
    const base = normal.map((v) => v * offset);
    g.fillStyle = view.color("--ground");
    g.globalAlpha = 0.55;
    g.fillRect(0, 0, view.width, view.height);
    g.globalAlpha = 1;
    this.lines(g, view, base, [a, b], this.camera.target);
    const down = (p) => plus(p, normal, offset - dot(p, normal));
    g.globalAlpha = 0.18;
    g.strokeStyle = g.fillStyle = "#000";
    for (const solid of solids) {
      const [width, [p, q]] = this.spine(solid);
      this.thick(g, this.seen(view, down(p)), this.seen(view, down(q)), 2 * width * this.zoom(view) * 0.92);
    }
    g.globalAlpha = 1;
  }

  /// A radius and the two ends of a line that a solid lies around.
  spine(solid) {
    const half = solid.half, long = half.indexOf(Math.max(...half));
    const width = solid.kind === "box" ? half.filter((_, n) => n !== long && (n < 2 || !this.plane)).reduce((a, b) => Math.max(a, b), 0) : solid.radius;
    const length = solid.kind === "box" ? half[long] - width : half[0], axis = [0, 0, 0];
    axis[solid.kind === "box" ? long : 0] = Math.max(length, 0);
    const along = turned(solid.turn, axis);
    return [width, [plus(solid.at, along), plus(solid.at, along, -1)]];
  }

  thick(g, [x, y], [u, v], width, cap = "round") {
    g.lineCap = cap;
    g.lineWidth = Math.max(width, 1);
    g.beginPath();
    g.moveTo(x, y);
    g.lineTo(u + 0.01, v);
    g.stroke();
  }

  solid(g, view, solid) {
    const tone = (share) => `rgb(${solid.color.map((v) => Math.round(Math.min(255, v * share + (share > 1 ? 40 * (share - 1) : 0)))).join(",")})`;
    if (solid.kind === "box") return this.box(g, view, solid, tone);
    const zoom = this.zoom(view), radius = solid.radius * zoom, cap = solid.kind === "cylinder" ? "butt" : "round";
    const [p, q] = this.spine(solid)[1].map((end) => this.seen(view, end));
    const thin = Math.min(1.5 * view.scale, 0.2 * radius);
    g.strokeStyle = tone(0.6);
    this.thick(g, p, q, 2 * radius, cap);
    g.strokeStyle = tone(1);
    this.thick(g, p, q, 2 * (radius - thin), cap);
    if (this.plane) return;
    const lit = ([x, y]) => [x - 0.25 * radius, y - 0.3 * radius];
    g.strokeStyle = tone(1.25);
    this.thick(g, lit(p), lit(q), 0.7 * radius, cap);
  }

  box(g, view, solid, tone) {
    const axes = [0, 1, 2].map((n) => turned(solid.turn, [0, 1, 2].map((k) => (k === n ? solid.half[n] : 0))));
    const faces = this.plane ? [[2, 1]] : [0, 1, 2].flatMap((n) => [[n, 1], [n, -1]]);
    for (const [n, side] of faces) {
      const normal = axes[n].map((v) => (side * v) / (solid.half[n] || 1));
      if (!this.plane && dot(normal, this.camera.along) >= 0) continue;
      const [a, b] = [axes[(n + 1) % 3], axes[(n + 2) % 3]], middle = this.plane ? solid.at : plus(solid.at, axes[n], side);
      const corners = [[1, 1], [1, -1], [-1, -1], [-1, 1]].map(([s, t]) => this.seen(view, plus(plus(middle, a, s), b, t)));
      g.fillStyle = this.plane ? tone(1) : tone(0.65 + 0.5 * Math.max(0, dot(normal, [-0.35, -0.52, 0.78])));
      g.strokeStyle = tone(0.6);
      g.lineWidth = view.scale;
      g.beginPath();
      corners.forEach(([x, y], k) => (k === 0 ? g.moveTo(x, y) : g.lineTo(x, y)));
      g.closePath();
      g.fill();
      g.stroke();
    }
  }

  /// What a point holds: the nearest solid, by a place in its body.
  grab(view, state, [x, y]) {
    let best = null;
    for (const solid of this.solids(state)) {
      const [width, ends] = this.spine(solid), [p, q] = ends.map((end) => this.seen(view, end));
      const along = [q[0] - p[0], q[1] - p[1]], square = along[0] ** 2 + along[1] ** 2;
      const share = square > 0 ? Math.max(0, Math.min(1, ((x - p[0]) * along[0] + (y - p[1]) * along[1]) / square)) : 0;
      const off = Math.hypot(x - p[0] - share * along[0], y - p[1] - share * along[1]) - width * this.zoom(view);
      if (off < 28 * view.scale && (!best || off < best.off)) best = { off, body: solid.body };
    }
    return best;
  }

  held(view, state, { body }) {
    return this.seen(view, this.place(state, body));
  }

  /// Pulls a body toward a point, as hard as the whole needs.
  push(view, state, { body }, [x, y], seconds) {
    const [u, v] = this.held(view, state, { body }), zoom = this.zoom(view), { right, up } = this.camera;
    const want = plus(right.map((c) => (c * (x - u)) / zoom), up, (v - y) / zoom);
    const width = this.plane ? 2 : 3, share = Math.min(this.mass / this.scene.bodies[body].mass, 8);
    for (let k = 0; k < width; k++) {
      const speed = state[2][width * body + k];
      state[2][width * body + k] += limited(40 * want[k] - 3 * speed, 25) * share * seconds;
    }
  }

  shove(state, side) {
    const width = this.plane ? 2 : 3;
    for (let n = 0; n < this.scene.bodies.length; n++) {
      for (let k = 0; k < width; k++) state[2][width * n + k] += 1.2 * side * this.camera.right[k];
    }
  }
}
