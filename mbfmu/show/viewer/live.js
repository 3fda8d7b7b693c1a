
// -- a run that a worker computes ---------------------------------------------------------------------------------------

const live = JSON.parse(element("live").textContent), { variables, interval } = live, width = variables.length;
const references = new Map(variables.map((item, vr) => [item.name, vr]));
const INPUT = "input", TIME = 0; // a kind, and the value reference of the time
const ERROR = references.get("solver.error");
const SPEEDS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, Infinity];
const WINDOWS = [2, 5, 10, 30, 60, Infinity]; // s
const PLOTTED = 50; // ms from one drawing of the curves to the next while the run goes on
const POINTS = 500, PATH = 240; // most points of a curve, and of a trace
const FEW = 6; // parameters of parts that show at first
const MEASURED = 1000; // ms over which the speed is measured
const PULL = "#e0218a";
const KEYS = { "← →": ["ArrowLeft", "ArrowRight"], "↓ ↑": ["ArrowDown", "ArrowUp"], "A D": ["a", "d"], "S W": ["s", "w"] };

/** The rows of the run that are kept, in blocks; the oldest block goes when there are too many. */
const record = {
  blocks: [], first: 0, length: 0, BLOCK: Math.max(16, Math.min(1024, Math.floor(live.rows / 4))),
  row(index) {
    const k = index - this.first, block = this.blocks[Math.floor(k / this.BLOCK)], from = (k % this.BLOCK) * width;
    return block.subarray(from, from + width);
  },
  push(values) {
    if (this.length - this.first === this.blocks.length * this.BLOCK) this.blocks.push(new Float64Array(this.BLOCK * width));
    this.length += 1;
    this.row(this.length - 1).set(values);
    if (this.length - this.first > live.rows) { this.blocks.shift(); this.first += this.BLOCK; }
  },
  cut(length) { this.length = length; },
  clear() { this.blocks = []; this.first = this.length = 0; },
  value(index, vr) {
    const k = index - this.first;
    return this.blocks[Math.floor(k / this.BLOCK)][(k % this.BLOCK) * width + vr];
  },
  time(index) { return this.value(index, TIME); },
  get last() { return this.length - 1; },
  /** Return the last index whose time is not later than t. */
  before(time) {
    let low = this.first, high = this.last;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.time(middle) <= time) low = middle; else high = middle - 1;
    }
    return low;
  },
};

const worker = new Worker(URL.createObjectURL(new Blob([element("worker").textContent], { type: "text/javascript" })));
const order = (name, content = {}, moved = []) => worker.postMessage({ order: name, ...content }, moved);

let running = false, wasRunning = false, paused = null; // index of the row that is shown, if it is not the last
let plotted = -Infinity; // when the curves were last drawn, ms
let last = null, stamps = [], waiting = false, ready = false;
const changes = new Map(); // values of parameters and start values that differ from the model's, by value reference
const speedOf = () => Number(element("speed").value);

// -- what is shown --------------------------------------------------------------------------------------------------------

known = new Map(variables.slice(1).filter((item) => item.kind !== "picture").map((item) => [item.name, item.label]));
chosen = live.shown.filter((name) => known.has(name));
curveOf = (name) => {
  const vr = references.get(name), { factor } = variables[vr], times = [], values = [];
  if (!record.length) return { times, values };
  const from = Math.max(record.first, record.before(axis.begin)), stride = Math.max(1, Math.ceil((record.length - from) / POINTS));
  for (let k = from - ((from - record.first) % stride); k < record.length; k += stride) {
    times.push(record.time(k));
    values.push(factor * record.value(k, vr));
  }
  const end = record.time(record.last);
  if (times.length && times[times.length - 1] < end) { times.push(end); values.push(factor * record.value(record.last, vr)); }
  return { times, values };
};

/** Return the poses of all bodies in a row; rotation matrices become angles or quaternions. */
function poseOf(row) {
  const poses = new Float64Array(frames.length * wide), { dim } = motion, axes = new THREE.Matrix4();
  motion.columns.forEach((list, k) => {
    const values = list.map((vr) => row[vr]);
    if (list.length > wide) {
      const R = values.splice(dim);
      if (dim === 2) values.push(Math.atan2(R[1], R[0]));
      else {
        axes.makeBasis(vector(R.slice(0, 3)), vector(R.slice(3, 6)), vector(R.slice(6)));
        const { w, x, y, z } = q0.setFromRotationMatrix(axes);
        values.push(w, x, y, z);
      }
    }
    poses.set(values, k * wide);
  });
  return poses;
}

