// docs/functions.md#isolation: what modules do wrong, by the cases of tests/vectors/functions/wrong.ts
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const source = readFileSync(join(import.meta.dir, "../vectors/functions/wrong.ts"), "utf8");
const lines = source.split("\n");
const lineOf = (begin: string): number => lines.findIndex((line) => line.trimStart().startsWith(begin)) + 1;
const NAMES = [...source.matchAll(/^ {2}"([a-z0-9-]+)": /gm)].map(([, name]) => name!);
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { workers: 1 }, functions: { memory: "512MiB" } },
  routes: [
    { type: "function", prefix: "/w", module: "./wrong.ts", timeout: "10s", target: origin.url, cache: false },
    { type: "respond", prefix: "/other", body: "untouched" },
  ],
  files: { "wrong.ts": source },
});
afterAll(() => stopAll(gateway, origin));

const ask = (name: string, method = "GET"): Promise<Reply> =>
  gateway.once(request(`${method} /w/${name}`, [`X-Request-Id: id-${name}`]), method);
const failures = (name: string) =>
  gateway.logs.json.filter(({ event, request_id }) => event === "function_failed" && request_id === `id-${name}`);
/** Waits until all that came before has been logged. */
async function logged(name: string): Promise<void> {
  await gateway.log("access", ({ request_id }) => request_id === `id-${name}`);
}
/** The log names the line of the case, of what it calls, or of the module's function. */
async function failsOnce(name: string): Promise<void> {
  const { at } = await gateway.log("function_failed", ({ request_id }) => request_id === `id-${name}`);
  await logged(name);
  expect(failures(name)).toHaveLength(1);
  const allowed = [lineOf(`"${name}":`), lineOf("const text ="), lineOf("fetch(")];
  const [, file, line] = /([^/:]+):(\d+)(?::\d+)?$/.exec(String(at)) ?? [];
  expect([file, allowed.includes(Number(line)), at]).toEqual(["wrong.ts", true, at]);
}

/** What is no failure: status and body. */
const GOOD: Readonly<Record<string, readonly [status: number, text: string | RegExp]>> = {
  "then-twice": [200, "first"],
  frozen: [200, "frozen"],
  derived: [200, "derived"],
  "status-204": [204, ""],
  "status-205": [205, ""],
  "status-304": [304, ""],
  "status-text": [200, "ok"],
  "value-obs": [200, "ok"],
  "length-no": [200, "12345"],
  "length-minus": [200, "12345"],
  "length-two": [200, "12345"],
  "length-huge": [200, "12345"],
  declared: [200, "12345"],
  encoding: [200, "plain"],
  "encoding-odd": [200, "plain"],
  "content-encoding": [200, "plain"],
  hops: [200, "hops"],
  cookies: [200, "cookies"],
  "gateway-fields": [200, "fields"],
  "pull-empty": [200, ""],
  "pull-detached": [200, ""],
  json: [201, '{"a":"\u00e9"}'],
  "json-large": [200, /^"a{100000}"$/],
  bytes: [200, "ytes"],
  "looked-at": [200, "looked"],
  cloned: [200, "cloned"],
  "derived-body": [200, "derived"],
  "own-constructor": [200, "true"],
  form: [200, /name="a"/],
  blob: [200, "blob"],
  "upstream-twice": [200, /"target":"\/upstream-twice"/],
  "upstream-both": [200, /"target":"\/upstream-both"/],
  "upstream-late": [200, "early"],
  "upstream-bad": [200, /"target":"\/b"/],
  "upstream-dropped": [200, "dropped"],
  "upstream-closed": [200, "closed"],
  "wait-nothing": [200, "ok"],
  "wait-never": [200, "ok"],
  emit: [200, "ok"],
  "log-odd": [200, "ok"],
  "console-odd": [200, "ok"],
  "stdout-end": [200, "ok"],
  "big-given": [200, "0"],
};
/** Responses that have begun when it goes wrong: they are cut. */
const CUT = ["length-later", "pull-later"];
/** A good response, and a failure after it. */
const LATER = ["wait-rejects", "wait-throws"];
/** Those with tests of their own below. */
const OTHERS = [
  "pull-never",
  "cancel-throws",
  "big",
  "really-exit",
  "upgrade-twice",
  "upgrade-unused",
  "socket",
  "shared",
];

const bad = NAMES.filter((name) => GOOD[name] === undefined && ![...CUT, ...LATER, ...OTHERS].includes(name));

describe("a function that goes wrong gets 500, one line of the log with its place, and tells the client nothing", () => {
  test.each(bad)("%s", async (name) => {
    const reply = await ask(name);
    expect(reply.status).toBe(500);
    expect(JSON.parse(reply.text)).toEqual({
      error: "500 Internal Server Error",
      message: "the function failed",
    });
    expect(reply.fields.get("x-request-id")).toBe(`id-${name}`);
    expect(JSON.stringify(reply.fields.list)).not.toMatch(/secret|evil|wrong\.ts/i);
    await failsOnce(name);
  });

  test("a response that is given twice is one once", async () => {
    expect((await ask("shared")).text).toBe("shared");
    expect((await gateway.once(request("GET /w/shared", ["X-Request-Id: id-shared-again"]))).status).toBe(500);
  });
});

/** What fails when the response has left: the log alone says so. */
const AFTERWARDS: Readonly<Record<string, string[]>> = { "upstream-late": ["a promise of waitUntil"] };

