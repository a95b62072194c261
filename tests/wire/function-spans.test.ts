// docs/tracing.md#functions
import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { type ArrivedSpan, OtlpCollector } from "../harness/otlp-collector.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const CALLER = "b7ad6b7169203331";
const OWN_SPAN = "00-00000000000000000000000000000001-0000000000000002-01";
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];
const origin = EchoOrigin.start();
const collector = new OtlpCollector();
const FUNCTION = `export default { async fetch(request, ctx) {
  const { pathname } = new URL(request.url);
  if (pathname.endsWith("/told")) return new Response(request.headers.get("traceparent"));
  if (pathname.endsWith("/throw")) throw new Error("x");
  if (pathname.endsWith("/exit")) process.exit(1);
  if (pathname.endsWith("/slow")) await Bun.sleep(5000);
  if (pathname.endsWith("/wait")) await Bun.sleep(100);
  if (pathname.endsWith("/same")) return ctx.upstream();
  if (pathname.endsWith("/other")) return ctx.upstream(new Request("http://any/f/echo"));
  if (pathname.endsWith("/own")) return ctx.upstream(new Request("http://any/f/echo", { headers: { traceparent: "${OWN_SPAN}" } }));
  if (pathname.endsWith("/status")) return new Response("no", { status: 503 });
  return new Response("ok");
} };\n`;
const HOOKS = `export default {
  onRequest(request) {
    if (request.url.endsWith("/mine")) return new Response("mine", { status: 403 });
  },
  onResponse(response) { response.headers.set("x-hooked", "1"); },
};\n`;
const routes = [
  { type: "function", prefix: "/f", module: "./functions/shop.ts", target: origin.url, timeout: "500ms", cache: false },
  { type: "function", prefix: "/one", module: "./one.ts", timeout: "2s", cache: false },
  upstream("/hooked", origin, { hooks: "./hooks.ts", cache: false }),
];
const files = { "functions/shop.ts": FUNCTION, "one.ts": FUNCTION, "hooks.ts": HOOKS };
const server = { trusted_proxies: ["127.0.0.1/32"], workers: 1 };
const otlp = { endpoint: collector.url, traces: { sample: 0 } };
const functions = { concurrency: 1 };
const gateway = await startGateway({ config: { server, functions, telemetry: { otlp } }, routes, files });
const silent = await startGateway({
  config: { server, telemetry: { otlp, propagate: false } },
  routes,
  files,
});
const told = await startGateway({ config: { server, telemetry: {} }, routes, files });
afterAll(async () => {
  await stopAll(gateway, silent, told, origin);
  collector.stop();
});

let traces = 0;
/** Asks with a trace of its own that is recorded. @param count of spans that are to come */
async function spansOf(path: string, count: number, on: Gateway = gateway): Promise<{ reply: Reply; spans: Spans }> {
  const traceId = (++traces).toString(16).padStart(32, "0");
  const reply = await on.once(request(`GET ${path}`, [`traceparent: 00-${traceId}-${CALLER}-01`, "tracestate: a=1"]));
  const all = await collector.spansOf((span) => span.traceId === traceId, count);
  expect(all).toHaveLength(count);
  return { reply, spans: new Spans(traceId, all) };
}

class Spans {
  constructor(
    readonly traceId: string,
    private readonly all: readonly ArrivedSpan[],
  ) {}

  of(kind: number | undefined, name?: string): ArrivedSpan {
    return this.all.find((span) => span.kind === kind && (name === undefined || span.name === name))!;
  }
}

const fieldsOf = (reply: Reply) => json<{ headers: Record<string, string> }>(reply).headers;

