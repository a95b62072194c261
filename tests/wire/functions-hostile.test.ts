// docs/functions.md#isolation: modules that change their runtime, and what others notice of it
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { eventually } from "../harness/eventually.ts";
import { type GatewayOptions, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

/** What a request may get of a module, and its code. */
const HOSTILE: Readonly<Record<string, readonly [statuses: readonly number[], code: string]>> = {
  response: [[500], "globalThis.Response = class {}; export default { fetch: () => new Response('x') };"],
  response2: [
    [500],
    "const R = Response; globalThis.Response = undefined; export default { fetch: () => new R('x') };",
  ],
  headers: [
    [200],
    "globalThis.Headers = undefined; globalThis.Request = undefined; const R = Response; export default { fetch: () => new R('x') };",
  ],
  headersProto: [
    [500],
    "Headers.prototype.forEach = Headers.prototype.get = Headers.prototype.has = () => { throw new Error('secret'); }; export default { fetch: () => new Response('x') };",
  ],
  arrayProto: [
    [502, 500],
    "for (const n of ['push','shift','map','filter','join','slice','splice','find','some','every','concat','forEach','indexOf']) Array.prototype[n] = () => { throw new Error('secret'); }; export default { fetch: () => new Response('x') };",
  ],
  arrayIter: [
    [504],
    "Array.prototype[Symbol.iterator] = function* () { yield 'evil'; yield 'evil'; }; export default { fetch: () => new Response('x') };",
  ],
  stringProto: [
    [500, 502],
    "for (const n of ['slice','indexOf','startsWith','split','toLowerCase','replace','charCodeAt']) String.prototype[n] = () => { throw new Error('secret'); }; export default { fetch: () => new Response('x') };",
  ],
  stringSlice: [
    [504, 502, 400],
    "String.prototype.slice = () => 'f\\n'; export default { fetch: () => new Response('x') };",
  ],
  mapProto: [
    [500],
    "Map.prototype.get = Map.prototype.set = Map.prototype.delete = () => undefined; export default { fetch: () => new Response('x') };",
  ],
  setProto: [
    [504, 200],
    "Set.prototype.add = () => { throw new Error('secret'); }; export default { fetch: () => new Response('x') };",
  ],
  promiseThen: [
    [200, 504],
    "Promise.prototype.then = () => { throw new Error('secret'); }; export default { async fetch() { return new Response('x'); } };",
  ],
  objThen: [
    [500],
    "Object.prototype.then = function (f) { f('evil'); }; export default { async fetch() { return new Response('x'); } };",
  ],
  objKeys: [
    [502, 500, 504],
    "Object.prototype.status = 7; Object.prototype.headers = 8; Object.prototype.kind = 'x'; Object.prototype.get = () => 1; Object.prototype.toJSON = () => 'evil'; export default { fetch: () => new Response('x') };",
  ],
  json: [
    [200, 504],
    "JSON.stringify = JSON.parse = () => { throw new Error('secret'); }; export default { fetch: (_, ctx) => { ctx.log.info('a'); return new Response('x'); } };",
  ],
  jsonEvil: [
    [502],
    'JSON.stringify = () => \'{"event":"nonsense","level":"x","fields":7}\'; export default { fetch: (_, ctx) => { ctx.log.info(\'a\'); return new Response(\'x\'); } };',
  ],
  jsonBad: [
    [502],
    "JSON.stringify = () => '{'; export default { fetch: (_, ctx) => { ctx.log.info('a'); return new Response('x'); } };",
  ],
  jsonNull: [
    [502],
    "JSON.stringify = () => 'null'; export default { fetch: (_, ctx) => { ctx.log.info('a'); return new Response('x'); } };",
  ],
  buffer: [
    [200, 500, 502],
    "Buffer.from = Buffer.concat = () => { throw new Error('secret'); }; export default { fetch: () => new Response('x') };",
  ],
  regexp: [
    [200, 500, 502],
    "RegExp.prototype.test = RegExp.prototype.exec = () => true; export default { fetch: () => new Response('x', { headers: { 'content-length': 'x' } }) };",
  ],
  immediate: [
    [504],
    "globalThis.setImmediate = () => {}; globalThis.queueMicrotask = () => {}; export default { fetch: () => new Response(new Blob(['x'])) };",
  ],
  port: [
    [504],
    "MessagePort.prototype.postMessage = () => { throw new Error('secret'); }; export default { fetch: () => new Response('x') };",
  ],
  portEvil: [
    [502],
    "const p = MessagePort.prototype.postMessage; MessagePort.prototype.postMessage = function () { return p.call(this, 7); }; export default { fetch: () => new Response('x') };",
  ],
  portEvil2: [
    [502],
    "const p = MessagePort.prototype.postMessage; MessagePort.prototype.postMessage = function () { return p.call(this, 'R2\\n'); }; export default { fetch: () => new Response('x') };",
  ],
  portEvil3: [
    [502],
    "const p = MessagePort.prototype.postMessage; MessagePort.prototype.postMessage = function () { return p.call(this, ['a', 'b']); }; export default { fetch: () => new Response('x') };",
  ],
  portNull: [
    [502],
    "const p = MessagePort.prototype.postMessage; MessagePort.prototype.postMessage = function () { return p.call(this, null); }; export default { fetch: () => new Response('x') };",
  ],
  post: [
    [200],
    "for (const m of [null, undefined, 7, 'x', {}, { kind: 'loaded' }, { kind: 'failed' }, { kind: 'log' }, { kind: 'log', line: {} }, { kind: 'log', line: { event: 'nonsense', level: 'z', fields: 5 } }, { kind: 'nonsense' }]) postMessage(m); export default { fetch: () => new Response('x') };",
  ],
  postFinish: [
    [200],
    "export default { fetch: () => { postMessage({ kind: 'finished' }); return new Response('x'); } };",
  ],
  parentPort: [
    [200],
    "import { parentPort } from 'node:worker_threads'; parentPort.postMessage(null); parentPort.on('message', () => {}); parentPort.close?.(); export default { fetch: () => new Response('x') };",
  ],
  selfClose: [[200, 502], "export default { fetch: () => { self.close?.(); return new Response('x'); } };"],
  atomics: [
    [504],
    "export default { fetch: () => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); return new Response('x'); } };",
  ],
  microtask: [
    [200, 504, 502],
    "export default { fetch: () => { const f = () => queueMicrotask(f); f(); return new Response('x'); } };",
  ],
  regex: [[504, 200], "export default { fetch: () => new Response(String(/^(a+)+$/.test('a'.repeat(40) + 'b'))) };"],
  interval: [[200], "setInterval(() => {}, 1); export default { fetch: () => new Response('x') };"],
  topAwait: [[504], "await new Promise(() => {}); export default { fetch: () => new Response('x') };"],
  topExit: [[500, 504, 502], "process.exit(0); export default { fetch: () => new Response('x') };"],
  rmListeners: [
    [502, 200],
    "process.removeAllListeners(); export default { fetch: () => { Promise.reject(new Error('stray')); return new Response('x'); } };",
  ],
  env: [[200], "process.env = null; export default { fetch: (_, ctx) => new Response(String(ctx.env)) };"],
  ctxProto: [
    [200],
    "export default { fetch: (_, ctx) => { const p = Object.getPrototypeOf(ctx); Object.defineProperty(p, 'log', { value: null }); p.upstream; return new Response(ctx.requestId); } };",
  ],
  frozen: [
    [200],
    "Object.freeze(Object.prototype); Object.freeze(Array.prototype); Object.freeze(globalThis); export default { fetch: () => new Response('x') };",
  ],
  performance: [
    [200],
    "performance.now = () => NaN; Date.now = () => NaN; Math.min = () => NaN; Number.isInteger = () => true; export default { fetch: () => new Response('x') };",
  ],
  typed: [
    [500, 200],
    "Uint8Array.prototype.subarray = () => { throw new Error('secret'); }; Uint8Array.prototype.slice = () => 7; export default { fetch: () => new Response('x') };",
  ],
  reader: [
    [504],
    "ReadableStream.prototype.getReader = () => ({ read: async () => ({ done: false, value: 7 }), cancel() {} }); export default { fetch: () => new Response(new Blob(['x'])) };",
  ],
  readerEndless: [
    [504],
    "ReadableStream.prototype.getReader = () => ({ read: () => Promise.resolve({ done: false, value: new Uint8Array(0) }), cancel: async () => {} }); export default { fetch: () => new Response(new Blob(['x'])) };",
  ],
};
/** Modules that cannot be loaded: the line that the log names, where it is known. */
const UNLOADED: Readonly<Record<string, readonly [line: string, code: string]>> = {
  topThrow: ["1", "throw new Error('at load');\nexport default { fetch: () => new Response('x') };"],
  topThrowUndefined: ["", "\nthrow undefined;"],
  syntax: ["2", "\nexport default { fetch: ( => 1 };"],
  missing: ["2", "\nimport 'nothing-here'; export default { fetch: () => new Response('x') };"],
  missingName: ["2", "\nimport { nope } from 'node:fs'; nope(); export default { fetch: () => new Response('x') };"],
  nullExport: ["", "export default null;"],
  getterExport: ["1", "export default { get fetch() { throw new Error('getter'); } };"],
  proxyExport: [
    "1",
    "export default new Proxy({}, { get() { throw new Error('trap'); }, has() { throw 1; }, getPrototypeOf() { throw 2; } });",
  ],
  fetchNumber: ["", "export default { fetch: 7 };"],
};
/** Modules that can, odd as they are. */
const ODD: Readonly<Record<string, readonly [text: string, code: string]>> = {
  json2: ['{"a":1}', "import data from './data.json'; export default { fetch: () => Response.json(data) };"],
  cycleA: [
    "cycle1",
    "import { b } from './cycleB.ts'; export const a = 1; export default { fetch: () => new Response('cycle' + b()) };",
  ],
  classStatic: ["static", "export default class { static fetch() { return new Response('static'); } }"],
  instance: ["own", "class A { #x = 'own'; fetch() { return new Response(this.#x); } } export default new A();"],
};
/** Modules that log without end. */
const FLOODS: Readonly<Record<string, string>> = {
  console:
    "export default { fetch: () => { for (let i = 0; i < 1e6; i++) console.log('flood', i); return new Response('x'); } };",
  context:
    "export default { fetch: (_, ctx) => { for (let i = 0; i < 1e6; i++) ctx.log.info('flood'.repeat(100)); return new Response('x'); } };",
  stdout:
    "export default { fetch: () => { for (let i = 0; i < 1e5; i++) process.stdout.write('flood\\n'); return new Response('x'); } };",
  rejections:
    "export default { fetch: () => { for (let i = 0; i < 2e4; i++) Promise.reject(new Error('flood')); return new Response('x'); } };",
};

const codesOf = (all: Readonly<Record<string, readonly [unknown, string]>>) =>
  Object.fromEntries(Object.entries(all).map(([name, [, code]]) => [name, code]));

/** A gateway with a route for each module, and one without. */
async function gatewayWith(
  modules: Readonly<Record<string, string>>,
  timeout: string | ((name: string) => string),
  more: GatewayOptions = {},
) {
  const timeoutOf = (name: string): string => (typeof timeout === "string" ? timeout : timeout(name));
  const names = Object.keys(modules);
  const gateway = await startGateway({
    config: { server: { workers: 1, shutdown_timeout: "2s" }, functions: { memory: "512MiB" } },
    routes: [
      ...names.map((name) => ({
        type: "function",
        prefix: `/${name}`,
        module: `./${name}.ts`,
        timeout: timeoutOf(name),
        cache: false,
      })),
      { type: "respond", prefix: "/other", body: "untouched" },
    ],
    files: { ...Object.fromEntries(names.map((name) => [`${name}.ts`, modules[name]!])), ...more.files },
  });
  return gateway;
}

/** Those that may run into their time limit do so soon; on a slow machine no other does. */
const hostile = await gatewayWith(codesOf(HOSTILE), (name) => (HOSTILE[name]![0].includes(504) ? "700ms" : "10s"));
const loads = await gatewayWith({ ...codesOf(UNLOADED), ...codesOf(ODD) }, "10s", {
  files: { "data.json": '{"a":1}', "cycleB.ts": "import { a } from './cycleA.ts'; export const b = () => a;" },
});
const floods = await gatewayWith(FLOODS, "20s");
afterAll(() => stopAll(hostile, loads, floods));

describe("a module that changes its runtime harms itself alone", () => {
  test.each(Object.keys(HOSTILE))(
    "%s",
    async (name) => {
      for (let i = 0; i < 2; i++) {
        const asked = hostile.once(request(`GET /${name}/x`));
        const other = await hostile.once(request("GET /other/x"));
        expect([other.status, other.text]).toEqual([200, "untouched"]);
        const reply = await asked;
        expect(HOSTILE[name]![0]).toContain(reply.status);
        expect(reply.text).not.toContain("secret");
      }
    },
    30_000,
  );

  test("the gateway has not noticed a defect of its own, and its log is JSON", () => {
    expect(hostile.logs.json.filter(({ event }) => event === "exception" || event === "worker_died")).toEqual([]);
    expect(hostile.logs.stray).toEqual([]);
  });
});

describe("a module that cannot be loaded", () => {
  test.each(Object.keys(UNLOADED))("%s is 500, and one line says where", async (name) => {
    expect((await loads.once(request(`GET /${name}/x`))).status).toBe(500);
    const isIt = (line: Readonly<Record<string, unknown>>) => String(line.module).endsWith(`/${name}.ts`);
    const { at } = await loads.log("function_load_failed", isIt);
    expect(String(at)).toContain(`/${name}.ts${UNLOADED[name]![0] === "" ? "" : `:${UNLOADED[name]![0]}`}`);
    expect(loads.logs.json.filter((line) => line.event === "function_load_failed" && isIt(line))).toHaveLength(1);
  });

  test.each(Object.keys(ODD))("%s can be", async (name) => {
    const reply = await loads.once(request(`GET /${name}/x`));
    expect([reply.status, reply.text]).toEqual([200, ODD[name]![0]]);
  });
});

describe("a module that logs without end", () => {
  const rssMib = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${floods.pid}/status`, "utf8"))![1]) / 1024;

  test.each(Object.keys(FLOODS))(
    "%s has its lines dropped and counted, and others are served meanwhile",
    async (name) => {
      const before = rssMib();
      const asked = floods.once(request(`GET /${name}/x`));
      for (let i = 0; i < 5; i++) expect((await floods.once(request("GET /other/x"))).status).toBe(200);
      expect((await asked).text).toBe("x");
      await floods.log(
        "function_log",
        ({ module, message }) =>
          String(module).endsWith(`/${name}.ts`) && /^\d+ lines of the log were dropped/.test(String(message)),
      );
      await eventually(() => expect(rssMib() - before).toBeLessThan(300), 20_000);
    },
    60_000,
  );
});