describe("what only looks wrong is a response", () => {
  test.each(Object.keys(GOOD))("%s", async (name) => {
    const [status, text] = GOOD[name]!;
    const { text: given, ...reply } = await ask(name);
    expect(reply.status).toBe(status);
    if (typeof text === "string") expect(given).toBe(text);
    else expect(given).toMatch(text);
    expect(JSON.stringify(reply.fields.list)).not.toMatch(/evil/i);
    await logged(name);
    expect(failures(name).map(({ what }) => what)).toEqual(AFTERWARDS[name] ?? []);
  });

  test("its framing is the gateway's, whatever its fields say", async () => {
    for (const name of [
      "length-no",
      "length-minus",
      "length-two",
      "length-huge",
      "encoding",
      "encoding-odd",
      "declared",
    ]) {
      const { fields, framing } = await ask(name);
      expect([framing, fields.all("content-length"), fields.all("transfer-encoding")]).toEqual(["length", ["5"], []]);
    }
    const { fields } = await ask("hops");
    for (const name of ["connection", "keep-alive", "upgrade", "te", "trailer", "proxy-connection"])
      expect([name, fields.get(name)]).toEqual([name, null]);
    expect((await ask("cookies")).fields.all("set-cookie")).toEqual(["c0=1; Path=/", "c1=1; Path=/", "c2=1; Path=/"]);
    const own = await ask("gateway-fields");
    expect([own.fields.all("x-request-id"), own.fields.all("content-type")]).toEqual([
      ["id-gateway-fields"],
      ["text/x"],
    ]);
    expect((await ask("value-obs")).fields.get("x-a")).toBe("caf\u00e9");
    expect((await ask("status-text")).reason).toBe("OK");
  });
});

describe("a response that has begun", () => {
  test.each(CUT)("%s is cut, and never complete", async (name) => {
    const client = await gateway.connect();
    client.send(request(`GET /w/${name}`, [`X-Request-Id: id-${name}`]));
    await expect(client.reply()).rejects.toThrow();
    await failsOnce(name);
  });

  test.each(["pull-never", "cancel-throws"])("%s ends when its client leaves", async (name) => {
    const client = await gateway.connect();
    client.send(request(`GET /w/${name}`, [`X-Request-Id: id-${name}`]));
    await client.takeUntil("200 OK", 4096);
    client.close();
    await logged(name);
    if (name === "cancel-throws") await failsOnce(name);
    else expect(failures(name)).toEqual([]);
  });

  test.each(LATER)("%s is complete, and one line is logged", async (name) => {
    const reply = await ask(name);
    expect([reply.status, reply.text]).toEqual([200, "ok"]);
    await failsOnce(name);
  });
});

describe("HEAD", () => {
  test("has no body, whatever the function gives, and the body is not read", async () => {
    const reply = await ask("big", "HEAD");
    expect([reply.status, reply.text]).toEqual([200, ""]);
    expect((await ask("big-given")).text).toBe("0");
    expect((await ask("declared", "HEAD")).fields.get("content-length")).toBe("5");
    expect((await ask("length-long", "HEAD")).status).toBe(200);
  });
});

describe("a thread that ends", () => {
  test("at a request is 502, and one line", async () => {
    const reply = await ask("really-exit");
    expect([reply.status, reply.text]).toEqual([502, expect.not.stringContaining("wrong.ts")]);
    await failsOnce("really-exit");
    await eventually(async () => expect((await ask("frozen")).status).toBe(200));
  });
});

describe("a WebSocket", () => {
  const open = async (name: string) => {
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/w/${name}`);
    const messages: unknown[] = [];
    const closed = new Promise<number>((resolve) => {
      socket.onclose = ({ code }) => resolve(code);
    });
    socket.onmessage = ({ data }) => void messages.push(data);
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onerror = () => reject(new Error("it was not opened"));
    });
    return { socket, messages, closed };
  };

  test("what its handlers log is logged, what they throw ends nothing else", async () => {
    const { socket, messages } = await open("socket");
    socket.send("hello");
    await eventually(() => expect(messages).toEqual(["hello"]));
    await gateway.log("function_log", ({ message }) => message === "in the socket: hello");
    socket.send("throw");
    await gateway.log(
      "function_failed",
      ({ what, error }) => what === "an uncaught exception" && error === "Error: secret",
    );
    socket.send("again");
    await eventually(() => expect(messages).toEqual(["hello", "again"]));
    socket.close();
  });

  test("whose handler ends the thread is closed", async () => {
    const { socket, closed } = await open("socket");
    socket.send("exit");
    expect([1005, 1006]).toContain(await closed);
    await eventually(async () => expect((await ask("frozen")).status).toBe(200));
  });

  test("that is accepted twice is one, and one that is not given is none", async () => {
    const { socket } = await open("upgrade-twice");
    socket.close();
    await expect(open("upgrade-unused")).rejects.toThrow();
  });
});

test("what is odd stands in the log as it can, in lines of JSON", async () => {
  await ask("log-odd");
  await ask("console-odd");
  await ask("stdout-end");
  const messageOf = (name: string) => (line: Readonly<Record<string, unknown>>) => String(line.message).includes(name);
  for (const shown of ["Symbol(s)", "(index)", "default: 1", "Assertion failed", "written", "ended"])
    await gateway.log("function_log", messageOf(shown));
  for (const line of gateway.logs.json) expect(String(line.message ?? "").length).toBeLessThanOrEqual(8192);
  expect(gateway.logs.stray).toEqual([]);
  expect((await gateway.once(request("GET /other/x"))).text).toBe("untouched");
});
