
// -- the plots --------------------------------------------------------------------------------------------------------

const canvas = element("graph"), backdrop = document.createElement("canvas");
const LEFT = 64, RIGHT = 16, TOP = 8, BOTTOM = 36, LINE = 17, LEAST = 92; // pixels, the last of a panel's height
const FONT = "12px system-ui, sans-serif";
const WIDEST = 8; // characters of a number beside an axis
const LISTED = 300; // names in the chooser at once

const axis = { begin: 0, end: 1 }; // of the time, s
let t = 0; // the time that is shown
let chosen = []; // names of the curves, in the order of their choice
let panels = []; // [{ label, series: [{ name, times, values }] }]
let known = new Map(); // label of the panel of each variable, by its name
let curveOf = () => ({ times: [], values: [] }); // the points of a variable by its name

/** Put the chosen curves into panels, one for each kind and unit. */
function arrange() {
  const by = new Map();
  for (const name of chosen) {
    const label = known.get(name);
    if (!by.has(label)) by.set(label, []);
    by.get(label).push({ name, ...curveOf(name) });
  }
  const title = `choose curves: ${chosen.length} of ${known.size}`, summary = element("chooser").querySelector("summary");
  if (summary.textContent !== title) summary.textContent = title;
  panels = [...by].map(([label, series]) => ({ label, series }));
}

/** Return round values within a range, about `count` of them, and their distance. */
function ticks(low, high, count) {
  const raw = (high - low) / count, ten = 10 ** Math.floor(Math.log10(raw));
  const step = ten * [1, 2, 5, 10].find((item) => item * ten >= raw * (1 - 1e-9));
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return { step, values: Array.from({ length: last - first + 1 }, (_, k) => (first + k) * step) };
}
const brief = (value, places = 4) => String(Number(value.toPrecision(places)));

/** Return a tick as text, with the digits that tell it from the next. */
function tickText(value, { step, values }, widest) {
  const largest = Math.max(...values.map(Math.abs)), places = Math.max(1, Math.min(15, Math.floor(Math.log10(largest / step) + 1e-9) + 2));
  const text = brief(Math.abs(value) < step / 2 ? 0 : value, largest ? places : 1);
  return text.length > widest ? value.toExponential(Math.min(places - 1, 3)).replace("e+", "e") : text;
}

function short(value) {
  const size = Math.abs(value);
  return size >= 1000 ? value.toFixed(0) : size >= 1e-3 || !size ? value.toPrecision(3) : value.toExponential(1);
}

/** Return where a panel's label and the names of its curves stand: [text, x, line, index of the curve]. */
function heading(pen, panel, width) {
  const found = [[panel.label, LEFT, 0, -1]];
  let x = LEFT + pen.measureText(panel.label).width + 14, line = 0;
  panel.series.forEach((item, n) => {
    const room = pen.measureText(`${item.name} -0.0000`).width;
    if (x + room > width - RIGHT && x > LEFT) { x = LEFT; line += 1; }
    found.push([item.name, x, line, n]);
    x += room + 14;
  });
  return found;
}

function layout() {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const x = (time) => LEFT + ((width - LEFT - RIGHT) * (time - axis.begin)) / (axis.end - axis.begin || 1);
  const pen = canvas.getContext("2d");
  pen.font = FONT;
  const headings = panels.map((panel) => heading(pen, panel, width)), heads = headings.map((texts) => LINE * (1 + texts[texts.length - 1][2]) + 4);
  const room = Math.max(0, height - TOP - BOTTOM - heads.reduce((a, b) => a + b, 0)) / Math.max(1, panels.length);
  let head = TOP;
  const areas = panels.map((_, k) => {
    const area = { texts: headings[k], head, top: head + heads[k], bottom: head + heads[k] + room - 10 };
    head += heads[k] + room;
    return area;
  });
  return { width, height, x, areas };
}

