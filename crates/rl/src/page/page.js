"use strict";
// The page: frames, buttons, hands. `farad` is what scripts may do with it.

(() => {
  const element = (id) => document.getElementById(id);
  const data = JSON.parse(element("data").textContent);
  const options = new URLSearchParams(location.hash.slice(1));
  const errors = [];
  // Whether what is shown is older than what is known.
  let stale = true;
  addEventListener("error", (event) => errors.push(String(event.message)));

  // Light or dark: as asked for, else as the system says.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let colors = new Map();
  const recolor = () => {
    document.documentElement.dataset.theme = options.get("theme") || (dark.matches ? "dark" : "light");
    colors = new Map();
    stale = true;
  };
  const color = (name) => {
    if (!colors.has(name)) colors.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    return colors.get(name);
  };
  dark.addEventListener("change", recolor);
  recolor();
  document.documentElement.classList.toggle("embed", options.has("embed"));

  const world = new World(PROGRAM, data);
  const scene = new { "cart-pole": CartPole, pendulum: Pendulum, bodies: Bodies }[data.scene.drawer](data.scene);
  const activity = new Activity(element("activity"), world, element("probe"));
  const canvas = element("view"), g = canvas.getContext("2d");
  const view = { width: 1, height: 1, scale: 1, color };
  const seconds = data.scene.seconds;
  let playing = !options.has("paused"), speed = 1, owed = 0, last = 0, hold = null, hand = [0, 0], resting = 0;
  // Since the speed was last told: steps, and the time in which there should have been some.
  let frames = 0, made = 0, moving = 0, since = 0;

  element("title").textContent = data.title;
  element("about").textContent = data.about;
  element("help").textContent = `Drag ${scene.words} with the mouse or a finger. Space pauses, R starts again, and the arrow keys push.`;

  function step() {
    if (hold) scene.push(view, world.state, hold, hand, seconds);
    world.step();
    made++;
    if (world.ended) resting = 0.9;
  }

  function restart() {
    world.restart();
    [hold, owed, resting, stale] = [null, 0, 0, true];
    canvas.classList.remove("held");
  }

  /// Makes the steps of a frame; stops early where the machine is too slow.
  function advance(passed) {
    if (resting > 0) {
      resting -= passed;
      if (resting <= 0) restart();
      return;
    }
    owed += passed * speed;
    const begin = performance.now();
    while (owed >= seconds && resting <= 0) {
      step();
      owed -= seconds;
      if (performance.now() - begin > 24) owed = 0;
    }
  }

  function draw() {
    view.scale = Math.min(devicePixelRatio || 1, 2);
    [view.width, view.height] = [canvas.clientWidth, canvas.clientHeight].map((size) => Math.max(1, Math.round(size * view.scale)));
    if (canvas.width !== view.width || canvas.height !== view.height) [canvas.width, canvas.height] = [view.width, view.height];
    g.fillStyle = color("--sky");
    g.fillRect(0, 0, view.width, view.height);
    const shown = world.between(Math.max(0, Math.min(1, owed / seconds)));
    scene.draw(g, view, shown, world);
    if (hold) {
      const at = scene.held(view, shown, hold);
      line(g, at, hand, color("--hold"), 2.5 * view.scale);
      disc(g, hand, 6 * view.scale, color("--hold"));
    }
    activity.draw(color);
    element("note").textContent = resting > 0 ? "This is the end of the episode. It starts again." : "";
    element("time").textContent = `${(world.steps * seconds).toFixed(1)} s`;
    element("return").textContent = world.total.toFixed(1);
    element("reward").textContent = world.reward.toFixed(3);
  }

  function frame(now) {
    const gap = (now - last) / 1000;
    last = now;
    // Between two episodes nothing moves, however fast the machine is.
    if (playing && resting <= 0) moving += gap;
    if (playing) advance(Math.min(gap, 0.1));
    // A page that rests costs nothing.
    if (playing || stale) draw();
    stale = false;
    frames++;
    if (now - since > 1000) {
      if (!playing) element("rate").textContent = "paused";
      else if (moving > 0.2) element("rate").textContent = `${((made * seconds) / moving).toFixed(1)} ×`;
      [made, moving, since] = [0, 0, now];
    }
    requestAnimationFrame(frame);
  }

  function play(on) {
    [playing, stale] = [on, true];
    element("play").textContent = on ? "Pause" : "Play";
  }

  // Hands.
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * view.scale, (event.clientY - box.top) * view.scale];
  };
  canvas.addEventListener("pointerdown", (event) => {
    hand = at(event);
    hold = resting > 0 ? null : scene.grab(view, world.state, hand);
    if (hold) canvas.setPointerCapture(event.pointerId);
    canvas.classList.toggle("held", Boolean(hold));
  });
  canvas.addEventListener("pointermove", (event) => { hand = at(event); });
  for (const kind of ["resize", "pointermove", "pointerdown", "pointerup"]) addEventListener(kind, () => { stale = true; });
  for (const kind of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(kind, () => {
      hold = null;
      canvas.classList.remove("held");
    });
  }
  const shove = (side) => scene.shove(world.state, side);
  const actions = { play: () => play(!playing), again: restart, left: () => shove(-1), right: () => shove(1) };
  for (const [id, act] of Object.entries(actions)) element(id).addEventListener("click", act);
  element("speed").addEventListener("change", (event) => { speed = Number(event.target.value); });
  const keys = { " ": "play", r: "again", R: "again", ArrowLeft: "left", ArrowRight: "right" };
  document.addEventListener("keydown", (event) => {
    const own = /^(BUTTON|SELECT)$/.test(event.target.tagName ?? "") && event.key !== "r";
    if (own || !keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[keys[event.key]]();
  });

  globalThis.farad = {
    ready: new Promise((done) => requestAnimationFrame(() => done(true))),
    errors,
    pause: () => play(false),
    play: () => play(true),
    restart,
    set: (arrays) => world.set(arrays),
    state: () => world.state.map((array) => [...array]),
    step: (count) => { for (let n = 0; n < count; n++) world.step(); stale = true; },
    action: () => [...world.action],
    layers: () => world.layers.map((layer) => [...layer.values]),
    held: (hold) => scene.held(view, world.state, hold).map((v) => v / view.scale),
    holds: () => hold !== null,
    counts: () => ({ frames, steps: world.steps, reward: world.reward, ended: world.ended }),
  };
  play(playing);
  requestAnimationFrame(frame);
})();
