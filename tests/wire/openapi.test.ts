// docs/endpoints.md#openapi
import { afterAll, describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv2020, { type ValidateFunction } from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { BUILT_IN_PLACES, ENDPOINTS, type EndpointDoc } from "../../src/features/admin/built-in-endpoints.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

interface Operation {
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object }> };
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

const origin = EchoOrigin.start();
const other = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      waf: { enabled: true, mode: "enforce" },
      cache: { enabled: true, cookies: "share" },
      bans: { for: "1h" },
    },
  },
  routes: [
    upstream("/node", origin),
    upstream("/new", origin, { canary: { target: other.url, steps: [10, 100], every: "1h" } }),
    { type: "redirect", prefix: "/old", to: "https://example.com{uri}" },
    { type: "respond", path: "/hello", body: "hi" },
  ],
});
afterAll(() => stopAll(gateway, origin, other));
const document = json(await gateway.once(request("GET /internal/api/openapi.json"))) as unknown as OpenApi;
for (const path of ["/node/x", "/hello?q=<script>alert(1)</script>", "/none"])
  await gateway.once(request(`GET ${path}`));

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats(ajv);
const root = ajv.addSchema({ $id: "root", components: document.components });

/** A field that the document does not name is as wrong as one that is missing. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  if ("properties" in inner && !("additionalProperties" in inner)) inner.additionalProperties = false;
  if (typeof inner.$ref === "string") inner.$ref = inner.$ref.replace("#/", "root#/");
  return inner;
}

function validatorOf(path: string, method: string, status: number): ValidateFunction | string {
  const content = document.paths[path]?.[method]?.responses[status]?.content;
  if (content === undefined) throw new Error(`${method} ${path} ${status} is not in the document`);
  const [type, { schema }] = Object.entries(content)[0]!;
  return type === "application/json" ? root.compile(closed(schema) as object) : type;
}

function check(path: string, method: string, reply: Reply): void {
  const validate = validatorOf(path, method, reply.status);
  if (typeof validate === "string") expect(reply.fields.get("content-type")).toStartWith(validate);
  else expect([validate(json(reply)), validate.errors, path]).toEqual([true, null, path]);
}

const pathOf = (path: string) => request(`GET ${path}`);

describe("the document", () => {
  test("is OpenAPI 3.1", async () => {
    const result = await new Validator().validate({ ...document });
    expect([result.valid, result.errors]).toEqual([true, undefined]);
  });

  test("has every endpoint, and no other", () => {
    expect(Object.keys(document.paths).sort()).toEqual(BUILT_IN_PLACES.map(({ path }) => path).sort());
    for (const { path, methods } of BUILT_IN_PLACES) {
      expect(Object.keys(document.paths[path]!)).toEqual(methods.map((method) => method.toLowerCase()));
    }
  });

  test("names each operation once", () => {
    const ids = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map((one) => (one as { operationId?: string }).operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("responses are as it says", () => {
  const read = BUILT_IN_PLACES.filter(
    ({ path, methods }) => methods.includes("GET") && path !== "/internal/api/stream",
  );
  test.each(read.map(({ path }) => path))("GET %s", async (path) => {
    const name = "shop";
    if (path.includes("{name}"))
      await gateway.once(
        request(`PUT ${path.replace("{name}", name)}`, [], '{"type": "respond", "path": "/shop", "body": "x"}'),
      );
    const reply = await gateway.once(pathOf(path.replace("{name}", name)));
    // This gateway is alone; tests/wire/fleet.test.ts has several.
    expect(reply.status).toBe(path === "/internal/api/nodes" ? 404 : 200);
    check(path, "get", reply);
  });

  test("GET /internal/api/security/incidents with a query", async () => {
    const path = "/internal/api/security/incidents";
    const some = await gateway.once(pathOf(`${path}?limit=1&since=2026-01-01T00:00:00Z`));
    expect((json(some).incidents as object[]).length).toBe(1);
    check(path, "get", some);
    check(path, "get", await gateway.once(pathOf(`${path}?limit=none`)));
  });

  const calls: [path: string, body: unknown, status: number][] = [
    ["/internal/api/proxy-test", { path: "/node/x", headers: { Accept: "*/*" } }, 200],
    ["/internal/api/proxy-test", { path: "" }, 400],
    ["/internal/api/proxy-test", { path: "/internal/api/status" }, 403],
    ["/internal/api/explain", { request: "/node/x", http: 2 }, 200],
    ["/internal/api/explain", { request: 1 }, 400],
    ["/internal/api/cache/purge", { prefix: "/node", soft: true }, 200],
    ["/internal/api/cache/purge", { none: 1 }, 400],
    ["/internal/api/upstreams/drain", { target: origin.url }, 200],
    ["/internal/api/upstreams/undrain", { target: origin.url }, 200],
    ["/internal/api/upstreams/undrain", { target: "http://127.0.0.1:1" }, 404],
    ["/internal/api/upstreams/drain", { target: "x".repeat(5000) }, 413],
    ["/internal/api/maintenance", { on: true }, 200],
    ["/internal/api/maintenance", { on: false, route: "/node" }, 200],
    ["/internal/api/maintenance", { on: false }, 200],
    ["/internal/api/maintenance", { on: true, route: "/none" }, 404],
    ["/internal/api/reload", {}, 200],
    ["/internal/api/rollback", { steps: 99 }, 404],
    ["/internal/api/rollback", {}, 200],
    ["/internal/api/bans/add", { address: "192.0.2.7", for: "2h" }, 200],
    ["/internal/api/bans/add", { address: "none" }, 400],
    ["/internal/api/bans/rm", { address: "192.0.2.7" }, 200],
    ["/internal/api/canary", { route: "/new", action: "abort" }, 200],
    ["/internal/api/canary", { route: "/none", action: "abort" }, 404],
    ["/internal/api/log-level", { level: "debug" }, 200],
    ["/internal/api/log-level", { level: "info" }, 200],
    ["/internal/api/log-level", { level: "all" }, 400],
  ];
  test.each(calls)("POST %s %j", async (path, body, status) => {
    if (path.endsWith("/rollback")) {
      appendFileSync(join(gateway.folder, "routes.yaml"), "\n# another one\n");
      await gateway.once(request("POST /internal/api/reload", []));
    }
    const reply = await gateway.once(request(`POST ${path}`, ["Content-Type: application/json"], JSON.stringify(body)));
    expect(reply.status).toBe(status);
    check(path, "post", reply);
    const schema = document.paths[path]!.post!.requestBody!.content["application/json"]!.schema;
    if (status === 200) expect(ajv.validate(schema, body)).toBe(true);
  });

  test("every endpoint that takes a body is called", () => {
    const called = new Set(calls.filter(([, , status]) => status === 200).map(([path]) => path));
    expect(
      BUILT_IN_PLACES.filter(({ methods }) => methods.includes("POST"))
        .map(({ path }) => path)
        .sort(),
    ).toEqual([...called].sort());
  });

  test("of who may not come", async () => {
    const path = "/internal/api/status";
    check(path, "get", await gateway.once(request(`GET ${path}`, ["X-Forwarded-For: 192.0.2.1"])));
  });
});