describe("a function", () => {
  test("has a span below that of its request, which traceparent of its request names", async () => {
    const { reply, spans } = await spansOf("/f/told", 2);
    const [request, call] = [spans.of(SERVER), spans.of(INTERNAL)];
    expect(call).toMatchObject({ name: "fetch shop.ts", parentId: request.spanId, status: 0 });
    expect(call.attributes).toEqual({
      "code.function.name": "fetch",
      "code.file.path": `${gateway.folder}/functions/shop.ts`,
      "edge.function.queue_us": expect.any(Number),
      "http.response.status_code": 200,
    });
    expect(reply.text).toBe(`00-${spans.traceId}-${call.spanId}-01`);
    expect(request.startNs <= call.startNs && call.startNs < call.endNs).toBe(true);
  });

  test.each([
    ["/f/throw", 500, "error"],
    ["/f/slow", 504, "timeout"],
    ["/f/exit", 502, "gone"],
  ])("%s: %d is an error of its span, by its outcome", async (path, status, outcome) => {
    const { reply, spans } = await spansOf(path, 2);
    expect(reply.status).toBe(status);
    const call = spans.of(INTERNAL);
    expect([call.status, call.attributes["error.type"], call.attributes["http.response.status_code"]]).toEqual([
      2,
      outcome,
      undefined,
    ]);
  });

  test("a status of its own is that of its span", async () => {
    const { attributes, status } = (await spansOf("/f/status", 2)).spans.of(INTERNAL);
    expect([status, attributes["error.type"], attributes["http.response.status_code"]]).toEqual([2, "503", 503]);
  });

  test("the time that it waits for a thread is in its span", async () => {
    const first = spansOf("/one/wait", 2);
    const second = spansOf("/one/wait", 2);
    const queues = await Promise.all(
      [first, second].map(async (one) => Number((await one).spans.of(INTERNAL).attributes["edge.function.queue_us"])),
    );
    expect(Math.max(...queues)).toBeGreaterThan(20_000);
    expect(Math.min(...queues)).toBeLessThan(Math.max(...queues));
  });

  test.each(["/f/same", "/f/other"])("%s: the target is told of a span below the function's", async (path) => {
    const { reply, spans } = await spansOf(path, 3);
    const [call, sent] = [spans.of(INTERNAL), spans.of(CLIENT)];
    expect(sent).toMatchObject({ name: "GET", parentId: call.spanId, status: 0 });
    expect(sent.attributes).toMatchObject({ "server.address": "127.0.0.1", "http.response.status_code": 200 });
    const fields = fieldsOf(reply);
    expect([fields.traceparent, fields.tracestate]).toEqual([`00-${spans.traceId}-${sent.spanId}-01`, "a=1"]);
  });

  test("a span that the module has begun itself is what the target is told", async () => {
    const { reply } = await spansOf("/f/own", 3);
    expect(fieldsOf(reply)).toMatchObject({ traceparent: OWN_SPAN });
  });
});

describe("hooks", () => {
  test("have a span each, beside that of the request to the origin", async () => {
    const { reply, spans } = await spansOf("/hooked/echo", 4);
    const parentId = spans.of(SERVER).spanId;
    for (const name of ["onRequest hooks.ts", "onResponse hooks.ts"])
      expect(spans.of(INTERNAL, name)).toMatchObject({ parentId, status: 0 });
    expect(fieldsOf(reply).traceparent).toBe(`00-${spans.traceId}-${spans.of(CLIENT).spanId}-01`);
  });

  test("that respond themselves have one, with the status", async () => {
    const { spans } = await spansOf("/hooked/mine", 2);
    expect(spans.of(INTERNAL)).toMatchObject({
      name: "onRequest hooks.ts",
      status: 0,
      attributes: { "http.response.status_code": 403 },
    });
  });
});

test("what is not recorded has no span, and is told of; what is not told of goes on as it came", async () => {
  const given = `00-${"9".repeat(32)}-${CALLER}-00`;
  const ask = async (path: string, on: Gateway): Promise<Record<string, string>> =>
    fieldsOf(await on.once(request(`GET ${path}`, [`traceparent: ${given}`])));
  for (const path of ["/f/same", "/f/other"]) {
    const { traceparent } = await ask(path, told);
    expect(traceparent).toMatch(new RegExp(`^00-${"9".repeat(32)}-[0-9a-f]{16}-00$`));
    expect(traceparent).not.toBe(given);
  }
  expect(await ask("/f/same", silent)).toMatchObject({ traceparent: given });
  expect((await ask("/f/other", silent)).traceparent).toBeUndefined();
  expect(collector.spans.filter(({ traceId }) => traceId === "9".repeat(32))).toEqual([]);
  // Nothing is told of it, but it is recorded.
  const { spans } = await spansOf("/f/told", 2, silent);
  expect(spans.of(INTERNAL).parentId).toBe(spans.of(SERVER).spanId);
});