const fits = skins.map((skin) => ({ weights: instants(skin.fits.weights), loads: instants(skin.fits.loads) }));

/** Bend the flexible bodies by polynomials of their shape coordinates. */
function bendNow(low, high, share) {
  skins.forEach((skin, k) => {
    const eta = skin.coordinates.map((vr) => (1 - share) * low[vr] + share * high[vr]), powers = [1, ...eta];
    eta.forEach((a, i) => eta.slice(i).forEach((b) => powers.push(a * b)));
    for (const part of ["weights", "loads"]) {
      const fit = fits[k][part], count = fit.length / powers.length;
      skin[part] = Float64Array.from({ length: count }, (_, j) => powers.reduce((sum, power, i) => sum + power * fit[i * count + j], 0));
    }
  });
  if (skins.length) bendBetween(0, 0, 0);
}

/** Put the bodies where they are at the time that is shown. */
function placeNow() {
  const low = record.before(t), high = Math.min(record.last, low + 1), [t0, t1] = [record.time(low), record.time(high)];
  const share = t1 > t0 ? Math.min(1, Math.max(0, (t - t0) / (t1 - t0))) : 0;
  put(poseOf(record.row(low)), poseOf(record.row(high)), share);
  bendNow(record.row(low), record.row(high), share);
  placeHandles(record.row(low), record.row(high), share);
}

// -- pulls with the pointer -----------------------------------------------------------------------------------------------

const NEAR = 28; // pixels from the pointer to a handle that it takes
const handles = live.pulls.map(() => {
  const mesh = new THREE.Mesh(new THREE.SphereGeometry(0.025 * motion.size, 20, 14),
    new THREE.MeshBasicMaterial({ color: colour(PULL), transparent: true, opacity: 0.75, depthTest: false }));
  scene.add(mesh);
  return mesh;
});
const rope = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: colour(PULL), depthTest: false }));
rope.visible = rope.frustumCulled = false;
scene.add(rope);
let pulled = null; // { k, plane, to }: index of the pull, the plane in which the pointer moves, and where it is

const pointOf = ({ at }, row) => new THREE.Vector3(...at.map((vr) => row[vr]), ...(at.length < 3 ? [0] : []));

/** Put the handles where their points are between two rows. */
function placeHandles(low, high, share) {
  handles.forEach((mesh, k) => mesh.position.copy(pointOf(live.pulls[k], low)).lerp(pointOf(live.pulls[k], high), share));
  rope.visible = Boolean(pulled);
  if (pulled) rope.geometry.setFromPoints([handles[pulled.k].position, pulled.to]);
}

/** Return the ray under the pointer, and where it is in pixels. */
function rayOf(event) {
  const area = renderer.domElement.getBoundingClientRect(), ray = new THREE.Raycaster();
  const x = event.clientX - area.left, y = event.clientY - area.top;
  ray.setFromCamera({ x: (2 * x) / area.width - 1, y: 1 - (2 * y) / area.height }, camera);
  return { ray: ray.ray, x, y, area };
}

/** Exert the force of a spring from the point that is pulled to the pointer. */
function exert() {
  order("pull", { pull: { ...live.pulls[pulled.k], to: pulled.to.toArray(), stiffness: Number(element("stiffness").value) } });
}

function take(event) {
  if (event.button || !record.length) return;
  const { x, y, area, ray } = rayOf(event);
  const away = handles.map(({ position }) => {
    const p = position.clone().project(camera);
    return Math.hypot(((p.x + 1) / 2) * area.width - x, ((1 - p.y) / 2) * area.height - y);
  });
  const k = away.indexOf(Math.min(...away));
  if (!(away[k] < NEAR)) return;
  const normal = motion.dim === 2 ? new THREE.Vector3(0, 0, 1) : camera.getWorldDirection(new THREE.Vector3());
  const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, handles[k].position);
  pulled = { k, plane, to: ray.intersectPlane(plane, new THREE.Vector3()) ?? handles[k].position.clone() };
  controls.enabled = false;
  renderer.domElement.setPointerCapture(event.pointerId);
  exert();
  if (!running) play(true);
}

function drag(event) {
  if (!pulled) return;
  rayOf(event).ray.intersectPlane(pulled.plane, pulled.to);
  exert();
}

function release() {
  if (!pulled) return;
  order("pull", { pull: null });
  for (const vr of live.pulls[pulled.k].inputs) senders.get(vr)();
  pulled = null;
  controls.enabled = true;
  dirty = true;
}
if (renderer && handles.length) {
  renderer.domElement.addEventListener("pointerdown", take, true);
  renderer.domElement.addEventListener("pointermove", drag);
  for (const name of ["pointerup", "pointercancel"]) renderer.domElement.addEventListener(name, release);
  element("stiffness").value = brief(live.stiffness, 2);
  element("stiffness").parentElement.hidden = false;
}