describe("docs/endpoints.md", () => {
  const DOCS = join(import.meta.dir, "../../docs");
  const page = readFileSync(join(DOCS, "endpoints.md"), "utf8");

  test.each(ENDPOINTS.map(({ path, methods, doc }) => [methods.join(", "), path, doc.page]))(
    "has %s %s",
    (method, path, at) => {
      expect(page).toContain(`| ${method} | \`${path}\` |`);
      const [file = "", anchor = ""] = at!.split("#");
      const headings = readFileSync(join(DOCS, file), "utf8").matchAll(/^#+ (.+)$/gm);
      const anchors = [...headings].map(([, text]) =>
        text!
          .toLowerCase()
          .replace(/[^a-z0-9 -]/g, "")
          .replaceAll(" ", "-"),
      );
      expect(anchors).toContain(anchor);
    },
  );

  test.each(ENDPOINTS.map(({ path, doc }): [string, EndpointDoc] => [path, doc]))(
    "names all that %s takes and gives",
    (_, { page: place, request: body, response, query }) => {
      const text = readFileSync(join(DOCS, place.split("#")[0]!), "utf8");
      const names = [...namesIn(body), ...namesIn(response), ...Object.keys(query ?? {})];
      expect(names.filter((name) => !new RegExp(`[\`"?]${name}[\`"=]`).test(text))).toEqual([]);
    },
  );
});

function namesIn(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const own = "properties" in schema ? Object.keys(schema.properties as object) : [];
  return [...own, ...Object.values(schema).flatMap(namesIn)];
}
