import { afterAll, describe, expect, test } from "bun:test";
import zlib from "node:zlib";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// What readers of JSON take in different ways is logged by default and refused where `waf.json` says so, on every way that a body comes.

const origin = EchoOrigin.start();
const KEYS = ["duplicate_keys", "invalid_utf8", "lone_surrogates", "numbers", "trailing_data", "depth"];
const refuse = Object.fromEntries(KEYS.map((key) => [key, "refuse"]));
const gateway = await startGateway({
  config: { server: { waf: { enabled: true } } },
  routes: [
    upstream("/usual", origin),
    upstream("/strict", origin, { waf: { json: refuse, anomaly_threshold: 100 } }),
    upstream("/one", origin, { waf: { json: { numbers: "refuse" } } }),
    upstream("/watched", origin, { waf: { mode: "detection", json: refuse } }),
    upstream("/but", origin, {
      waf: { json: refuse, exclusions: [{ rule: "JSON-001", param: "tag" }, { rule: "JSON-004" }] },
    }),
    upstream("/through", origin, { inbound_chunked_mode: "passthrough", waf: { json: refuse } }),
  ],
});
afterAll(() => stopAll(gateway, origin));

const TYPE = "Content-Type: application/json";
const ODD: readonly (readonly [rule: string, body: Uint8Array])[] = (
  [
    ["JSON-001", '{"a":1,"\\u0061":2}'],
    ["JSON-002", '{"a":"\xff"}'],
    ["JSON-003", '["\\ud800"]'],
    ["JSON-004", "[1e400]"],
    ["JSON-005", "[1] [2]"],
    ["JSON-006", `${"[".repeat(65)}${"]".repeat(65)}`],
  ] as const
).map(([rule, body]) => [rule, new Uint8Array(Buffer.from(body, "latin1"))]);

const post = (path: string, body: string | Uint8Array, lines: readonly string[] = [TYPE]) =>
  gateway.once(request(`POST ${path}/echo`, lines, body));
const told = (event: string, path: string) =>
  gateway.logs.json.filter((line) => line.event === event && line.path === path);

describe("JSON that readers take in different ways", () => {
  test.each(ODD)("%s is logged by default, and refused where it is said", async (rule, body) => {
    expect((await post("/usual", body)).status).toBe(200);
    const line = { rule_id: rule, category: "json" };
    await eventually(() =>
      expect(told("waf_detect", "/usual/echo")).toContainEqual(
        expect.objectContaining({ ...line, action: "logged", anomaly_score: 0 }),
      ),
    );
    const reply = await post("/strict", body);
    expect(reply.status).toBe(403);
    expect(json(reply)).toMatchObject({ triggered_rules: [rule] });
    await eventually(() =>
      expect(told("waf_block", "/strict/echo")).toContainEqual(expect.objectContaining({ ...line, action: "blocked" })),
    );
    expect((await post("/one", body)).status).toBe(rule === "JSON-004" ? 403 : 200);
    expect((await post("/watched", body)).status).toBe(200);
  });

  test("in chunks, compressed, in parts of a form, in messages, without a type, and over HTTP/2", async () => {
    const [, twice] = ODD[0]!;
    const gz = new Uint8Array(zlib.gzipSync(twice));
    const part = `--b\r\nContent-Disposition: form-data; name="d"\r\n\r\n${Buffer.from(twice)}\r\n--b--\r\n`;
    const framed = Buffer.concat([Buffer.of(0, 0, 0, 0, twice.length), twice]);
    const ways: readonly (readonly [string, string | Uint8Array, readonly string[]])[] = [
      ["/strict", chunked(twice, 3), [TYPE, "Transfer-Encoding: chunked"]],
      ["/through", chunked(twice, 3), [TYPE, "Transfer-Encoding: chunked"]],
      ["/strict", gz, [TYPE, "Content-Encoding: gzip"]],
      ["/strict", part, ["Content-Type: multipart/form-data; boundary=b"]],
      ["/strict", new Uint8Array(framed), ["Content-Type: application/connect+json"]],
      ["/strict", twice, ["Content-Type: application/graphql+json"]],
      ["/strict", twice, []],
      ["/strict", twice, ["Content-Type: application/x-www-form-urlencoded"]],
      ["/strict", twice, ["Content-Type: application/x-ndjson"]],
    ];
    for (const [path, body, lines] of ways) {
      const before = origin.requests.length;
      expect([lines, (await post(path, body, lines)).status]).toEqual([lines, 403]);
      expect(origin.requests.length).toBe(before);
    }
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head("POST", "/strict/echo", [["content-type", "application/json"]]), twice);
    client.close();
    expect(reply.fields.get(":status")).toBe("403");
  });

  test("exclusions name the rule, and the member that comes twice", async () => {
    expect((await post("/but", '{"x":{"tag":1,"tag":2},"n":1e999}')).status).toBe(200);
    expect((await post("/but", '{"x":{"tags":1,"tags":2}}')).status).toBe(403);
  });

  test("lines pass where the type says that they are lines", async () => {
    const lines = '{"a":1}\n{"a":2}\n';
    expect((await post("/strict", lines, ["Content-Type: application/x-ndjson"])).status).toBe(200);
    expect((await post("/strict", lines)).status).toBe(403);
  });
});
