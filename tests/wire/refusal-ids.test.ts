// docs/security.md#logs-and-secrets: every refused request has an id, the same in each of its lines.
import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import type { LogLine } from "../harness/line-collector.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { waf: { enabled: true }, max_body_bytes: 100 } },
  routes: [
    upstream("/node", origin),
    upstream("/closed", origin, { ip_rules: { deny: ["127.0.0.1"] } }),
    upstream("/slow", origin, { rate_limit: { requests: 1, window: "1h", burst: 1 } }),
    { type: "upstream", path: "/get", target: origin.url, methods: ["GET"] },
  ],
});
afterAll(() => stopAll(gateway, origin));

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** What is refused: the start line, further lines, the status, and the event beside the access line. */
const REFUSALS: readonly (readonly [string, readonly string[], number, string | null])[] = [
  ["POST /node/x", ["Content-Length: 1", "Transfer-Encoding: chunked"], 400, "framing_reject"],
  ["POST /node/x", ["Content-Length: x"], 400, "framing_reject"],
  ["POST /node/x", ["Content-Length: 1000"], 413, "limit_reject"],
  ["GET /node/x?q=<script>alert(1)</script>", [], 403, "waf_block"],
  ["GET /closed/x", [], 403, null],
  ["GET /slow/x", [], 429, "rate_limited"],
  ["DELETE /get", [], 405, null],
  ["GET /nowhere", [], 404, null],
];

async function linesOf(id: string, events: readonly string[]): Promise<LogLine[]> {
  return Promise.all(
    events.map((event) => gateway.log(`${event} ${id}`, (line) => line.event === event && line.request_id === id)),
  );
}

describe("a refused request", () => {
  let next = 0;

  test.each(REFUSALS)("is logged by the id that its client gave: %s %j", async (start, lines, status, event) => {
    if (status === 429) await gateway.once(request(start));
    const id = `refused-${++next}`;
    const reply = await gateway.once(request(start, [`X-Request-Id: ${id}`, ...lines]));
    expect(reply.status).toBe(status);
    const told = await linesOf(id, event === null ? ["access"] : ["access", event]);
    expect(told[0]!.status).toBe(status);
  });

  test.each(REFUSALS)("has one of its own where the client's is none: %s %j", async (start, lines, status, event) => {
    const agent = `probe-${++next}`;
    const own = [`X-Request-Id: a b`, `User-Agent: ${agent}`];
    expect((await gateway.once(request(start, [...own, ...lines]))).status).toBe(status);
    const line = await gateway.log(agent, (each) => each.event === "access" && each.user_agent === agent);
    expect(line.request_id).toMatch(UUID);
    if (event !== null) await linesOf(line.request_id as string, [event]);
  });

  test("whose head cannot be read has one as well", async () => {
    const before = gateway.logs.json.filter(({ event }) => event === "framing_reject").length;
    expect((await gateway.once("GET / HTTP/1.1\r\nHost: a\r\nX Y: z\r\n\r\n")).status).toBe(400);
    const line = await gateway.log(
      "the refusal",
      (each) => gateway.logs.json.filter(({ event }) => event === "framing_reject").indexOf(each) >= before,
    );
    expect(line.request_id).toMatch(UUID);
  });

  test("over HTTP/2 is logged by its id too", async () => {
    for (const [path, more, status, events] of [
      ["/closed/x", [], 403, ["access"]],
      ["/node/x", [["te", "gzip"]], 400, ["access", "framing_reject"]],
      ["/node/x?q=<script>alert(1)</script>", [], 403, ["access", "waf_block"]],
    ] as const) {
      const client = await H2Client.connect(gateway.port);
      const id = `h2-${++next}`;
      const reply = await client.request(head("GET", path, [["x-request-id", id], ...more]));
      expect(reply.status).toBe(status);
      await linesOf(id, events);
      client.close();
    }
  });
});
