// Runs the worker of a live page: node live_host.mjs PAGE ORDERS; prints what it posts, and what its formulas give.
import fs from "node:fs";
import vm from "node:vm";
import zlib from "node:zlib";

const [path, orders] = process.argv.slice(2);
const text = fs.readFileSync(path, "utf8");
const part = (id) => text.match(new RegExp(`<script type="[^"]*" id="${id}">([^]*?)</script>`))[1];
const live = JSON.parse(part("live"));
const packed = (_, value) => (ArrayBuffer.isView(value) ? Buffer.from(value.buffer).toString("base64") : value);
globalThis.onmessage = null;
globalThis.postMessage = (message) => console.log(JSON.stringify(message, packed));
vm.runInThisContext(part("worker"));
const binary = zlib.inflateRawSync(Buffer.from(live.module, "base64"));
for (const item of JSON.parse(orders)) {
    if (item.formula === undefined) globalThis.onmessage({ data: item.order === "open" ? { model: live, module: binary, ...item } : item });
    else {
        try {
            console.log(JSON.stringify({ value: vm.runInThisContext(`formula(${JSON.stringify(item.formula)})(${item.time})`) }));
        } catch (error) {
            console.log(JSON.stringify({ wrong: error.message }));
        }
    }
}