function drawPlots() {
  const tall = `${TOP + BOTTOM + LEAST * panels.length}px`;
  if (canvas.style.minHeight !== tall) canvas.style.minHeight = tall;
  const ratio = devicePixelRatio || 1, { width, height, x, areas } = layout(), { curves, text, label, grid, frame } = theme();
  for (const item of [canvas, backdrop]) {
    if (item.width !== Math.round(width * ratio)) item.width = Math.round(width * ratio);
    if (item.height !== Math.round(height * ratio)) item.height = Math.round(height * ratio);
  }
  const pen = backdrop.getContext("2d"), times = ticks(axis.begin, axis.end, Math.max(2, Math.min(6, width / 70)));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  panels.forEach((panel, k) => {
    const { top, bottom } = areas[k];
    let low = Infinity, high = -Infinity;
    for (const item of panel.series) for (const value of item.values) if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
    if (low > high) [low, high] = [0, 0];
    const room = 0.06 * (high - low) || 0.05 * Math.abs(high) || 1;
    low -= room; high += room;
    const y = (value) => bottom - ((bottom - top) * (value - low)) / (high - low);
    pen.strokeStyle = grid; pen.fillStyle = label; pen.lineWidth = 1;
    pen.textAlign = "right"; pen.textBaseline = "middle";
    const marks = ticks(low, high, Math.max((bottom - top) / 34, Math.min(5, (bottom - top) / 15)));
    for (const value of marks.values) {
      pen.beginPath(); pen.moveTo(LEFT, y(value)); pen.lineTo(width - RIGHT, y(value)); pen.stroke();
      pen.fillText(tickText(value, marks, WIDEST), LEFT - 7, y(value));
    }
    pen.textAlign = "center"; pen.textBaseline = "top";
    for (const value of times.values) {
      pen.beginPath(); pen.moveTo(x(value), top); pen.lineTo(x(value), bottom); pen.stroke();
      if (k === panels.length - 1) pen.fillText(tickText(value, times, Infinity), x(value), bottom + 6);
    }
    pen.save();
    pen.beginPath(); pen.rect(LEFT, top, width - RIGHT - LEFT, bottom - top); pen.clip();
    panel.series.forEach((item, n) => {
      pen.strokeStyle = curves[n % curves.length]; pen.lineWidth = 1.7; pen.lineJoin = "round";
      pen.beginPath();
      item.values.forEach((value, j) => pen[j && Number.isFinite(item.values[j - 1]) ? "lineTo" : "moveTo"](x(item.times[j]), y(value)));
      pen.stroke();
    });
    pen.restore();
    pen.strokeStyle = frame; pen.lineWidth = 1;
    pen.strokeRect(LEFT, top, width - RIGHT - LEFT, bottom - top);
  });
  pen.fillStyle = text; pen.textAlign = "right"; pen.textBaseline = "bottom";
  if (panels.length) pen.fillText("time [s]", width - RIGHT, height - 3);
}

function valueAt({ times, values }) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle; else high = middle;
  }
  const share = Math.min(1, Math.max(0, (t - times[low]) / (times[high] - times[low] || 1)));
  return share ? (1 - share) * values[low] + share * values[high] : values[low];
}

function drawCursor() {
  const ratio = devicePixelRatio || 1, { x, areas } = layout(), pen = canvas.getContext("2d"), { curves, label, cursor } = theme();
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  if (backdrop.width && backdrop.height) pen.drawImage(backdrop, 0, 0);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.textAlign = "left"; pen.textBaseline = "bottom";
  panels.forEach((panel, k) => {
    const { texts, head, top, bottom } = areas[k];
    pen.font = FONT;
    for (const [text, from, line, n] of texts) {
      pen.fillStyle = n < 0 ? label : curves[n % curves.length];
      const value = n < 0 || !panel.series[n].values.length ? "" : ` ${short(valueAt(panel.series[n]))}`;
      pen.fillText(text + value, from, head + LINE * (line + 1));
    }
    if (t < axis.begin || t > axis.end) return;
    pen.strokeStyle = cursor; pen.lineWidth = 1.4;
    pen.beginPath(); pen.moveTo(x(t), top); pen.lineTo(x(t), bottom); pen.stroke();
  });
}

/** Call a function with the time under the pointer, when it presses or drags in the plots. */
function onPointed(call) {
  function pointed(event) {
    if (event.type === "pointermove" && !event.buttons) return;
    const area = canvas.getBoundingClientRect();
    call(axis.begin + ((axis.end - axis.begin) * (event.clientX - area.left - LEFT)) / (area.width - LEFT - RIGHT));
  }
  canvas.addEventListener("pointerdown", pointed);
  canvas.addEventListener("pointermove", pointed);
}

// -- the chooser of curves ----------------------------------------------------------------------------------------------

/** List the variables whose names have the text that is sought, the chosen ones first. */
function listNames() {
  const wanted = element("find").value.trim().toLowerCase();
  const fits = [...known.keys()].filter((name) => name.toLowerCase().includes(wanted));
  const sorted = [...fits.filter((name) => chosen.includes(name)), ...fits.filter((name) => !chosen.includes(name))];
  element("names").replaceChildren(...sorted.slice(0, LISTED).map((name) => {
    const row = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.checked = chosen.includes(name);
    box.value = name;
    row.append(box, ` ${name}`);
    row.title = known.get(name);
    return row;
  }));
  if (sorted.length > LISTED) element("names").append(`and ${sorted.length - LISTED} more: type a part of the name`);
}

/** Let curves be chosen; `changed` is called after it. */
function makeChooser(changed) {
  element("chooser").addEventListener("toggle", listNames);
  element("find").addEventListener("input", listNames);
  element("names").addEventListener("change", ({ target }) => {
    chosen = target.checked ? [...chosen, target.value] : chosen.filter((name) => name !== target.value);
    arrange();
    changed();
  });
  element("plots").hidden = !known.size;
  if (!known.size) document.querySelector("main").classList.add("alone");
}
