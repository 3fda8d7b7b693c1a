"use strict";
const motion = JSON.parse(document.getElementById("motion").textContent);
const element = (id) => document.getElementById(id);
const INK = "#222222", GROUND = "#8a8a8a";
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c564b"];
const AXES = ["#c1272d", "#2e8b57", "#2a52be"];
const SAMPLES = 20; // number of times at which the extent of solids is measured
const RINGS = 5, SIDES = 10; // rings and sides of the spheres and cylinders that show bodies in space

function numbers(text) {
  return new Float32Array(Uint8Array.from(atob(text), (item) => item.charCodeAt(0)).buffer);
}

const times = numbers(motion.frame_times), frames = numbers(motion.frames);
const dim = motion.dim, count = frames.length / times.length, space = dim === 3;
const begin = times[0], end = times[times.length - 1];
const radius = 0.012 * motion.size;
const bodies = [...new Set(motion.bones.map((bone) => bone[0]))];
const colour = Object.fromEntries(bodies.map((body, k) => [body, COLOURS[k % COLOURS.length]]));
const joints = motion.joints.map((joint) => joint[1]);
const now = new Float32Array(count);

/** Put the points at time t, interpolated between two frames, in `now`. */
function place(t) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle; else high = middle;
  }
  const share = Math.min(1, Math.max(0, (t - times[low]) / (times[high] - times[low])));
  for (let k = 0; k < count; k++) now[k] = (1 - share) * frames[low * count + k] + share * frames[high * count + k];
}

const point = (number) => Array.from({ length: dim }, (_, k) => now[number * dim + k]);

/** Return columns x, y (and z) of polylines, with gaps between them. */
function lines(groups) {
  const found = Array.from({ length: dim }, () => []);
  for (const group of groups) {
    for (const p of group) p.forEach((value, k) => found[k].push(value));
    found.forEach((column) => column.push(null));
  }
  return found;
}

const columns = (found) => (space ? { x: found[0], y: found[1], z: found[2] } : { x: found[0], y: found[1] });

// -- solids in space: a sphere at every point of a body, a cylinder along every bone ---------------------------------

const bonesOf = (body) => motion.bones.filter((bone) => bone[0] === body);
const pointsOf = (body) => [...new Set(bonesOf(body).flatMap((bone) => [bone[1], bone[2]]))];

function sphere(c, r, out) {
  for (let i = 0; i <= RINGS; i++) {
    const polar = (Math.PI * i) / RINGS;
    for (let k = 0; k < SIDES; k++) {
      const around = (2 * Math.PI * k) / SIDES;
      out[0].push(c[0] + r * Math.sin(polar) * Math.cos(around));
      out[1].push(c[1] + r * Math.sin(polar) * Math.sin(around));
      out[2].push(c[2] - r * Math.cos(polar));
    }
  }
}

