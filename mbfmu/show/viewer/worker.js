"use strict";
/* The worker of a live page: it runs the kernel of the FMU, a WebAssembly module, and sends the page what it computes.
 *
 * A row is the values of all variables at a communication point, in the order of their value references. States of the
 * FMU are kept for recent rows and some of the older ones, so that a run can go back to them. */
const DONE = 0, NOTED = 1;
const KEPT = 96e6; // bytes of kept states
const LASTING = 0.75; // part of the rows of the page that it keeps at least
const BUSY = 12, PAUSE = 3; // ms of computing before messages are heard, and between
const LAG = 0.1; // s by which the point that is pulled is ahead of where it is, in the direction of its velocity
const BEHIND = 100; // ms that the run may be behind the clock before it gives the time up

let fmu = null, at = 0, model = null, room = null;
let inputs = new Map(); // value reference -> value, or function of the time
const parameters = new Map(); // values set while the run goes on, by value reference
let row = 0, states = new Map(); // index of the last row; states by the index of theirs
let running = false, speed = 1, clock = null, settled = false;
let latest = null, before = null, pull = null; // values of the last row and the one before; a spring to the pointer
const heard = []; // messages of the FMU during a call

// -- expressions ------------------------------------------------------------------------------------------------------

const FUNCTIONS = { sqrt: Math.sqrt, exp: Math.exp, log: Math.log, abs: Math.abs, sin: Math.sin, cos: Math.cos, tan: Math.tan,
  asin: Math.asin, acos: Math.acos, atan: Math.atan, atan2: Math.atan2, tanh: Math.tanh, min: Math.min, max: Math.max,
  deg: (x) => (x * Math.PI) / 180, floor: Math.floor, sign: Math.sign, where: (c, a, b) => (c !== 0 ? a : b) };
const ARITY = { atan2: 2, min: 2, max: 2, where: 3 };
const CONSTANTS = { pi: Math.PI, true: 1, false: 0 };
const TOKEN = /\s*(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|\*\*|<=|>=|[-+*/()<>,])/y;

/** Return the function of the time that an expression stands for; an error says what is wrong with it. */
function formula(text) {
  const tokens = [], end = text.trimEnd().length;
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < end;) {
    const from = TOKEN.lastIndex, match = TOKEN.exec(text);
    if (!match) throw new Error(`'${text.slice(from).trim()}' is not understood: use time, numbers, + - * / ** < <= > >= and ${Object.keys(FUNCTIONS).join(", ")}`);
    tokens.push(match[1]);
  }
  let k = 0;
  const next = (...wanted) => wanted.includes(tokens[k]) && tokens[k++];
  const need = (wanted) => { if (!next(wanted)) throw new Error(`'${wanted}' is missing${tokens[k] ? ` before '${tokens[k]}'` : " at the end"}`); };
  const OPERATIONS = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b, "**": (a, b) => a ** b,
    "<": (a, b) => Number(a < b), "<=": (a, b) => Number(a <= b), ">": (a, b) => Number(a > b), ">=": (a, b) => Number(a >= b) };
  const joined = (operation, a, b) => (t) => OPERATIONS[operation](a(t), b(t));
  function chain(operand, ...operations) {
    let value = operand();
    for (let sign = next(...operations); sign; sign = next(...operations)) value = joined(sign, value, operand());
    return value;
  }
  const compared = () => {
    const left = sum(), sign = next("<", "<=", ">", ">=");
    return sign ? joined(sign, left, sum()) : left;
  };
  const sum = () => chain(product, "+", "-"), product = () => chain(signed, "*", "/");
  function signed() {
    const sign = next("+", "-");
    if (!sign) return power();
    const value = signed();
    return sign === "-" ? (t) => -value(t) : value;
  }
  function power() {
    const base = atom();
    return next("**") ? joined("**", base, signed()) : base;
  }
  function atom() {
    const token = tokens[k++];
    if (token === "(") {
      const value = compared();
      need(")");
      return value;
    }
    if (Object.hasOwn(FUNCTIONS, token ?? "")) {
      need("(");
      const list = [compared()];
      while (next(",")) list.push(compared());
      need(")");
      if (list.length !== (ARITY[token] ?? 1)) throw new Error(`'${token}' takes ${ARITY[token] ?? 1} argument(s)`);
      return (t) => FUNCTIONS[token](...list.map((item) => item(t)));
    }
    if (token === "time") return (t) => t;
    if (Object.hasOwn(CONSTANTS, token ?? "")) return () => CONSTANTS[token];
    if (/^[\d.]/.test(token ?? "")) return () => Number(token);
    throw new Error(token ? `'${token}' is not known here: an input is an expression of 'time'` : "the expression ends too early");
  }
  const value = compared();
  if (k < tokens.length) throw new Error(`'${tokens[k]}' is one too many`);
  return value;
}

// -- the FMU ----------------------------------------------------------------------------------------------------------

