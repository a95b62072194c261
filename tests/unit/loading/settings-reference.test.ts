import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { CONFIG_REFERENCE, ROUTES_REFERENCE } from "../../../src/cli/settings-reference.ts";
import { RouteSchemas } from "../../../src/routes/route-schema.ts";
import { configFile as configSchema } from "../../../src/settings/config-settings.ts";
import { inFolder, load, putFiles } from "./config-case.ts";

type Path = readonly (string | number)[];

interface Leaf {
  readonly path: Path;
  readonly line: number;
  readonly isExample: boolean;
}

/** A reference as plain data, and its values with the lines that they stand in. */
function read(text: string): { readonly root: unknown; readonly leaves: readonly Leaf[] } {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  const lines = text.split("\n");
  const leaves: Leaf[] = [];
  const walk = (node: Node, path: Path): void => {
    if (isMap<{ value: string }, Node>(node)) {
      if (isFreeMap(path)) leaves.push(leafAt(node, path));
      else for (const { key, value } of node.items) walk(value!, [...path, key.value]);
    } else if (isSeq<Node>(node) && !node.items.every((item) => isScalar(item))) {
      for (const [i, item] of node.items.entries()) walk(item, [...path, i]);
    } else leaves.push(leafAt(node, path));
  };
  const leafAt = (node: Node, path: Path): Leaf => {
    const { line } = lineCounter.linePos(node.range![0]);
    return { path, line, isExample: /# e\.g\./.test(lines[line - 1]!) };
  };
  walk(document.contents as Node, []);
  return { root: document.toJS(), leaves };
}

/** Maps with names of the reader's own choice. */
function isFreeMap(path: Path): boolean {
  return ["field_mappings", "users"].includes(String(path.at(-1))) || ["set", "add"].includes(String(path.at(-1)));
}

function without(root: unknown, path: Path): unknown {
  const copy = structuredClone(root);
  let parent = copy as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) parent = parent[step] as Record<string | number, unknown>;
  delete parent[path.at(-1)!];
  return copy;
}