function cylinder(a, b, r, out) {
  const d = b.map((value, k) => value - a[k]), long = Math.hypot(...d) || 1, n = d.map((value) => value / long);
  const least = n.map(Math.abs).indexOf(Math.min(...n.map(Math.abs)));
  const e = [0, 1, 2].map((k) => (k === least ? 1 : 0));
  const cross = (p, q) => [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
  const s = cross(n, e), size = Math.hypot(...s), u = s.map((value) => value / size), v = cross(n, u);
  for (const c of [a, b]) {
    for (let k = 0; k < SIDES; k++) {
      const f = r * Math.cos((2 * Math.PI * k) / SIDES), g = r * Math.sin((2 * Math.PI * k) / SIDES);
      for (let j = 0; j < 3; j++) out[j].push(c[j] + f * u[j] + g * v[j]);
    }
  }
}

/** Return the triangles of a number of tubes, each of which consists of successive rings of vertices. */
function triangles(tubes) {
  const found = { i: [], j: [], k: [] };
  let first = 0;
  for (const rings of tubes) {
    for (let ring = 0; ring < rings - 1; ring++) {
      for (let side = 0; side < SIDES; side++) {
        const a = first + ring * SIDES + side, b = first + ring * SIDES + ((side + 1) % SIDES);
        found.i.push(a, b); found.j.push(b, b + SIDES); found.k.push(a + SIDES, a + SIDES);
      }
    }
    first += rings * SIDES;
  }
  return found;
}

function solid(body) {
  const out = [[], [], []];
  for (const number of pointsOf(body)) sphere(point(number), radius, out);
  for (const [, from, to] of bonesOf(body)) cylinder(point(from), point(to), radius, out);
  return out;
}

function balls() {
  const out = [[], [], []];
  for (const number of joints) sphere(point(number), 1.5 * radius, out);
  return out;
}

// -- what links look like, in the axes of their bodies -----------------------------------------------------------------

/** Give every triangle corners of its own, so that edges stay sharp. */
const solids = motion.solids.map((item) => {
  const shared = numbers(item.vertices), corners = item.triangles.flat();
  return { ...item, vertices: Float32Array.from(corners.flatMap((n) => [shared[3 * n], shared[3 * n + 1], shared[3 * n + 2]])) };
});
const clad = new Set(solids.map((item) => item.body));

function placed({ axes, vertices }) {
  const item = motion.axes[axes], origin = item ? point(item.origin) : [0, 0, 0];
  const arms = [0, 1, 2].map((k) => [0, 1, 2].map((j) =>
    (item ? (now[item.tips[k] * dim + j] - origin[j]) / motion.arm : Number(j === k))));
  return [0, 1, 2].map((j) => {
    const column = new Float32Array(vertices.length / 3);
    for (let n = 0; n < column.length; n++) {
      column[n] = origin[j] + vertices[3 * n] * arms[0][j] + vertices[3 * n + 1] * arms[1][j] + vertices[3 * n + 2] * arms[2][j];
    }
    return column;
  });
}

// -- what moves: [what gives its columns, its trace] ------------------------------------------------------------------

const type = space ? "scatter3d" : "scatter";
const moving = [];
place(begin);
for (const body of bodies) {
  if (space) {
    const tubes = [...pointsOf(body).map(() => RINGS + 1), ...bonesOf(body).map(() => 2)];
    moving.push([() => solid(body), {
      type: "mesh3d", name: body, color: colour[body], showlegend: true, hoverinfo: "name", ...triangles(tubes),
      visible: !clad.has(body),
      lighting: { ambient: 0.65, diffuse: 0.7, specular: 0.2, roughness: 0.5 }, flatshading: false,
    }]);
  } else {
    moving.push([() => lines(bonesOf(body).map(([, from, to]) => [point(from), point(to)])), {
      type, mode: "lines", name: body, line: { color: colour[body], width: 8 }, hoverinfo: "name",
    }]);
  }
}
const firstSolid = moving.length;
solids.forEach((item, number) => {
  const [r, g, b, alpha] = item.colour ?? [null, null, null, 1];
  const [i, j, k] = [0, 1, 2].map((corner) => item.triangles.map((_, n) => 3 * n + corner));
  moving.push([() => placed(item), {
    type: "mesh3d", name: item.body || "world", i, j, k, flatshading: false, opacity: alpha, hoverinfo: "name",
    color: r === null ? colour[item.body] ?? GROUND : `rgb(${[r, g, b].map((value) => Math.round(255 * value)).join()})`,
    showlegend: solids.findIndex((other) => other.body === item.body) === number,
    legendgroup: `solid ${item.body}`, lighting: { ambient: 0.6, diffuse: 0.7, specular: 0.15, roughness: 0.6 },
  }]);
});
if (space) {
  moving.push([balls, {
    type: "mesh3d", name: "joints", color: INK, hoverinfo: "skip", showlegend: false,
    ...triangles(joints.map(() => RINGS + 1)), lighting: { ambient: 0.6, diffuse: 0.7, specular: 0.3 },
  }]);
}
moving.push([() => joints.map(point).reduce((found, p) => { p.forEach((v, k) => found[k].push(v)); return found; },
  Array.from({ length: dim }, () => [])), {
  type, mode: "markers", name: "joints", text: motion.joints.map((joint) => joint[0]), showlegend: false,
  hovertemplate: "%{text}<extra></extra>",
  marker: space ? { size: 8, color: INK, opacity: 0.01 } : { size: 13, color: "#ffffff", line: { color: INK, width: 2.5 } },
}]);
const firstAxes = moving.length;
for (let k = 0; k < dim; k++) {
  for (const wanted of [true, false]) {
    const some = motion.axes.filter((item) => item.wanted === wanted);
    moving.push([() => lines(some.map((item) => [point(item.origin), point(item.tips[k])])), {
      type, mode: "lines", name: "xyz"[k], showlegend: false, visible: wanted, hoverinfo: "skip",
      line: { color: AXES[k], width: space ? 5 : 3 },
    }]);
  }
}

// -- what stands still: floor, ground, traces --------------------------------------------------------------------------

const low = Array(dim).fill(Infinity), high = Array(dim).fill(-Infinity);
for (let k = 0; k < frames.length; k++) {
  low[k % dim] = Math.min(low[k % dim], frames[k]);
  high[k % dim] = Math.max(high[k % dim], frames[k]);
}
for (let sample = 0; sample <= SAMPLES && solids.length; sample++) {
  place(begin + ((end - begin) * sample) / SAMPLES);
  for (const item of solids) {
    placed(item).forEach((column, k) => {
      low[k] = column.reduce((a, b) => Math.min(a, b), low[k]);
      high[k] = column.reduce((a, b) => Math.max(a, b), high[k]);
    });
  }
}
place(begin);
const least = 0.3 * motion.size, pad = 0.08 * motion.size;
for (let k = 0; k < dim; k++) {
  const missing = Math.max(0, least - (high[k] - low[k])) / 2;
  low[k] -= missing + pad;
  high[k] += missing + pad;
}

function floor() {
  const up = motion.up.map(Math.abs).indexOf(Math.max(...motion.up.map(Math.abs)));
  const level = motion.up[up] > 0 ? low[up] : high[up];
  const [a, b] = [0, 1, 2].filter((k) => k !== up);
  const step = 10 ** Math.floor(Math.log10(motion.size / 2));
  const groups = [];
  for (const [along, across] of [[a, b], [b, a]]) {
    for (let s = Math.ceil(low[across] / step) * step; s <= high[across]; s += step) {
      groups.push([low[along], high[along]].map((end) => {
        const p = [0, 0, 0];
        p[up] = level; p[across] = s; p[along] = end;
        return p;
      }));
    }
  }
  return groups;
}

const still = [];
if (space) {
  still.push({ type, mode: "lines", ...columns(lines(floor())), line: { color: "#d4d4d4", width: 1.5 } });
}
if (motion.ground.length > 1) {
  const ring = motion.ground.length > 2 ? [...motion.ground, motion.ground[0]] : motion.ground;
  still.push({ type, mode: "lines", ...columns(lines([ring.map(point)])),
    line: { color: GROUND, width: space ? 4 : 2, dash: "dash" } });
}
if (motion.ground.length) {
  still.push({ type, mode: "markers", ...columns(lines(motion.ground.map((number) => [point(number)]))),
    marker: { symbol: "square", size: space ? 9 : 24, color: space ? GROUND : "#c9c9c9", line: { color: GROUND, width: 1.5 } } });
}
const firstTraces = still.length;
for (const body of bodies) {
  const ends = [...new Set(bonesOf(body).map((bone) => bone[2]))];
  const paths = ends.map((number) => Array.from(times, (_, frame) =>
    Array.from({ length: dim }, (_, k) => frames[frame * count + number * dim + k])));
  still.push({ type, mode: "lines", ...columns(lines(paths)), visible: false,
    line: { color: colour[body], width: space ? 2 : 1.2 }, opacity: 0.6 });
}
still.forEach((trace) => Object.assign(trace, { hoverinfo: "skip", showlegend: false }));

// -- the scene ----------------------------------------------------------------------------------------------------------

const label = (k) => ({ text: "xyz"[k] + " [m]" });
const quiet = { gridcolor: "#eeeeee", zerolinecolor: "#dddddd", linecolor: "#999999", tickfont: { size: 12 } };
const layout = {
  margin: { l: space ? 0 : 60, r: space ? 0 : 16, t: 10, b: space ? 0 : 46 }, uirevision: "kept",
  paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", font: { color: INK, size: 13 },
  showlegend: bodies.length <= 16, legend: { x: 0.01, y: 0.99, bgcolor: "rgba(255,255,255,0.8)" },
};
if (space) {
  const span = high.map((value, k) => value - low[k]), largest = Math.max(...span);
  const axis = (k) => ({ ...quiet, title: label(k), range: [low[k], high[k]], showbackground: false, showspikes: false, nticks: Math.max(2, Math.round((7 * span[k]) / largest)) });
  const vector = (p) => ({ x: p[0], y: p[1], z: p[2] });
  const u = motion.up, tall = u.map(Math.abs).indexOf(Math.max(...u.map(Math.abs)));
  const eye = [0, 0, 0], [a, b] = [(tall + 1) % 3, (tall + 2) % 3];
  eye[a] = 1.45; eye[b] = -1.6 * (u[tall] < 0 ? -1 : 1);
  eye[tall] = 0.75 * Math.sign(u[tall]);
  for (const [, trace] of moving) if (trace.type === "mesh3d") trace.lightposition = vector(eye.map((value, k) => 3e4 * (value + u[k])));
  layout.scene = {
    xaxis: axis(0), yaxis: axis(1), zaxis: axis(2), aspectmode: "manual", dragmode: "orbit",
    aspectratio: vector(span.map((value) => (1.25 * value) / largest)),
    camera: { up: vector(u), eye: vector(eye), center: { x: 0, y: 0, z: 0 }, projection: { type: "perspective" } },
  };
} else {
  layout.xaxis = { ...quiet, title: label(0), range: [low[0], high[0]], constrain: "domain", showline: true };
  layout.yaxis = { ...quiet, title: label(1), range: [low[1], high[1]], scaleanchor: "x", scaleratio: 1, showline: true };
  layout.hovermode = "closest";
}
const settings = { displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "tableRotation"] };
const traces = [...still, ...moving.map(([where, trace]) => ({ ...trace, ...columns(where()) }))];
const indices = moving.map((_, k) => still.length + k);