/** A function of two integers that calls one of JavaScript's: tables of WebAssembly hold functions of WebAssembly only. */
const PASSING = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, // magic and version
  1, 6, 1, 0x60, 2, 0x7f, 0x7f, 0, // type 0: two i32, no result
  2, 7, 1, 1, 0x65, 1, 0x66, 0, 0, // import function e.f of type 0
  7, 5, 1, 1, 0x66, 0, 0]); // export it as f

const bytes = () => new Uint8Array(fmu.memory.buffer); // made anew, as the memory may have grown
const reals = (from, count) => new Float64Array(fmu.memory.buffer, from, count);
const wholes = (from, count) => new Int32Array(fmu.memory.buffer, from, count);

function log(severity, from) {
  const all = bytes();
  heard.push({ severity, text: new TextDecoder().decode(all.slice(from, all.indexOf(0, from))) });
}

/** Make the instance, and room for the arguments of its functions. */
function open(binary) {
  fmu = new WebAssembly.Instance(new WebAssembly.Module(binary)).exports;
  fmu._initialize();
  const logger = new WebAssembly.Instance(new WebAssembly.Module(PASSING), { e: { f: log } }).exports.f;
  const index = fmu.__indirect_function_table.grow(1);
  fmu.__indirect_function_table.set(index, logger);
  const groups = {};
  model.variables.forEach((item, vr) => (groups[item.type] ??= []).push(vr));
  room = { logger: index, settings: fmu.calloc(model.settings.length + 1, 8), value: fmu.calloc(1, 8), one: fmu.calloc(1, 4),
    first: fmu.calloc(1, 4), size: fmu.shell_state_size() };
  room.state = fmu.calloc(room.size, 1);
  room.groups = Object.entries(groups).map(([type, list]) => {
    const references = fmu.calloc(list.length, 4);
    wholes(references, list.length).set(list);
    return { type, list, references, values: fmu.calloc(list.length, 8) };
  });
  wholes(room.first, 1)[0] = 1;
  reals(room.settings, model.settings.length).set(model.settings);
  at = fmu.calloc(fmu.shell_size(), 1);
}

/** Set a variable; return whether it took the value. */
function set(vr, value) {
  const type = model.variables[vr].type;
  wholes(room.one, 1)[0] = vr;
  if (type === "Real") reals(room.value, 1)[0] = value;
  else wholes(room.value, 1)[0] = Math.round(value);
  return fmu[`shell_set_${type.toLowerCase()}`](at, room.one, 1, room.value) === DONE;
}

const time = () => { // that of the FMU, which every step begins at
  wholes(room.one, 1)[0] = 0;
  fmu.shell_get_real(at, room.one, 1, room.value);
  return reals(room.value, 1)[0];
};

/** Set the inputs that act from a time on, and how they go on until the next step. */
function drive(t) {
  for (const [vr, value] of inputs) {
    if (typeof value === "number") continue;
    const now = value(t);
    if (!Number.isFinite(now)) throw new Error(`input ${model.variables[vr].name} is not finite at t = ${t} s`);
    if (!set(vr, now)) return false;
    if (model.variables[vr].type === "Real") {
      const rate = (value(t + model.interval) - now) / model.interval;
      reals(room.value, 1)[0] = Number.isFinite(rate) ? rate : 0;
      if (fmu.shell_set_rates(at, room.one, 1, room.first, room.value) !== DONE) return false;
    }
  }
  return true;
}

/** Set an input to a value, or a function of the time, from now on; return whether it took the value. */
function hold(vr, value) {
  inputs.set(vr, value);
  if (typeof value !== "number") return true;
  if (!set(vr, value)) return false;
  if (model.variables[vr].type !== "Real" || !settled) return true;
  reals(room.value, 1)[0] = 0;
  return fmu.shell_set_rates(at, room.one, 1, room.first, room.value) === DONE;
}

/** Set the force of a spring, damped a little, from a point of the mechanism to the pointer, over the next step. */
function exert() {
  if (!pull || !latest) return true;
  return pull.at.every((vr, k) => {
    const rate = before ? (latest[vr] - before[vr]) / model.interval : 0;
    return hold(pull.inputs[k], pull.stiffness * (pull.to[k] - latest[vr] - LAG * rate));
  });
}

/** Write the values of all variables. */
function read(values) {
  for (const { type, list, references, values: from } of room.groups) {
    fmu[`shell_get_${type.toLowerCase()}`](at, references, list.length, from);
    const got = type === "Real" ? reals(from, list.length) : wholes(from, list.length);
    list.forEach((vr, k) => { values[vr] = got[k]; });
  }
}

/** Keep the state; where there are too many, every second of the older half goes. */
function keep() {
  if (fmu.shell_save(at, room.state) !== DONE) return;
  states.set(row, bytes().slice(room.state, room.state + room.size));
  for (const key of states.keys()) if (key < row - LASTING * model.rows) states.delete(key); else break;
  if (states.size * room.size <= KEPT) return;
  [...states.keys()].slice(0, states.size >> 1).forEach((key, k) => { if (k % 2) states.delete(key); });
}