function traceNow() {
  if (!traces.visible) return;
  const until = record.before(t), from = Math.max(record.first, record.before(axis.begin)), stride = Math.max(1, Math.ceil((until - from) / PATH));
  const calls = [];
  for (let k = from; k <= until; k += stride) calls.push(() => { const pose = poseOf(record.row(k)); put(pose, pose, 0); });
  trace(calls);
}

function show() {
  if (!record.length) return;
  const [start, stop] = [record.time(record.first), record.time(record.last)], window = Number(element("window").value);
  if (t < axis.begin || t > axis.end || paused === null) {
    axis.end = paused === null ? Math.max(stop, start + Math.min(window, 1)) : Math.min(stop, t + window / 2);
    axis.begin = Math.max(start, axis.end - window);
    if (window !== Infinity && axis.begin === start) axis.end = start + window;
  }
  [element("time").min, element("time").max, element("time").value] = [start, stop, t];
  element("clock").textContent = `${t.toFixed(interval < 0.01 ? 4 : 2)} s`;
  if (frames.length) {
    traceNow();
    placeNow();
    follow();
  }
  dirty = true;
  if (performance.now() < plotted + PLOTTED * (running && paused === null)) return;
  plotted = performance.now();
  arrange();
  drawPlots();
  drawCursor();
}

/** Tell how fast the run is, how many pictures a second are drawn, and its error. */
function measure(now) {
  stamps.push({ now, t: record.length ? record.time(record.last) : 0 });
  while (stamps.length > 2 && now - stamps[1].now > MEASURED) stamps.shift();
  const [one, two] = [stamps[0], stamps[stamps.length - 1]], span = (two.now - one.now) / 1000;
  if (span < 0.2) return;
  const parts = [running ? `${brief((two.t - one.t) / span, 3)} s of motion a second` : ready ? "paused" : "",
    `${Math.round((stamps.length - 1) / span)} pictures a second`];
  if (ERROR !== undefined && record.length) parts.push(`error ${short(record.value(record.last, ERROR))} of the range`);
  const text = parts.filter(Boolean).join(" · ");
  if (element("status").textContent !== text) element("status").textContent = text;
}

function draw(now) {
  if (running && record.length && paused === null) {
    const end = record.time(record.last), lag = Math.max(2 * interval, 2 * speedOf() / 60);
    const next = Math.min(end, Math.max(t + (last === null ? 0 : ((now - last) / 1000) * speedOf()), end - lag));
    if (next !== t) { t = next; show(); }
  }
  last = now;
  measure(now);
  render(now, running);
  requestAnimationFrame(draw);
}

// -- the worker's messages ------------------------------------------------------------------------------------------------

/** Show a message, or hide the one that is there. */
function complain(text, fault = true) {
  element("message").textContent = text;
  element("message").hidden = !text;
  element("message").classList.toggle("fault", fault);
}
element("message").addEventListener("click", () => complain(""));

function halt() {
  running = false;
  element("play").textContent = "Play";
}

const HEARD = {
  begun(values) {
    record.clear();
    record.push(values);
    stamps = [];
    [paused, t, ready] = [null, record.time(0), true];
    [axis.begin, axis.end] = [0, 0];
    show();
    if (wasRunning) play(true);
  },
  rows(values) {
    for (let from = 0; from < values.length; from += width) record.push(values.subarray(from, from + width));
    if (!running && paused === null) { t = record.time(record.last); show(); }
  },
  back(index) {
    record.cut(index + 1);
    [paused, t, stamps] = [null, record.time(index), []];
    show();
  },
  failed(text, { time }) {
    halt();
    complain(`${text} (t = ${brief(time, 6)} s). Go back in time, change what it depends on, or restart.`);
    if (record.length) { t = record.time(record.last); show(); }
  },
  note(text) { complain(text, false); },
  wrong(text, { vr }) {
    const line = document.querySelector(`.control[data-vr="${vr}"] em`);
    line.textContent = text;
    line.hidden = !text;
  },
};
worker.onmessage = ({ data }) => {
  const name = Object.keys(HEARD).find((key) => key in data);
  HEARD[name](data[name], data);
};
worker.onerror = (event) => complain(`the worker ended: ${event.message}`);

// -- controls of the run --------------------------------------------------------------------------------------------------