// -- the plots ------------------------------------------------------------------------------------------------------------

const LEFT = 74, RIGHT = 14;
const plotTimes = numbers(motion.plot_times);
const graph = { traces: [], layout: {
  margin: { l: LEFT, r: RIGHT, t: 26, b: 42 }, paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", font: { color: INK, size: 12 },
  xaxis: { ...quiet, title: { text: "time [s]" }, range: [begin, end], anchor: "y" + (motion.panels.length > 1 ? motion.panels.length : ""), fixedrange: true, showline: true },
  hovermode: "x", showlegend: true,
} };
const GAP = 0.055, tall = (1 - GAP * (motion.panels.length - 1)) / Math.max(1, motion.panels.length);
motion.panels.forEach((panel, number) => {
  const tail = number ? number + 1 : "", top = 1 - number * (tall + GAP);
  graph.layout["yaxis" + tail] = { ...quiet, title: { text: panel.label, standoff: 4 }, domain: [Math.max(0, top - tall), top], fixedrange: true, showline: true, nticks: 5 };
  graph.layout["legend" + tail] = { x: 0, y: top, yanchor: "bottom", orientation: "h", bgcolor: "rgba(0,0,0,0)", font: { size: 11 } };
  panel.series.forEach((series, k) => graph.traces.push({
    type: "scatter", mode: "lines", name: series.name, x: plotTimes, y: numbers(series.values), yaxis: "y" + tail,
    legend: "legend" + tail, line: { color: COLOURS[k % COLOURS.length], width: 1.8 }, hovertemplate: "%{y:.4g}",
  }));
});