/** Hand on what the FMU has said; errors end the run. */
function tell(failed = "") {
  const severe = heard.filter((item) => item.severity > NOTED).map((item) => item.text);
  for (const item of heard) if (item.severity <= NOTED) postMessage({ note: item.text });
  heard.length = 0;
  const text = [failed, ...severe].filter(Boolean).join("; ");
  if (text) {
    running = false;
    postMessage({ failed: text, time: settled ? time() : 0 });
  }
}

/** Begin a run with the values of parameters and start values that differ from the model's. */
function restart(changes) {
  bytes().fill(0, at, at + fmu.shell_size());
  fmu.shell_open(at, room.logger, room.settings);
  [running, settled, row, clock] = [false, false, 0, null];
  states.clear();
  parameters.clear();
  try {
    for (const [vr, value] of changes) if (!set(vr, value)) return tell("the run cannot begin");
    for (const [vr, value] of inputs) if (!set(vr, typeof value === "number" ? value : value(0))) return tell("the run cannot begin");
    if (fmu.shell_initialise(at) !== DONE || fmu.shell_run(at) !== DONE) return tell("the run cannot begin");
    settled = true;
    drive(0);
  } catch (error) {
    return tell(error.message);
  }
  keep();
  const values = new Float64Array(model.variables.length);
  read(values);
  [before, latest] = [null, values.slice()];
  tell();
  postMessage({ begun: values }, [values.buffer]);
}

/** Take at most some steps, for at most some time in ms; return the number of those done. */
function advance(most, limit) {
  const n = model.variables.length, until = limit === Infinity ? Infinity : performance.now() + limit, rows = [];
  let failed = "";
  try {
    while (rows.length < most) {
      if (!exert() || fmu.shell_step(at, time(), model.interval) !== DONE || !drive(time())) { failed = "the run ends"; break; }
      const values = new Float64Array(n);
      read(values);
      rows.push(values);
      [before, latest] = [latest, values];
      row += 1;
      keep();
      if (performance.now() >= until) break;
    }
  } catch (error) {
    failed = error.message;
  }
  if (rows.length) {
    const all = new Float64Array(rows.length * n);
    rows.forEach((values, k) => all.set(values, k * n));
    postMessage({ rows: all }, [all.buffer]);
  }
  tell(failed);
  return rows.length;
}

function run() {
  if (!running) return;
  const now = performance.now();
  clock ??= { now, done: 0 };
  const due = speed === Infinity ? Infinity : Math.floor(((now - clock.now) / 1000) * (speed / model.interval)) - clock.done;
  if (due > 0) {
    const done = advance(due, BUSY);
    clock.done += done;
    if ((due - done) * model.interval > (BEHIND / 1000) * speed) clock = null; // what it is behind is given up
  }
  if (running) setTimeout(run, PAUSE);
}

const ORDERS = {
  open: ({ model: given, module, changes, inputs: list }) => {
    model = given;
    open(module);
    inputs = new Map(list.map(([vr, text]) => [vr, typeof text === "number" ? text : formula(text)]));
    restart(changes);
  },
  restart: ({ changes }) => restart(changes),
  input: ({ vr, text }) => {
    try {
      const { factor } = model.variables[vr], value = typeof text === "number" ? text : formula(text); // of the unit shown
      if (!hold(vr, typeof value === "number" ? value / factor : (t) => value(t) / factor)) postMessage({ wrong: heard.pop()?.text ?? "", vr });
      else {
        if (settled) drive(time());
        postMessage({ wrong: "", vr });
      }
    } catch (error) {
      postMessage({ wrong: error.message, vr });
    }
    heard.length = 0;
  },
  pull: (order) => { ({ pull } = order); },
  parameter: ({ vr, value }) => {
    const taken = set(vr, value);
    if (taken) parameters.set(vr, value);
    postMessage({ wrong: taken ? "" : heard.pop()?.text ?? "", vr });
    heard.length = 0;
  },
  run: ({ on, speed: wanted }) => {
    [speed, clock] = [wanted, null];
    const begins = on && !running && settled;
    running = on && settled;
    if (begins) run();
  },
  steps: ({ count }) => { if (settled) advance(count, Infinity); },
  back: ({ to }) => { // to the last kept state that is not later
    let [index] = states.keys();
    for (const key of states.keys()) if (key <= to) index = key;
    bytes().set(states.get(index), room.state);
    if (fmu.shell_restore(at, room.state, room.size) !== DONE) return tell("the run cannot go back");
    for (const key of [...states.keys()].filter((key) => key > index)) states.delete(key);
    [row, clock] = [index, null];
    [before, latest] = [null, new Float64Array(model.variables.length)];
    read(latest);
    postMessage({ back: index });
    for (const [vr, value] of parameters) if (latest[vr] !== value) set(vr, value); // the state has those of then
    for (const [vr, value] of inputs) if (typeof value === "number") hold(vr, value);
    drive(time());
  },
};
onmessage = ({ data }) => ORDERS[data.order](data);