/** Paths of keys that the schema knows, wherever the reference has the section or list that they are in. */
function missingKeys(raw: unknown, parsed: unknown, path: string): string[] {
  if (Array.isArray(raw) && Array.isArray(parsed)) {
    return raw.flatMap((item, i) => missingKeys(item, parsed[i], `${path}[${i}]`));
  }
  if (!isObject(raw) || !isObject(parsed)) return [];
  return Object.keys(parsed).flatMap((key) =>
    key in raw ? missingKeys(raw[key], parsed[key], `${path}.${key}`) : [`${path}.${key}`],
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Left empty by the schema, as the next level may say otherwise. */
const FILLED_IN_LATER = "server.inbound_chunked_mode";
const schemas = RouteSchemas.shared;
const staticRouteSchema = schemas.of("static");
const upstreamRouteSchema = schemas.of("upstream");
const config = read(CONFIG_REFERENCE);
const routes = read(ROUTES_REFERENCE);
const [staticRoute, upstreamRoute] = (routes.root as { routes: unknown[] }).routes;

describe("the reference of config.yaml", () => {
  test("names every key", () => {
    const missing = missingKeys(config.root, v.parse(configSchema, config.root), "");
    // Those of internal_api.auth are the keys of server.auth, which it names.
    const users = missing.filter((key) => key.startsWith(".internal_api.auth."));
    expect(missing.filter((key) => !users.includes(key))).toEqual([]);
    expect(users.filter((key) => !CONFIG_REFERENCE.includes(` ${key.split(".").at(-1)}:`))).toEqual([]);
  });

  test("gives the default of every value that is no example", () => {
    const whole = v.parse(configSchema, config.root);
    const wrong = config.leaves.filter(
      ({ path, isExample }) =>
        !isExample &&
        path.join(".") !== FILLED_IN_LATER &&
        !Bun.deepEquals(v.parse(configSchema, without(config.root, path)), whole),
    );
    expect(wrong.map(({ path, line }) => `line ${line}: ${path.join(".")}`)).toEqual([]);
  });
});

describe("the table for people from nginx", () => {
  const table = readFileSync(join(import.meta.dir, "../../../scripts/examples/coming-from-nginx.md"), "utf8");
  const rows = table.split("\n").filter((line) => line.startsWith("| ") && line.includes("`"));

  test.each(rows.map((row) => row.split(" | ").at(-1)!))("has our keys: %s", (ours) => {
    const words = ours.matchAll(/\b([a-z_0-9]+(?:\.[a-z_0-9]+)*):(?=[ `])|`([a-z]+(?:\.[a-z_]+)+)/g);
    const names = [...words].flatMap(([, key, path]) => (key ?? path!).split("."));
    const unknown = names.filter((name) => !new RegExp(`\\b${name}:`).test(CONFIG_REFERENCE + ROUTES_REFERENCE));
    expect(unknown.filter((name) => !["path", "target"].includes(name))).toEqual([]);
  });
});

describe("the reference of routes.yaml", () => {
  const ofBoth = [
    "cache",
    "compression",
    "rewrite_body",
    "ssi",
    "rate_limit",
    "priority",
    "slo",
    "concurrency",
    "waiting_room",
    "limit_rate",
    "allowed_methods",
    "access_log",
    "cors",
    "security_headers",
    "ip_rules",
    "auth",
    "bots",
    "headers",
    "max_body_bytes",
    "inbound_chunked_mode",
  ];

  test("names every key", () => {
    const ofStatic = missingKeys(staticRoute, v.parse(staticRouteSchema, staticRoute), "");
    expect(ofStatic).toEqual(
      [
        "path",
        "match",
        "listeners",
        "inbound_chunked_mode",
        "max_body_bytes",
        "acme_challenge",
        ...ofBoth.slice(0, 17),
        "waf",
        "errors",
        "maintenance",
        "headers",
        "rewrite.regex",
        "rewrite.to",
      ].map((key) => `.${key}`),
    );
    const ofUpstream = missingKeys(upstreamRoute, v.parse(upstreamRouteSchema, upstreamRoute), "");
    const limits = ["enabled", "window", "burst", "key", "ipv6_prefix", "status", "headers", "scope"].map(
      (key) => `.rate_limit.${key}`,
    );
    const who = [
      "enabled",
      "basic.users",
      "basic.realm",
      "forward",
      "mtls",
      "jwt",
      "api_key",
      "oidc",
      "any",
      "keep_authorization",
    ].map((key) => `.auth.${key}`);
    expect(ofUpstream).toEqual([
      ".path",
      ...limits,
      ...who,
      ".target",
      ".mirrors",
      ".hedge",
      ".rewrite.path",
      ".rewrite_location.enabled",
      ".ai",
    ]);
  });

  test("gives the default of every value that is no example", () => {
    const wrong = routes.leaves.filter(({ path, isExample }) => {
      if (isExample || path.at(-1) === "type") return false;
      const [, index, ...inner] = path;
      const whole = (routes.root as { routes: { type: string }[] }).routes[Number(index)]!;
      const schema: v.GenericSchema = schemas.of(whole.type);
      return !Bun.deepEquals(v.parse(schema, without(whole, inner)), v.parse(schema, whole));
    });
    expect(wrong.map(({ path, line }) => `line ${line}: ${path.join(".")}`)).toEqual([]);
  });

  test("is a file that the gateway takes", () => {
    inFolder((dir) => {
      putFiles(dir);
      for (const page of ["404.html", "sorry.html", "maintenance.html"])
        writeFileSync(join(dir, page), "<p>{status}</p>");
      writeFileSync(join(dir, "users"), "");
      const text = ROUTES_REFERENCE.replace(
        /^ {4}(tls|fastcgi|uwsgi|scgi|access_log|sign):.*\n( {6}.*\n)+|^ {4}(list|listeners): .*\n/gm,
        "",
      )
        .replace(/^ {6}(header|cookie): .*\n/gm, "")
        // Of a canary, beside targets.
        .replace(/^ {6}target: http:\/\/10\.0\.0\.7.*\n/m, "");
      writeFileSync(
        join(dir, "config.yaml"),
        "server: {cache: {enabled: true}, geo: {country_db: country.mmdb, asn_db: asn.mmdb}}\n",
      );
      writeFileSync(join(dir, "shop.conf"), 'SecRule ARGS:q "@streq x" "id:100001,deny"\n');
      writeFileSync(join(dir, "routes.yaml"), text);
      const result = load(dir, {});
      expect(result.ok ? [] : result.faults).toEqual([]);
    });
  });
});
