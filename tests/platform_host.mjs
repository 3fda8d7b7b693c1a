// What platform_host.c does, for the WebAssembly module of an FMU: node platform_host.mjs MODULE GUID STEPS H N
import fs from "node:fs";

const [path, guid, ...numbers] = process.argv.slice(2);
const [steps, h, n] = numbers.map(Number);
const fmu = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(path))).exports;
fmu._initialize();

const bytes = () => new Uint8Array(fmu.memory.buffer); // made anew, as the memory may have grown
const words = () => new DataView(fmu.memory.buffer);
const text = (string) => {
    const encoded = new TextEncoder().encode(string + "\0");
    const at = fmu.calloc(encoded.length, 1);
    bytes().set(encoded, at);
    return at;
};
const read = (at) => new TextDecoder().decode(bytes().slice(at, bytes().indexOf(0, at)));

// a function with six integers as arguments that calls one of JavaScript's, as tables hold functions of WebAssembly only
const passing = new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, // magic and version
    1, 10, 1, 0x60, 6, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0, // type 0: six i32, no result
    2, 7, 1, 1, 0x65, 1, 0x66, 0, 0, // import function e.f of type 0
    7, 5, 1, 1, 0x66, 0, 0, // export it as f
]);
const log = (environment, name, status, category, message) => console.error(status, read(message));
const logger = new WebAssembly.Instance(new WebAssembly.Module(passing), { e: { f: log } }).exports.f;
const table = fmu.__indirect_function_table;
const callback = (f) => {
    const index = table.grow(1);
    table.set(index, f);
    return index;
};
const callbacks = fmu.calloc(5, 4); // logger, allocateMemory, freeMemory, stepFinished, environment
[logger, fmu.calloc, fmu.free].forEach((f, k) => words().setUint32(callbacks + 4 * k, callback(f), true));

const offset = { low: 0x84222325, high: 0xcbf29ce4 }; // FNV-1a of 64 bits, in halves
const hashed = ({ low, high }, at, size) => {
    for (const byte of bytes().subarray(at, at + size)) {
        const start = (low ^ byte) >>> 0, product = start * 0x1b3;
        high = (Math.imul(high, 0x1b3) + Math.floor(product / 4294967296) + (start << 8)) >>> 0;
        low = product >>> 0;
    }
    return { low, high };
};
const show = ({ low, high }) => console.log([high, low].map((half) => half.toString(16).padStart(8, "0")).join(""));
const check = (status, what) => {
    if (status !== 0) throw new Error(`${what}: status ${status}`);
};

const c = fmu.fmi2Instantiate(text("one"), 1, text(guid), text("file:///nowhere"), callbacks, 0, 1);
const references = fmu.calloc(n, 4), values = fmu.calloc(n, 8), pointer = fmu.calloc(1, 4), size = fmu.calloc(1, 4);
for (let i = 0; i < n; ++i) words().setUint32(references + 4 * i, i, true);
check(fmu.fmi2SetupExperiment(c, 0, 0, 0, 0, 0), "set up");
check(fmu.fmi2EnterInitializationMode(c), "enter initialisation");
check(fmu.fmi2ExitInitializationMode(c), "exit initialisation");
let all = offset;
for (let k = 0; k < steps; ++k) {
    check(fmu.fmi2DoStep(c, k * h, h, 1), "step");
    check(fmu.fmi2GetReal(c, references, n, values), "outputs");
    all = hashed(all, values, 8 * n);
}
show(all);
check(fmu.fmi2GetFMUstate(c, pointer), "state");
const state = words().getUint32(pointer, true);
check(fmu.fmi2SerializedFMUstateSize(c, state, size), "size");
const length = words().getUint32(size, true), saved = fmu.calloc(length, 1);
check(fmu.fmi2SerializeFMUstate(c, state, saved, length), "serialise");
show(hashed(offset, saved, length));
for (let i = 0; i < n; ++i) {
    const at = values + 8 * i;
    show({ low: words().getUint32(at, true), high: words().getUint32(at + 4, true) });
}
