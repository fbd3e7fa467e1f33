"use strict";
// What the agent sees, computes and does, as cells. Invariant: a cell's color depends on its value and on how large the values
// of its layer have been.

class Activity {
  constructor(canvas, world, probe) {
    Object.assign(this, { canvas, world, probe, usual: probe.textContent });
    this.ranges = world.layers.map((layer) => new Float32Array(layer.each ? layer.size : 1).fill(layer.range || 1e-3));
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => { this.pointed = null; });
  }

  /// Where every layer lies: rows of cells below a line of words.
  layout(width, scale) {
    let y = 0;
    return this.world.layers.map((layer) => {
      const title = 19 * scale, room = width / Math.min(layer.size, 32);
      const side = Math.max(7 * scale, Math.min(20 * scale, room));
      const columns = Math.max(1, Math.min(layer.size, Math.floor(width / side)));
      const place = { layer, y: y + title, side, columns, rows: Math.ceil(layer.size / columns), title: y + title - 6 * scale };
      y = place.y + place.rows * side + 9 * scale;
      return place;
    });
  }

  draw(color) {
    const { canvas, world } = this, scale = Math.min(devicePixelRatio || 1, 2), width = Math.round(canvas.clientWidth * scale);
    const places = this.layout(width, scale), last = places[places.length - 1];
    const height = Math.round(last ? last.y + last.rows * last.side + 4 * scale : 0);
    if (canvas.width !== width || canvas.height !== height) {
      [canvas.width, canvas.height] = [width, height];
      canvas.style.height = `${height / scale}px`;
    }
    const g = canvas.getContext("2d"), gap = Math.max(1, scale);
    g.clearRect(0, 0, width, height);
    g.font = `${12.5 * scale}px system-ui, sans-serif`;
    const [cell, plusColor, minusColor, soft] = ["--cell", "--plus", "--minus", "--soft"].map(color);
    places.forEach(({ layer, y, side, columns, title }, at) => {
      g.globalAlpha = 1;
      g.fillStyle = soft;
      g.fillText(`${layer.name} · ${layer.size}`, 0, title);
      const ranges = this.ranges[at];
      layer.values.forEach((value, n) => {
        const own = layer.each ? n : 0, size = Math.abs(value);
        ranges[own] = Math.max(ranges[own] * 0.9995, Number.isFinite(size) ? size : 0);
        const [x, top] = [(n % columns) * side, y + Math.floor(n / columns) * side];
        g.globalAlpha = 1;
        g.fillStyle = cell;
        g.fillRect(x, top, side - gap, side - gap);
        g.globalAlpha = Math.min(1, size / ranges[own]);
        g.fillStyle = value > 0 ? plusColor : minusColor;
        g.fillRect(x, top, side - gap, side - gap);
      });
    });
    this.places = places;
    this.scale = scale;
    this.probe.textContent = this.words() ?? this.usual;
    return world;
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    this.pointed = [(event.clientX - box.left) * this.scale, (event.clientY - box.top) * this.scale];
  }

  /// What is pointed at.
  words() {
    if (!this.pointed || !this.places) return null;
    const [x, y] = this.pointed;
    for (const { layer, y: top, side, columns, rows } of this.places) {
      const [column, row] = [Math.floor(x / side), Math.floor((y - top) / side)], n = row * columns + column;
      if (row >= 0 && row < rows && column >= 0 && column < columns && n < layer.size) {
        const name = layer.names?.[n] ?? `${layer.name} ${n + 1}`;
        return `${name}: ${layer.values[n].toFixed(3)}`;
      }
    }
    return null;
  }
}