/** Go back to the row that is shown, if it is not the last: what came later is given up. */
function resume() {
  if (paused === null) return;
  order("back", { to: paused });
  paused = null;
}

function play(on) {
  if (!ready) return;
  if (on) { resume(); complain(""); }
  [running, last, stamps] = [on, null, []];
  element("play").textContent = on ? "Pause" : "Play";
  order("run", { on, speed: speedOf() });
  if (!on && paused === null && record.length) { t = record.time(record.last); show(); }
}

function step() {
  play(false);
  resume();
  complain("");
  order("steps", { count: 1 });
}

function restart() {
  wasRunning = running;
  play(false);
  complain("");
  ready = false;
  order("restart", { changes: [...changes] });
}

function seek(to) {
  if (!record.length) return;
  if (running) play(false);
  const index = record.before(to + interval / 2);
  paused = index < record.last ? index : null;
  t = record.time(index);
  show();
}

/** Save the run that is kept as a table. */
function save() {
  const shown = variables.map((item, vr) => vr).filter((vr) => !variables[vr].kind.match(/parameter|setting|picture/));
  const quoted = (name) => (/[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  const lines = [shown.map((vr) => quoted(variables[vr].name)).join(",")];
  for (let k = record.first; k < record.length; k++) {
    const row = record.row(k);
    lines.push(shown.map((vr) => row[vr]).join(","));
  }
  download(new Blob([lines.join("\n"), "\n"], { type: "text/csv" }), ".csv");
}

// -- inputs and parameters ------------------------------------------------------------------------------------------------

/** Return the range of a slider about a value: within the bounds, a few times as large as the value or its usual size. */
function rangeOf({ kind, start, nominal, min = -Infinity, max = Infinity }) {
  const size = Math.abs(start) || nominal || 1;
  const [low, high] = kind === INPUT ? [-5 * Math.max(size, nominal), 5 * Math.max(size, nominal)]
    : !start ? [-size, size] : [Math.min(start / 4, start * 4), Math.max(start / 4, start * 4)];
  return [Math.max(low, min), Math.min(high, max)];
}

/** Make a part of a document. */
function make(tag, content = {}, ...children) {
  const made = Object.assign(document.createElement(tag), content);
  made.append(...children);
  return made;
}

const senders = new Map(); // what sends the value in the field of an input again, by its value reference
const bound = new Map(); // what a key does, by its name: { begin, end }

/** Make the controls of one variable. */
function controlOf(vr) {
  const item = variables[vr], { factor } = item, input = item.kind === INPUT, given = live.inputs[item.name];
  const initial = given === undefined ? item.start : factor === 1 ? given : typeof given === "number" ? factor * given : `(${given})*${factor}`;
  const field = make("input", { type: "text", inputMode: "text", value: String(initial), ariaLabel: item.name });
  const [low, high] = rangeOf(item);
  const slider = make("input", { type: "range", min: low, max: high, step: item.type === "Real" ? "any" : 1, ariaLabel: `${item.name}, slider` });
  slider.value = Number(initial) || 0;
  const wrong = make("em", { hidden: true });
  const bounds = item.min !== undefined || item.max !== undefined ? ` from ${item.min ?? "-∞"} to ${item.max ?? "∞"}` : "";
  const name = make("span", { title: `${item.text}${bounds}` }, item.name, item.unit && item.unit !== "1" ? ` [${item.unit}]` : "");
  const row = make("div", { className: "control" }, name, field, slider);
  row.dataset.vr = vr;

  function send(text) {
    const number = Number(text);
    if (input) return order("input", { vr, text: text.trim() && Number.isFinite(number) ? number : text });
    if (!text.trim() || !Number.isFinite(number)) return HEARD.wrong("a number is needed", { vr });
    if (number < item.min || number > item.max) return HEARD.wrong(`it must be${bounds}`, { vr });
    HEARD.wrong("", { vr });
    if (number === item.start) changes.delete(vr); else changes.set(vr, number / factor);
    if (item.when === "now") order("parameter", { vr, value: number / factor });
    else HEARD.wrong("acts from the next restart on", { vr });
  }
  function follow() {
    const number = Number(field.value);
    if (!field.value.trim() || !Number.isFinite(number)) return;
    [slider.min, slider.max] = [Math.min(slider.min, number), Math.max(slider.max, number)];
    slider.value = number;
  }
  field.addEventListener("change", () => { follow(); send(field.value); });
  slider.addEventListener("input", () => {
    field.value = brief(Number(slider.value), 4);
    send(field.value);
  });
  if (input) {
    senders.set(vr, () => send(field.value));
    field.title = "a number, or an expression of time, such as 10*sin(2*time)";
    const keys = make("select", { ariaLabel: `keys of ${item.name}` }, make("option", { value: "" }, "no keys"), ...Object.keys(KEYS).map((text) => make("option", {}, text)));
    keys.addEventListener("change", () => {
      for (const [key, use] of bound) if (use.vr === vr) bound.delete(key);
      (KEYS[keys.value] ?? []).forEach((key, k) => bound.set(key, { vr, begin: () => order("input", { vr, text: Number(k ? slider.max : slider.min) }), end: () => send(field.value) }));
    });
    row.append(keys);
    row.bind = (text) => { keys.value = text; keys.dispatchEvent(new Event("change")); };
  }
  row.append(wrong);
  return row;
}

/** Make all controls: inputs, what may change at any time, what acts from a restart on, and the solver. */
function makeControls() {
  const indices = variables.map((_, vr) => vr).filter((vr) => variables[vr].when);
  const inputs = indices.filter((vr) => variables[vr].kind === INPUT);
  const others = (kind, when) => indices.filter((vr) => variables[vr].kind === kind && variables[vr].when === when);
  const tunable = others("parameter", "now"), own = tunable.filter((vr) => !variables[vr].name.includes("."));
  const ofParts = tunable.filter((vr) => !own.includes(vr));
  const parts = [["inputs", inputs, true], ["parameters", own, true], ["parameters of parts", ofParts, ofParts.length <= FEW], ["parameters, from a restart on", others("parameter", "start"), false],
    ["start values", others("output", "start"), false], ["solver", indices.filter((vr) => variables[vr].kind === "setting"), false]];
  for (const [title, list, open] of parts) {
    if (!list.length) continue;
    const rows = list.map(controlOf);
    element("controls").append(make("details", { open }, make("summary", {}, title), ...rows));
    if (title === "inputs") rows.slice(0, 2).forEach((row, k) => row.bind(Object.keys(KEYS)[k]));
  }
  element("controls").hidden = !indices.length;
}

const typing = (target) => target.tagName === "SELECT" || /^(text|search|number)$/.test(target.type);
document.addEventListener("keydown", (event) => {
  if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const use = bound.get(event.key.length === 1 ? event.key.toLowerCase() : event.key);
  if (event.key === " ") play(!running);
  else if (event.key === ".") step();
  else if (use) { if (!event.repeat) use.begin(); } else return;
  event.preventDefault();
});
document.addEventListener("keyup", (event) => bound.get(event.key.length === 1 ? event.key.toLowerCase() : event.key)?.end());

// -- the beginning --------------------------------------------------------------------------------------------------------

const option = (value, text, usual) => make("option", { value, selected: value === usual }, text);
element("speed").append(...SPEEDS.map((s) => option(s, s === Infinity ? "most" : `${s}x`, 1)));
element("window").append(...WINDOWS.map((s) => option(s, s === Infinity ? "all" : `${s} s`, 10)));
document.querySelector("main").classList.add("live");
if (!frames.length) document.querySelector("main").classList.add("alone");
for (const name of ["step", "restart", "table"]) element(name).hidden = false;
element("window").parentElement.hidden = false;
for (const name of ["camera", "colours", "traces", "shapes", "axes", "follow"]) if (!frames.length) element(name).parentElement.hidden = true;
makeChooser(show);
makeControls();
onPointed(seek);
element("play").addEventListener("click", () => play(!running));
element("step").addEventListener("click", step);
element("restart").addEventListener("click", restart);
element("table").addEventListener("click", save);
element("film").addEventListener("click", film);
element("time").addEventListener("input", (event) => seek(Number(event.target.value)));
element("speed").addEventListener("change", () => { if (running) play(true); });
element("window").addEventListener("change", () => { [axis.begin, axis.end] = [0, 0]; show(); });
element("traces").addEventListener("change", show);
DARK.addEventListener("change", show);
new ResizeObserver(() => { fit(); show(); }).observe(document.querySelector("main"));

async function beginRun() {
  const packed = new Blob([bytes(live.module)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const module = await new Response(packed).arrayBuffer();
  wasRunning = location.hash !== "#pause" && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  const inputs = Object.entries(live.inputs).map(([name, text]) => [references.get(name), text]);
  order("open", { model: { ...live, module: "" }, module, changes: [], inputs: inputs.filter(([vr]) => vr !== undefined) }, [module]);
}
beginRun().catch((error) => complain(`the kernel cannot be read: ${error.message}`));
requestAnimationFrame(draw);
