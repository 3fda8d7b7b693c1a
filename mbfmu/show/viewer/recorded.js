
// -- playing a recorded run ---------------------------------------------------------------------------------------------

const SPEEDS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50];
const REPEAT = 8; // s, about the time for which a long or short run plays
const digits = Math.min(15, Math.max(6, Math.ceil(Math.log10(Math.abs(end) / length)) + 3)) || 6; // of a time
const curveTimes = [instants(motion.curve_times), instants(motion.sparse_times)];

known = new Map(motion.curves.map((item) => [item.name, item.label]));
chosen = motion.shown;
const stored = new Map(motion.curves.map((item) => [item.name, { times: curveTimes[item.sparse ? 1 : 0], values: numbers(item.values) }]));
curveOf = (name) => stored.get(name);
[axis.begin, axis.end] = [begin, end];
arrange();
makeChooser(() => { drawPlots(); show(); });
onPointed(seek);
trace(Array.from(times, (time) => () => place(time)));

let playing = false, last = null;
t = begin;
const usual = length >= 1 && length <= 30 ? 1 : SPEEDS.reduce((a, b) => (Math.abs(Math.log(length / b / REPEAT)) < Math.abs(Math.log(length / a / REPEAT)) ? b : a));
element("speed").innerHTML = SPEEDS.map((s) => `<option value="${s}"${s === usual ? " selected" : ""}>${s}x</option>`).join("");
element("time").min = begin;
element("time").max = end;

function show() {
  element("time").value = t;
  element("clock").textContent = `${t.toFixed(length < 1 ? 4 : 2)} of ${brief(end, digits)} s`;
  place(t);
  bend(t);
  follow();
  drawCursor();
  dirty = true;
}

function draw(now) {
  if (playing) {
    if (last !== null && now > last) {
      t += ((now - last) / 1000) * Number(element("speed").value);
      if (t > end && recorder) { film(); play(false); }
      if (t > end) t = length ? begin + ((t - begin) % length) : begin;
      show();
    }
    last = now;
  }
  render(now, playing);
  requestAnimationFrame(draw);
}

function play(on) {
  playing = on;
  last = null;
  element("play").textContent = on ? "Pause" : "Play";
}

function seek(to) {
  play(false);
  t = Math.min(end, Math.max(begin, to));
  show();
}

element("play").addEventListener("click", () => play(!playing));
element("film").addEventListener("click", () => { // of the whole motion, from the beginning to the end or another click
  if (!recorder) { seek(begin); play(true); }
  film();
});
element("time").addEventListener("input", (event) => seek(Number(event.target.value)));
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "SELECT" || /^(number|search)$/.test(event.target.type)) return;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === " ") play(!playing);
  else if (step) seek(t + (step * length) / 200);
  else return;
  event.preventDefault();
});
DARK.addEventListener("change", () => { drawPlots(); show(); });
new ResizeObserver(() => {
  fit();
  drawPlots();
  show();
}).observe(document.querySelector("main"));

const asked = /^#t=(-?[\d.]+)$/.exec(location.hash);
if (asked) seek(Number(asked[1]));
else play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
requestAnimationFrame(draw);
