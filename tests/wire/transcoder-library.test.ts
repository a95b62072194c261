import { afterAll, describe, expect, test } from "bun:test";
import type { JsonValue } from "@bufbuild/protobuf";
import { EDGE_BINARY, startGateway } from "../harness/gateway.ts";
import { GrpcLibrary, LIBRARY_FILE, PICTURE } from "../harness/grpc-library.ts";
import { json, request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/transcoder.md
const library = await GrpcLibrary.start();
const common = { enabled: true, descriptor_set: LIBRARY_FILE, upstream_url: library.url.replace("http:", "h2c:") };
const gateway = await startGateway({
  config: {
    server: { waf: { enabled: true } },
    transcoder: { ...common, timeout: "5s", auto: { services: ["library.Library"] } },
  },
});
const spelled = await startGateway({
  config: {
    transcoder: {
      ...common,
      auto: { services: ["library.*"], exclude: ["library.Library/GetCover", "library.Archive"] },
      json: { emit_defaults: true, proto_names: true, enum_numbers: true, ignore_unknown: true },
    },
  },
});
afterAll(() => stopAll(gateway, spelled, library));

const JSON_TYPE = ["Content-Type: application/json"];
const seen = () => library.calls.at(-1)!;

async function asked(line: string, body: string): Promise<JsonValue> {
  expect((await gateway.once(request(line, JSON_TYPE, body))).status).toBe(200);
  return seen().request;
}

describe("PATCH", () => {
  test("names the fields of the body in the mask, those within messages by their paths", async () => {
    const body = { fullTitle: "x", author: { first_name: "A" }, tags: ["t"], printedAt: "2026-01-01T00:00:00Z" };
    expect(await asked("PATCH /books/7", JSON.stringify(body))).toEqual({
      book: { ...body, id: "7", author: { firstName: "A" } },
      updateMask: "fullTitle,author.firstName,tags,printedAt",
    });
  });

  test("takes null and an empty message as meant", async () => {
    const { updateMask } = (await asked("PATCH /books/7", '{"full_title":null,"author":{}}')) as { updateMask: string };
    expect(updateMask).toBe("fullTitle,author");
  });

  test("leaves a mask that the client gives, and other methods, alone", async () => {
    const given = await asked("PATCH /books/7?updateMask=tags", '{"fullTitle":"x"}');
    expect(given).toEqual({ book: { fullTitle: "x", id: "7" }, updateMask: "tags" });
    expect(await asked("PUT /books/7", '{"fullTitle":"x"}')).toEqual({ book: { fullTitle: "x", id: "7" } });
  });

  test("does not make a mask of what is no field", async () => {
    expect((await gateway.once(request("PATCH /books/7", JSON_TYPE, '{"nope":1}'))).status).toBe(400);
    expect((await gateway.once(request("PATCH /books/7", JSON_TYPE, '{"constructor":{"a":1}}'))).status).toBe(400);
  });
});

test("a list in a path has commas", async () => {
  await gateway.once(request("GET /shelf/a,b%2Fc/1999,2001"));
  expect(seen().request).toEqual({ ids: ["a", "b/c"], years: [1999, 2001] });
  await gateway.once(request("GET /shelf/a/1999?title=t"));
  expect(seen().request).toEqual({ ids: ["a"], years: [1999], title: "t" });
  expect((await gateway.once(request("GET /shelf/a/1999,x"))).status).toBe(400);
});

describe("bodies as they are", () => {
  test("are given with their type, to HEAD without", async () => {
    const reply = await gateway.once(request("GET /covers/one"));
    expect([reply.status, reply.fields.get("content-type")]).toEqual([200, "image/png"]);
    expect(Buffer.from(reply.body).equals(PICTURE)).toBe(true);
    const head = await gateway.once(request("HEAD /covers/one"), "HEAD");
    expect([head.fields.get("content-length"), head.body.length]).toEqual([String(PICTURE.length), 0]);
  });

  test("have no type that adds a line, and a failure is JSON", async () => {
    const odd = await gateway.once(request("GET /covers/odd"));
    expect([odd.fields.get("content-type"), odd.fields.has("x-evil"), odd.text]).toEqual([
      "application/octet-stream",
      false,
      "<b>",
    ]);
    const bare = await gateway.once(request("GET /covers/bare"));
    expect([bare.status, bare.text]).toEqual([200, ""]);
    const none = await gateway.once(request("GET /covers/none"));
    expect([none.status, json(none)]).toEqual([404, { code: 5, message: "no such cover", details: [] }]);
  });

  test("are taken with any type, as the message or as a field of it", async () => {
    const picture = await gateway.once(request("PUT /covers", ["Content-Type: image/png"], PICTURE));
    expect([picture.fields.get("content-type"), Buffer.from(picture.body).equals(PICTURE)]).toEqual([
      "image/png",
      true,
    ]);
    const scan = await gateway.once(request("POST /scans/t%20u", ["Content-Type: text/plain"], "a page"));
    const page = { contentType: "text/plain", data: Buffer.from("a page").toString("base64") };
    expect(json(scan)).toEqual({ title: "t u", page } as never);
    const alone = await gateway.once(request("POST /pages/t", ["Content-Type: application/json"], "{broken"));
    expect([alone.status, alone.fields.get("content-type"), alone.text]).toEqual([200, "application/json", "{broken"]);
  });

  test("are looked at by the firewall", async () => {
    const calls = library.calls.length;
    const attack = "q=1' UNION SELECT password FROM users--";
    const form = ["Content-Type: application/x-www-form-urlencoded"];
    expect((await gateway.once(request("PUT /covers", form, attack))).status).toBe(403);
    expect(library.calls.length).toBe(calls);
  });

  test("stream as one", async () => {
    const whole = await gateway.once(request("GET /downloads/whole", ["Accept: application/x-ndjson"]));
    expect([whole.status, whole.fields.get("content-type"), whole.text]).toEqual([200, "text/csv", "a,b\n1,2\n"]);
    const client = await gateway.connect();
    client.send(request("GET /downloads/broken"));
    expect(client.reply()).rejects.toThrow();
    client.close();
  });
});

describe("Grpc-Timeout", () => {
  test("is kept to within the route's", async () => {
    await gateway.once(request("GET /shelf/a/1?title=t", ["Grpc-Timeout: 2S"]));
    expect(seen().timeoutMs).toBeWithin(1000, 2001);
    for (const lines of [["Grpc-Timeout: 99999999H"], []]) {
      await gateway.once(request("GET /shelf/a/1?title=t", lines));
      expect(seen().timeoutMs).toBeWithin(3000, 5001);
    }
  });

  test("ends the call", async () => {
    const begun = performance.now();
    const reply = await gateway.once(request("GET /shelf/a/1?title=never", ["Grpc-Timeout: 200m"]));
    expect([reply.status, json<{ code: number }>(reply).code]).toEqual([504, 4]);
    expect(performance.now() - begun).toBeLessThan(3000);
  });

  test.each(["1", "S", "-1S", "1.5S", "123456789S", "1s", "1 S", ""])("that is %j is refused", async (value) => {
    expect((await gateway.once(request("GET /shelf/a/1", [`Grpc-Timeout: ${value}`]))).status).toBe(400);
  });
});

test("json: names of the schema, defaults, numbers for enums, unknown fields passed over", async () => {
  const body = '{"fullTitle":"x","unknown":{"a":1},"author":{"nope":2}}';
  const reply = await spelled.once(request("PUT /books/7?nothing=1", JSON_TYPE, body));
  const { request: asked, ...book } = json<Record<string, JsonValue>>(reply);
  expect(JSON.parse(String(asked))).toEqual({ book: { fullTitle: "x", id: "7", author: {} } });
  const expected = { id: "7", full_title: "A title", tags: [], kind: 1, copies: "9007199254740993", pages: 0 };
  expect(book).toEqual(expected);
});

describe("auto", () => {
  test("serves what is named and not left out", async () => {
    expect((await spelled.once(request("GET /covers/one"))).status).toBe(404);
    expect((await spelled.once(request("GET /restore"))).status).toBe(404);
    expect((await gateway.once(request("GET /restore"))).status).toBe(404);
  });

  test("leaves out what it cannot serve, with a warning for each, and says what is not there", async () => {
    const check = await runProcess([EDGE_BINARY, "check"], { cwd: gateway.folder, timeout: 20_000 });
    const warnings = check.stderr.split("\n").filter((line) => line.includes("transcoder.auto"));
    expect([check.code, warnings.length]).toEqual([0, 1]);
    expect(warnings[0]).toContain("library.BooksRequest has no field nothing: not served");
    expect((await gateway.once(request("GET /odd/1"))).status).toBe(404);
  });
});
