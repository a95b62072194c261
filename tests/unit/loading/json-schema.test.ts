import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import { parse } from "yaml";
import type { Form, FormRows } from "../../../src/config/form.ts";
import { configSchema, routesSchema } from "../../../src/loading/json-schema.ts";
import { ROUTE_FORMAT } from "../../../src/routes/route-format.ts";
import { routeTests } from "../../../src/routes/route-tests.ts";
import { configFile } from "../../../src/settings/config-settings.ts";
import { type ConfigCase, readCases } from "./config-case.ts";

const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, strictTypes: false });
const VALIDATORS = { config: ajv.compile(configSchema()), routes: ajv.compile(routesSchema()) };

/** What the schema has against a file, one line each; nothing where it is in order. */
function faultsOf(file: "config" | "routes", text: string): string[] {
  const validate = VALIDATORS[file];
  if (validate(parse(text, { merge: true }))) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`);
}

const FILES = ["config", "routes"] as const;
const ROOT = join(import.meta.dir, "../../..");
const FAULTY = ["server-faults.yaml", "route-faults.yaml", "mesh-faults.yaml"].flatMap(readCases);

describe("the JSON Schema takes", () => {
  test.each(FILES)("%s.yaml as it is shipped", (file) => {
    expect(faultsOf(file, readFileSync(join(ROOT, `${file}.yaml`), "utf8"))).toEqual([]);
  });

  test.each(readCases("good.yaml"))("$name", (one: ConfigCase) => {
    for (const file of FILES) if (one[file] !== undefined) expect(faultsOf(file, one[file]!)).toEqual([]);
  });

  test("routes with tests below them", () => {
    const text = `routes: [{type: respond, path: /x, body: a, status: 200}]
tests:
  - request: get /x
    headers: {Host: a.test, X-Number: 5}
    client_ip: 192.0.2.1
    expect: {status: 200, header: {X-A: true, X-B: 1}}`;
    expect(faultsOf("routes", text)).toEqual([]);
    expect(faultsOf("routes", text.replace("status: 200, header", "state: 200, header"))).not.toEqual([]);
    expect(faultsOf("routes", text.replace("request: get /x", "request: 5"))).not.toEqual([]);
  });

  test("a variable wherever there is a scalar", () => {
    const text = "server: {port: '${PORT:-80}', idle_timeout: '${T}s', waf: {enabled: '${WAF}', mode: '${MODE}'}}";
    expect(faultsOf("config", text)).toEqual([]);
  });
});

test("says what several types of routes have in common once", () => {
  const schema = routesSchema();
  expect(JSON.stringify(schema, null, 2).length).toBeLessThan(258_000);
  const definitions = schema.$defs as Record<string, unknown>;
  const text = JSON.stringify(schema);
  for (const name of Object.keys(definitions)) expect([name, text.includes(`"#/$defs/${name}"`)]).toEqual([name, true]);
  // By the name of the key, for those who read it.
  expect(Object.keys(definitions)).toEqual(expect.arrayContaining(["headers", "match", "ip_rules"]));
});

test("says of every key what it is for", () => {
  for (const schema of [configSchema(), routesSchema()]) {
    const keys: string[] = [];
    const bare: string[] = [];
    const look = (part: unknown, path: string): void => {
      if (typeof part !== "object" || part === null) return;
      for (const [key, value] of Object.entries(part)) {
        look(value, `${path}/${key}`);
        if (key !== "properties" || Array.isArray(part) || path.endsWith("/properties")) continue;
        for (const [name, found] of Object.entries(value as Record<string, { description?: string; $ref?: string }>)) {
          const one = found.$ref === undefined ? found : definitionOf(schema, found.$ref);
          keys.push(name);
          if ((one.description ?? "").length < MIN_DESCRIPTION) bare.push(`${path}/${name}`);
        }
      }
    };
    look(schema, "");
    expect(keys.length).toBeGreaterThan(400);
    expect(bare).toEqual([]);
  }
});

function definitionOf(schema: object, ref: string): { description?: string } {
  return (schema as { $defs: Record<string, { description?: string }> }).$defs[ref.slice("#/$defs/".length)]!;
}

const MIN_DESCRIPTION = 8;

/** Faults that a schema can see: keys that are not there, and values of another kind. */
const VISIBLE =
  /: (unknown key|missing: |expected (a section|a list|a whole number|a number|true or false|a duration|a size|a port|[\w.-]+(, [\w.-]+)* or [\w.-]+, found)\b)/;
/** Texts with faults of YAML itself, of which nothing can be read. */
const isReadable = (text: string): boolean => {
  try {
    parse(text, { merge: true });
    return true;
  } catch {
    return false;
  }
};

describe("the JSON Schema refuses", () => {
  const cases = FAULTY.flatMap((one) => {
    const file = one.faults?.find((line) => VISIBLE.test(line))?.startsWith("routes") ? "routes" : "config";
    const isSeen = one.faults?.some((line) => VISIBLE.test(line)) === true;
    return isSeen && isReadable(one[file] ?? "") ? [[one.name, file, one[file] ?? ""] as const] : [];
  });

  test("many of the faults that the gateway names", () => expect(cases.length).toBeGreaterThan(40));

  test.each(cases)("%s", (_name, file, text) => {
    expect(faultsOf(file, text)).not.toEqual([]);
  });
});

describe("every key says what may be written there", () => {
  const place = Object.values(ROUTE_FORMAT.types).flatMap(({ keys }) => Object.entries(keys.rows));
  const all: FormRows = { ...configFile.rows, ...ROUTE_FORMAT.options.rows, ...Object.fromEntries(place) };

  test("so that the schema can check it: give its piece() a form", () => {
    expect([...unsaid(all, ""), ...unsaidIn(routeTests.form, "tests")]).toEqual([]);
  });
});

/** Paths of the keys whose kind takes anything, as far as its form says. */
function unsaid(rows: FormRows, prefix: string): string[] {
  return Object.entries(rows).flatMap(([key, { type }]) => unsaidIn(type.form, prefix + key));
}

function unsaidIn(form: Form, path: string): string[] {
  switch (form.is) {
    case "anything":
      return [path];
    case "section":
      return unsaid(form.rows, `${path}.`);
    case "list":
      return unsaidIn(form.item, `${path}[]`);
    case "map":
      return unsaidIn(form.value, `${path}.*`);
    case "either":
      return form.forms.flatMap((one) => unsaidIn(one, path));
    default:
      return [];
  }
}
