import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import type { JsonSchema } from "../../../src/loading/json-schema.ts";
import { policyDefinition } from "../../../src/loading/policy-schema.ts";
import { POLICY_KEYS } from "../../../src/routes/policy-keys.ts";
import { ROUTE_OPTIONS } from "../../../src/routes/route-options.ts";
import { upstreamKeys } from "../../../src/routes/upstream/upstream-keys.ts";

interface Definition {
  readonly spec: {
    readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: JsonSchema } }];
  };
}

const SCHEMA = (policyDefinition() as unknown as Definition).spec.versions[0].schema.openAPIV3Schema;
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const takes = ajv.compile(SCHEMA);

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return schema.properties as Readonly<Record<string, JsonSchema>>;
}

/** Every schema in it, each with its path. */
function nodesOf(schema: JsonSchema, path: string): [string, JsonSchema][] {
  const { properties = {}, items, additionalProperties: values } = schema as Readonly<Record<string, JsonSchema>>;
  const below = Object.entries(properties).flatMap(([key, one]) => nodesOf(one as JsonSchema, `${path}.${key}`));
  const others = [items, values].flatMap((one) => (one === undefined ? [] : nodesOf(one, `${path}[]`)));
  return [[path, schema], ...below, ...others];
}

describe("the CustomResourceDefinition of EdgePolicy", () => {
  const nodes = nodesOf(SCHEMA, "");

  test("is structural: each value has one type, or says that it has none", () => {
    const bad = nodes.filter(([, { type, "x-kubernetes-int-or-string": either, ...node }]) => {
      const isOpen = node["x-kubernetes-preserve-unknown-fields"] === true;
      const isKnown = ["object", "array", "string", "integer", "number", "boolean"].includes(type as string);
      return !(isKnown || either === true || isOpen) || (type === "array" && node.items === undefined);
    });
    expect(bad.map(([path]) => path)).toEqual([]);
    expect(nodes.filter(([, node]) => "$ref" in node || "anyOf" in node || "default" in node)).toEqual([]);
  });

  test("has every key of an upstream route, but for those that its page names", () => {
    const { targetRef, targetRefs, ...keys } = propertiesOf(propertiesOf(SCHEMA).spec!);
    expect([targetRef, targetRefs]).not.toContain(undefined);
    expect(Object.keys(keys).sort()).toEqual(Object.keys(POLICY_KEYS).sort());
    for (const key of ["waf", "auth", "rate_limit", "cache", "compression", "bots"]) expect(keys).toHaveProperty(key);
    const left = [...Object.keys(ROUTE_OPTIONS.rows), ...Object.keys(upstreamKeys.rows)].filter(
      (key) => !(key in keys),
    );
    const page = readFileSync(join(import.meta.dir, "../../../docs/kubernetes-policies.md"), "utf8");
    const line = /You cannot set ([^.]*) in a policy/.exec(page)![1]!;
    expect([...line.matchAll(/`(\w+)`/g)].map(([, key]) => key!).sort()).toEqual([...new Set(left)].sort());
  });

  test("names no file, folder or module, and a secret by a Secret alone", () => {
    const named = nodes.filter(([path]) => /(_file|_files|_dir|_folder|_db|module)$/.test(path));
    expect(named.map(([path]) => path)).toEqual([]);
    const secrets = nodes.filter(
      ([path, { type }]) =>
        /(^|[.[\]])(\w*_)?(secret|password|token)$/.test(path) &&
        !/(users|keys)_secret$/.test(path) &&
        type !== "array",
    );
    expect(secrets.length).toBeGreaterThan(2);
    for (const [path, { properties }] of secrets)
      expect([path, Object.keys(properties as object)]).toEqual([path, ["name", "key"]]);
  });

  test("has only expressions that Go reads", () => {
    const patterns = nodes.flatMap(([, { pattern }]) => (pattern === undefined ? [] : [String(pattern)]));
    expect(patterns.length).toBeGreaterThan(5);
    expect(patterns.filter((one) => /\(\?[=!<]|\\[ucpP1-9]/.test(one))).toEqual([]);
  });

  test("takes policies, and refuses those of another form", () => {
    const policy = (keys: object): object => ({
      apiVersion: "edge.dev/v1alpha1",
      kind: "EdgePolicy",
      metadata: { name: "a" },
      spec: { targetRef: { group: "gateway.networking.k8s.io", kind: "HTTPRoute", name: "shop" }, ...keys },
    });
    for (const good of [
      { waf: { mode: "enforce", disabled_rules: ["XSS-001", 942100] }, rate_limit: { requests: 5, window: "1m" } },
      { rate_limit: [{ requests: 5 }, { requests: 100, window: 60, key: "header:X-Tenant" }] },
      { auth: { jwt: { secret: { name: "issuer", key: "hmac" }, issuer: ["https://id.example.com"] } } },
      { cache: { default_ttl: "5m" }, compression: { enabled: false }, bots: { challenge: "all" } },
    ])
      expect([takes(policy(good)), takes.errors ?? null]).toEqual([true, null]);
    for (const bad of [
      { waf: "off" },
      { waf: { mode: "no" } },
      { rate_limit: { requests: 0 } },
      { targetRef: { kind: "Pod" } },
    ])
      expect([bad, takes(policy(bad))]).toEqual([bad, false]);
  });
});
