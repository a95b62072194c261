import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../../harness/eventually.ts";
import type { Gateway } from "../../harness/gateway.ts";
import { startRecipe } from "../../harness/recipe.ts";
import { Application, PYTHON } from "./application.ts";

if (PYTHON === null) console.log("skipped: server-sent events need sse-starlette (scripts/install-peers, from PyPI)");

describe.skipIf(PYTHON === null)("server-sent events", () => {
  let server: Application;
  let gateway: Gateway;

  beforeAll(async () => {
    server = await Application.start({
      path: "/state",
      command: (port) => [PYTHON!, join(import.meta.dir, "sse.py"), String(port)],
    });
    gateway = await startRecipe("recipes.md", "Server-sent events", { "http://127.0.0.1:8000": server.url });
  }, 90_000);
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  }, 30_000);

  const at = (path: string) => `http://127.0.0.1:${gateway.port}${path}`;
  const openStreams = async () => ((await (await fetch(at("/state"))).json()) as { open: number }).open;

  test("arrive one by one, when they are sent", async () => {
    const events = await read(at("/events?pause=0.2"), 8);
    expect(events.map(({ id }) => id)).toEqual(["1", "2", "3", "4", "5", "6", "7", "8"]);
    // On one machine both clocks are the same. What is held until more comes would be late by the pause at least.
    const late = events.map(({ sentAt, seenAt }) => seenAt - sentAt).sort((a, b) => a - b);
    expect(late[4]!).toBeLessThan(100);
    expect(late.at(-1)!).toBeLessThan(1000);
  }, 30_000);

  test("go on where a client comes back, and the application is told when one leaves", async () => {
    const [first] = await read(at("/events?pause=0.2"), 1, { "Last-Event-ID": "41" });
    expect(first!.id).toBe("42");
    await eventually(async () => expect(await openStreams()).toBe(0));
  }, 30_000);

  test("reach two hundred readers", async () => {
    const all = await Promise.all(Array.from({ length: 200 }, () => read(at("/events?pause=0.5"), 3)));
    expect(all.every((events) => events.length === 3)).toBe(true);
  }, 60_000);
});

interface SeenEvent {
  readonly id: string;
  readonly sentAt: number;
  readonly seenAt: number;
}

/** The first events of a stream, which is left then. */
async function read(url: string, count: number, headers: Record<string, string> = {}): Promise<SeenEvent[]> {
  const leave = new AbortController();
  const response = await fetch(url, { signal: leave.signal, headers: { Accept: "text/event-stream", ...headers } });
  expect(response.headers.get("content-type")).toStartWith("text/event-stream");
  expect(response.headers.get("content-encoding")).toBe("zstd");
  const seen: SeenEvent[] = [];
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body!) {
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
      const [, id, data] = /id: (\d+)[\s\S]*data: ([\d.]+)/.exec(text.slice(0, end)) ?? [];
      text = text.slice(end + 4);
      if (id !== undefined) seen.push({ id, sentAt: Number(data), seenAt: Date.now() });
    }
    if (seen.length >= count) break;
  }
  leave.abort();
  return seen.slice(0, count);
}