// -- playing ---------------------------------------------------------------------------------------------------------------

let t = begin, playing = false, last = null, drawing = false;
const SPEEDS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50];
const length = end - begin;
const usual = length >= 1 && length <= 30 ? 1 : SPEEDS.reduce((a, b) => (Math.abs(Math.log(length / b / 8)) < Math.abs(Math.log(length / a / 8)) ? b : a));
element("speed").innerHTML = SPEEDS.map((s) => `<option value="${s}"${s === usual ? " selected" : ""}>${s}x</option>`).join("");
element("time").min = begin;
element("time").max = end;

function show() {
  element("time").value = t;
  element("clock").textContent = `${t.toFixed(length < 1 ? 4 : 2)} of ${+end.toPrecision(6)} s`;
  const width = element("graph").clientWidth - LEFT - RIGHT;
  element("cursor").style.left = `${LEFT + (width * (t - begin)) / length}px`;
  if (drawing) return;
  drawing = true;
  place(t);
  const found = moving.map(([where]) => where());
  const change = { x: found.map((c) => c[0]), y: found.map((c) => c[1]) };
  if (space) change.z = found.map((c) => c[2]);
  Plotly.restyle("scene", change, indices).then(() => { drawing = false; });
}

function tick(moment) {
  if (!playing) return;
  if (last !== null) {
    t += ((moment - last) / 1000) * Number(element("speed").value);
    if (t > end) t = begin + ((t - begin) % length);
    show();
  }
  last = moment;
  requestAnimationFrame(tick);
}

