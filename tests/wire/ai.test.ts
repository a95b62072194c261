// Language models behind a route with ai: docs/ai.md
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, json, RawClient, request } from "../harness/raw-client.ts";
import { type OriginCall, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const CHAT = "/v1/chat/completions";
const JSON_TYPE = "Content-Type: application/json";
const KEY = "sk-of-the-operator";
/** Bodies that a target has got, in their order. */
const got: string[] = [];
/** What a target says of its usage, as it is written. */
let usage = '{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}';
let streaming: OriginCall | null = null;

async function respond(call: OriginCall, from: string): Promise<void> {
  got.push((await call.body()).bytes.toString());
  call.reply("200 OK", [JSON_TYPE, `X-From: ${from}`], `{"choices":[{"message":"\\"usage\\":{}"}],"usage":${usage}}`);
}
const one = ScriptedOrigin.start().otherwise((call) => void respond(call, "one"));
const two = ScriptedOrigin.start().otherwise((call) => void respond(call, "two"));
one.on("/v1/completions", async (call) => {
  got.push((await call.body()).bytes.toString());
  call.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  call.send(chunk('data: {"choices":[{"delta":"a"}],"usage":null}\n\n'));
  streaming = call;
});
one.on("/v1/embeddings", async (call) => {
  await call.body();
  call.reply("500 Internal Server Error", [JSON_TYPE], `{"usage":${usage}}`);
});
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

const targets = {
  target: undefined,
  targets: [
    { url: one.url, name: "one" },
    { url: two.url, name: "two" },
  ],
  strip_prefix: false,
};
const models = [
  { name: "small", targets: "one", send: "small-2026", key: KEY },
  { name: "large", targets: ["two"] },
  { name: "claude", targets: "two", key: `${KEY}-2`, key_header: "x-api-key" },
];
const headers = { request: { set: { Authorization: "Bearer of-the-route" } } };
const hash = (key: string) => `sha256:${createHash("sha256").update(key).digest("hex")}`;
const gateway = await startGateway({
  config: {
    server: {
      workers: 2,
      access_log: { fields: ["event", "path", "user", "ai.model", "ai.prompt_tokens", "ai.completion_tokens"] },
    },
  },
  routes: [
    upstream("/v1", one, { ...targets, headers, ai: { models, max_body_bytes: "2KiB" } }),
    upstream("/chunks", one, {
      ...targets,
      inbound_chunked_mode: "passthrough",
      headers,
      ai: { models: [{ name: "large" }], max_body_bytes: "2KiB" },
    }),
    upstream("/limited", one, {
      ...targets,
      auth: { api_key: { keys: { ann: hash("ann"), bob: hash("bob") } } },
      ai: { models: [{ name: "large" }], tokens: { limit: 1000, window: "1h" } },
    }),
  ],
});
afterAll(() => stopAll(gateway, one, two));

const post = (path: string, body: string | object, ...lines: string[]) =>
  gateway.once(request(`POST ${path}`, [JSON_TYPE, ...lines], typeof body === "string" ? body : JSON.stringify(body)));
const counted = (model: string, kind: string, route = "/v1") =>
  gateway.metric("gateway_ai_tokens_total", { route, model, kind });

describe("a request", () => {
  test("goes to the target of its model, with the operator's key and the model's name there", async () => {
    const client = await H2Client.connect(gateway.port);
    const body = '{"prompt":"model","model" : "small","n":9007199254740993}';
    const own = "Bearer of-the-client";
    const responses = [
      await post(CHAT, body, `Authorization: ${own}`, "Accept-Encoding: gzip"),
      await client.request(head("POST", CHAT, [["authorization", own]]), body),
    ];
    client.close();
    for (const response of responses) {
      expect([response.status, response.fields.get("x-from")]).toEqual([200, "one"]);
      expect(`${JSON.stringify(response)}${response.text}`).not.toContain(KEY);
      const sent = one.requestsFor(CHAT).at(-1)!;
      expect(sent.fields.all("authorization")).toEqual([`Bearer ${KEY}`]);
      expect(sent.fields.get("accept-encoding")).toBe("identity");
      // Numbers that no double holds stay as they are.
      expect(got.pop()).toBe('{"prompt":"model","model" :"small-2026","n":9007199254740993}');
    }
    const upgrade = ["Connection: upgrade", "Upgrade: websocket"];
    const large = await post(CHAT, { model: "large" }, `Authorization: ${own}`, ...upgrade);
    expect(two.requestsFor(CHAT)[0]!.fields.has("upgrade")).toBe(false);
    expect([large.status, large.fields.get("x-from")]).toEqual([200, "two"]);
    expect(two.requestsFor(CHAT)[0]!.fields.has("authorization")).toBe(false);
    await eventually(async () => {
      expect([await counted("small", "prompt"), await counted("small", "completion")]).toEqual([6, 8]);
      expect(await counted("large", "completion")).toBe(4);
    });
    const line = await gateway.log("access", (one) => one["ai.model"] === "small");
    expect(line).toMatchObject({ path: CHAT, "ai.prompt_tokens": 3, "ai.completion_tokens": 4 });
    expect(gateway.logs.lines.join("\n")).not.toContain(KEY);
  });

  test("has the key in the field that its provider reads, and no credential of the client's", async () => {
    const own = ["Authorization", "X-API-Key", "api-key", "X-Goog-Api-Key", "OpenAI-Organization", "OpenAI-Project"];
    for (const model of ["claude", "small", "large"]) {
      await post("/v1/messages", { model, max_tokens: 5 }, ...own.map((name) => `${name}: mine`));
      const sent = (model === "small" ? one : two).requestsFor("/v1/messages").at(-1)!;
      const found = own.flatMap((name) => sent.fields.all(name.toLowerCase()).map((value) => `${name}: ${value}`));
      const wanted = { claude: [`X-API-Key: ${KEY}-2`], small: [`Authorization: Bearer ${KEY}`], large: [] };
      expect(found).toEqual(wanted[model as keyof typeof wanted]);
    }
  });

  test.each([
    ["a form", "application/x-www-form-urlencoded", '{"model":"small","&model=large&":1}'],
    ["another encoding", "application/json; charset=utf-16", '{"model":"small"}'],
    ["a coding", "application/json\r\nContent-Encoding: deflate", '{"model":"small"}'],
  ])("that calls itself %s goes on as the JSON that it was read as", async (_, type, body) => {
    const reply = await gateway.once(request(`POST ${CHAT}`, [`Content-Type: ${type}`], body));
    expect(reply.status).toBe(200);
    const { fields } = one.requestsFor(CHAT).at(-1)!;
    expect([fields.all("content-type"), fields.has("content-encoding")]).toEqual([["application/json"], false]);
    got.pop();
  });

  test("that cannot be sent on is refused as clients of the API read it, and no target gets it", async () => {
    const before = one.requests.length + two.requests.length;
    const bodies = [
      ...["", "no json", "[]", "null", '"model"', "\ufeff{}", '{"model":"large"}x', "[".repeat(2000)],
      ...["{}", '{"model":7}', '{"model":""}', '{"a":{"model":"large"}}', '{"model":"large","model":"small"}'],
      ...['{"model":"large","Model":"small"}', '{"MODEL":"large"}', '{"model":"large","mod\\u0065l":"small"}'],
      '{"model":"large","stream":true,"stream":false}',
      `{"model":"large",${" ".repeat(200)}"model":"small"}`,
      `{"model":"large","stream_options":{},"${[..."stream_options"].map((c) => `\\u00${c.charCodeAt(0).toString(16)}`).join("")}":{}}`,
    ];
    for (const body of bodies) {
      const response = await post(CHAT, body);
      expect([body, response.status]).toEqual([body, 400]);
      expect(json<{ error: object }>(response).error).toMatchObject({ type: "invalid_request_error", param: null });
    }
    const unknown = await post(CHAT, { model: "unknown" });
    expect([unknown.status, json<{ error: { code: string } }>(unknown).error.code]).toEqual([404, "model_not_found"]);
    // Some providers take the model from the path.
    const elsewhere = ["deployments/large", "engines/large", "models/large", "v1/.%2e/x", "%76"].map(
      (at) => `/v1/${at}/completions`,
    );
    for (const path of [
      "/v1/files",
      "/v1/fine_tuning/jobs",
      "/v1/models",
      ...elsewhere,
      `${CHAT}/`,
      `/v1/files?/completions`,
    ])
      expect((await post(path, { model: "small" })).status).toBe(404);
    for (const method of ["GET", "DELETE"]) expect((await gateway.once(request(`${method} ${CHAT}`))).status).toBe(404);
    expect(one.requests.length + two.requests.length).toBe(before);
    const list = json<{ data: { id: string }[] }>(await gateway.once(request("GET /v1/models")));
    expect(list.data.map(({ id }) => id)).toEqual(["small", "large", "claude"]);
  });

  test("that is too long is refused, however it is framed", async () => {
    const body = JSON.stringify({ model: "large", prompt: "p".repeat(3000) });
    expect((await post(CHAT, body)).status).toBe(413);
    for (const path of [CHAT, "/chunks/completions"]) {
      const framed = request(`POST ${path}`, ["Transfer-Encoding: chunked"]);
      expect((await gateway.once(Buffer.concat([framed, chunked(body, 100)]))).status).toBe(413);
      const of = path === CHAT ? null : "Bearer of-the-route";
      const short = await gateway.once(Buffer.concat([framed, chunked('{"model":"large"}', 5)]));
      expect([short.status, got.pop()]).toEqual([200, '{"model":"large"}']);
      const sent = [...one.requestsFor(path), ...two.requestsFor(path)];
      expect(sent.at(-1)!.fields.get("authorization")).toBe(of);
    }
    const client = await H2Client.connect(gateway.port);
    expect((await client.request(head("POST", CHAT), body)).status).toBe(413);
    client.close();
  });
});

describe("tokens", () => {
  test("of a stream are those of its last usage, and each event passes at once", async () => {
    for (const options of ["", ',"stream_options":{"a":1}', ',"stream_options":null']) {
      const before = await counted("small", "completion");
      const client = await RawClient.connect(gateway.port);
      client.send(request("POST /v1/completions", [JSON_TYPE], `{"model":"small","stream":true${options}}`));
      // The first event is there while the response goes on.
      await client.takeUntil('"delta":"a"', 4096);
      expect(JSON.parse(got.pop()!)).toMatchObject({ model: "small-2026", stream_options: { include_usage: true } });
      const last = `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}\n\ndata: [DONE]\n\n`;
      for (const byte of last) streaming!.send(chunk(byte));
      streaming!.send("0\r\n\r\n");
      await client.takeUntil("\r\n0\r\n\r\n", 4096);
      client.close();
      await eventually(async () => expect(await counted("small", "completion")).toBe(before + 5));
    }
  });

  test("of streams whose usage is within the object of an event are exact", async () => {
    const streams: [string, string, number, number][] = [
      [
        "/v1/responses",
        `event: response.created\ndata: {"type":"response.created","response":{"usage":null}}\n\nevent: response.completed\ndata: {"response":{"id":"a","output":[{"usage":{"input_tokens":9}},"}${"x".repeat(9000)}"],"usage":{"input_tokens":11,"output_tokens":6,"total_tokens":17}},"type":"response.completed"}\n\n`,
        11,
        6,
      ],
      [
        "/v1/messages",
        'data: {"message":{"usage":{"input_tokens":20,"cache_read_input_tokens":3,"output_tokens":1}}}\n\ndata: {"delta":{"usage":{"output_tokens":99}}}\n\ndata: {"usage":{"output_tokens":8}}\n\ndata: {"type":"message_stop"}\n\n',
        23,
        8,
      ],
    ];
    for (const [path, events, prompt, completion] of streams) {
      one.on(path, async (call) => {
        await call.body();
        call.reply("200 OK", ["Content-Type: text/event-stream"], events);
      });
      const before = [await counted("small", "prompt"), await counted("small", "completion")];
      expect((await post(path, { model: "small", stream: true })).text).toBe(events);
      await eventually(async () =>
        expect([await counted("small", "prompt"), await counted("small", "completion")]).toEqual([
          before[0]! + prompt,
          before[1]! + completion,
        ]),
      );
    }
  });

  test("of a stream that its client leaves are an event each, beside the length of the request", async () => {
    const [prompt, completion] = [await counted("small", "prompt"), await counted("small", "completion")];
    const client = await RawClient.connect(gateway.port);
    const body = `{"model":"small","stream":true,"p":"${"p".repeat(364)}"}`;
    client.send(request("POST /v1/completions", [JSON_TYPE], body));
    await client.takeUntil('"delta":"a"', 4096);
    client.close();
    await eventually(async () => expect(await counted("small", "completion")).toBe(completion + 1));
    expect(await counted("small", "prompt")).toBe(prompt + Math.ceil(body.length / 4));
  });

  test("that are no counts are taken by length, and a failure takes none", async () => {
    const hostile = [
      '{"prompt_tokens":-5,"completion_tokens":1}',
      '{"prompt_tokens":1,"completion_tokens":1e300}',
      '{"prompt_tokens":"7"}',
      '{"total_tokens":0.5}',
      "[1]",
      '"x"',
      "null",
      `{"a":"${"x".repeat(9000)}","total_tokens":9}`,
    ];
    const ordinary = usage;
    for (const said of hostile) {
      usage = said;
      const before = await counted("large", "prompt");
      const completion = await counted("large", "completion");
      const { body } = await post(CHAT, { model: "large" });
      await eventually(async () => expect(await counted("large", "prompt")).toBe(before + 5));
      expect(await counted("large", "completion")).toBe(completion + Math.ceil(body.length / 4));
    }
    // The last of two members counts, as in most readers; what has been thought is in the total alone.
    usage = '{"total_tokens":1},"usage":{"prompt_tokens":1,"prompt_tokens":2,"completion_tokens":3,"total_tokens":50}';
    const before = await counted("large", "completion");
    await post(CHAT, { model: "large" });
    await eventually(async () => expect(await counted("large", "completion")).toBe(before + 48));
    usage = ordinary;
    const failed = await counted("small", "prompt");
    expect((await post("/v1/embeddings", { model: "small" })).status).toBe(500);
    await gateway.log("access", ({ path }) => path === "/v1/embeddings");
    expect(await counted("small", "prompt")).toBe(failed);
  });

  test("are limited by user over all workers, by what was used", async () => {
    const ask = (key: string) => post("/limited/completions", { model: "large" }, `X-API-Key: ${key}`);
    usage = '{"prompt_tokens":600,"completion_tokens":0}';
    expect([(await ask("ann")).status, (await ask("ann")).status]).toEqual([200, 200]);
    await eventually(async () => expect(await counted("large", "prompt", "/limited")).toBe(1200));
    // On connections of their own: any worker may have them.
    for (let i = 0; i < 6; i++) {
      const response = await ask("ann");
      expect(response.status).toBe(429);
      const after = Number(response.fields.get("retry-after"));
      // 200 tokens and one, of 1000 an hour.
      expect(after > 600 && after < 740).toBe(true);
      expect(json<{ error: object }>(response).error).toMatchObject({ type: "tokens", code: "rate_limit_exceeded" });
    }
    expect((await ask("bob")).status).toBe(200);
    usage = '{"prompt_tokens":90000000,"completion_tokens":0}';
    await ask("bob");
    await eventually(async () => expect((await ask("bob")).status).toBe(429));
    // What is owed is the limit once more.
    expect(Number((await ask("bob")).fields.get("retry-after"))).toBeLessThan(3700);
  });
});

test("explain, the listing of a configuration and the internal endpoints say where a model is, and no key", async () => {
  const files = { "routes.yaml": readFileSync(join(gateway.folder, "routes.yaml")) };
  const call = ["explain", "--body", '{"model":"small"}', `POST ${CHAT}`];
  for (const args of [call, ["check", "--print"]]) {
    const { stdout, stderr } = await runEdge(args, { files });
    expect(stdout).toContain("***");
    expect(stdout).toContain(one.url);
    expect(stdout + stderr).not.toContain(KEY);
  }
  const { text } = await gateway.once(request("GET /internal/api/routes"));
  expect(text).toContain("small-2026");
  expect(text).not.toContain(KEY);
});

test("a configuration that cannot work is refused with a cure", async () => {
  const route = (path: string, ai: object, more: object = {}) => upstream(path, one, { ...targets, ai, ...more });
  const model = { name: "a" };
  const routes = [
    route("/none", { models: [] }),
    route("/target", { models: [{ ...model, targets: "tow" }] }),
    route("/twice", { models: [model, model] }),
    route("/limit", { models: [model], tokens: { limit: 0 } }),
    route("/mirror", { models: [model] }, { mirror: { target: one.url } }),
    route("/field", { models: [{ ...model, key: "abc", key_header: "Host" }] }),
    route("/keyless", { models: [{ ...model, key_header: "x-api-key" }] }),
    route("/script", { models: [model] }, { targets: [{ url: "scgi://127.0.0.1:9" }] }),
  ];
  const run = await runEdge(["check"], { routes });
  const faults = [
    "needs a model",
    'has the name "tow"',
    "is there twice",
    "tokens.limit",
    "with mirror",
    "of HTTP",
    "holds no key",
    "without key",
  ];
  for (const fault of faults) expect(run.stdout + run.stderr).toContain(fault);
});