function play(on) {
  playing = on;
  last = null;
  element("play").textContent = on ? "Pause" : "Play";
  if (on) requestAnimationFrame(tick);
}

function seek(to) {
  play(false);
  t = Math.min(end, Math.max(begin, to));
  show();
}

const shown = (from, some, on) => Plotly.restyle("scene", { visible: on }, some.map((_, k) => from + k));
element("play").addEventListener("click", () => play(!playing));
element("time").addEventListener("input", (event) => seek(Number(event.target.value)));
element("traces").addEventListener("change", (event) => shown(firstTraces, still.slice(firstTraces), event.target.checked));
element("shapes").parentElement.hidden = !solids.length;
element("shapes").addEventListener("change", (event) => {
  const rods = indices.slice(0, bodies.length).filter((_, k) => clad.has(bodies[k]));
  Plotly.restyle("scene", { visible: event.target.checked }, indices.slice(firstSolid, firstSolid + solids.length));
  if (rods.length) Plotly.restyle("scene", { visible: !event.target.checked }, rods);
});
element("axes").addEventListener("change", (event) => {
  const others = indices.slice(firstAxes).filter((_, k) => k % 2 === 1);
  Plotly.restyle("scene", { visible: event.target.checked }, others);
});
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "SELECT") return;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === " ") play(!playing);
  else if (step) seek(t + (step * length) / 200);
  else return;
  event.preventDefault();
});
new ResizeObserver(() => {
  for (const id of ["scene", "graph"]) if (element(id).layout) Plotly.Plots.resize(id);
  show();
}).observe(document.querySelector("main"));

Promise.all([Plotly.newPlot("scene", traces, layout, settings), Plotly.newPlot("graph", graph.traces, graph.layout, { ...settings, displayModeBar: false })]).then(() => {
  element("graph").on("plotly_click", (event) => seek(event.points[0].x));
  const asked = /^#t=([\d.]+)$/.exec(location.hash);
  if (asked) seek(Number(asked[1]));
  else { show(); play(!matchMedia("(prefers-reduced-motion: reduce)").matches); }
});
