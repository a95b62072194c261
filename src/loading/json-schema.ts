import type { Form, FormRow, FormRows } from "../config/form.ts";
import { routeMaps } from "../features/maps/settings.ts";
import { ROUTE_FORMAT } from "../routes/route-format.ts";
import { routePlace } from "../routes/route-schema.ts";
import { routeTests } from "../routes/route-tests.ts";
import { configFile } from "../settings/config-settings.ts";

/** A JSON Schema, or a part of one. JSON Schema 2020-12 */
export type JsonSchema = Readonly<Record<string, unknown>>;

// The schemas say what an editor can check in a file: keys, kinds of values, words, bounds. Rules between keys and
// what looks into files are with `edge check` alone. docs/tools.md#edge-schema

/** The schema of config.yaml. */
export function configSchema(): JsonSchema {
  return documentOf("config.yaml", { ...sectionSchema(configFile.rows), patternProperties: EXTENSIONS });
}

/** The schema of routes.yaml. */
export function routesSchema(): JsonSchema {
  const { types, options, streams } = ROUTE_FORMAT;
  const entryOf = (name: string, doc: string, rows: FormRows): JsonSchema => {
    const { properties, ...section } = sectionSchema(rows);
    const type = { const: name, description: doc };
    return { ...section, properties: { type, ...(properties as JsonSchema) }, required: ["type"] };
  };
  const entries = Object.entries(types).map(([name, { keys, help }]) => {
    const { type: _, ...place } = routePlace.rows;
    return entryOf(name, help.doc, { ...place, ...keys.rows, ...options.rows });
  });
  const others = Object.entries(streams).map(([name, { keys, doc }]) => entryOf(name, doc, keys.rows));
  const list = { type: "array", items: { $ref: "#/$defs/entry" } };
  const section = {
    type: "object",
    properties: {
      routes: { ...orNothing(list), description: "the routes, and streams" },
      maps: keySchema({ type: routeMaps, doc: "values of requests by others: {map.NAME}" }),
      tests: keySchema({ type: routeTests, doc: "run by edge check" }),
    },
    patternProperties: EXTENSIONS,
    additionalProperties: false,
  };
  return documentOf("routes.yaml", { anyOf: [list, section] }, { entry: { anyOf: [...entries, ...others] } });
}

/** @param parts of the document, by the names by which it refers to them */
function documentOf(title: string, root: JsonSchema, parts: JsonSchema = {}): JsonSchema {
  const shared = new SharedKeys({ root, parts }, Object.keys(parts));
  const { anyOf: forms, ...others } = shared.of(root) as JsonSchema;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: `edge ${title}`,
    ...(forms === undefined ? {} : { anyOf: forms }),
    ...others,
    $defs: { ...DEFINITIONS, ...(shared.of(parts) as JsonSchema), ...shared.definitions },
  };
}

/** What keys of one name say alike in several places, such as those that all types of routes have: each once, by its name. */
class SharedKeys {
  readonly definitions: Record<string, unknown> = {};
  /** How often each key is there with each schema. */
  private readonly counts: Map<string, number> = new Map();
  /** Names of definitions by key and schema. */
  private readonly names: Map<string, string> = new Map();

  private readonly taken: ReadonlySet<string>;

  /** @param taken names of other definitions */
  constructor(root: JsonSchema, taken: readonly string[]) {
    this.taken = new Set([...Object.keys(DEFINITIONS), ...taken]);
    this.count(root);
  }

  /** A part of the schema with references in place of what is there more than once. */
  of(part: unknown): unknown {
    if (Array.isArray(part)) return part.map((one) => this.of(one));
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(
      Object.entries(part).map(([key, value]) => [key, key === "properties" ? this.ofKeys(value) : this.of(value)]),
    );
  }

  private ofKeys(keys: JsonSchema): JsonSchema {
    return Object.fromEntries(Object.entries(keys).map(([key, schema]) => [key, this.ofKey(key, schema)]));
  }

  private ofKey(key: string, schema: unknown): unknown {
    const id = idOf(key, schema);
    if (id.length < MIN_SHARED_CHARS || this.counts.get(id)! < 2) return this.of(schema);
    let name = this.names.get(id);
    if (name === undefined) {
      name = this.freeName(key);
      this.names.set(id, name);
      // The place is taken before its content is read.
      this.definitions[name] = null;
      this.definitions[name] = this.of(schema);
    }
    return { $ref: `#/$defs/${name}` };
  }

  private freeName(key: string): string {
    let name = key;
    for (let i = 2; name in this.definitions || this.taken.has(name); i++) name = `${key}-${i}`;
    return name;
  }

  private count(part: unknown): void {
    if (typeof part !== "object" || part === null) return;
    for (const [key, value] of Object.entries(part)) {
      if (key === "properties" && !Array.isArray(part)) {
        for (const [name, schema] of Object.entries(value as JsonSchema)) {
          const id = idOf(name, schema);
          this.counts.set(id, (this.counts.get(id) ?? 0) + 1);
        }
      }
      this.count(value);
    }
  }
}

function idOf(key: string, schema: unknown): string {
  return `${key} ${JSON.stringify(schema)}`;
}

function sectionSchema(rows: FormRows): JsonSchema {
  const required = Object.entries(rows).flatMap(([key, row]) => (row.required === undefined ? [] : [key]));
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(rows).map(([key, row]) => [key, keySchema(row)])),
    additionalProperties: false,
    ...(required.length === 0 ? {} : { required }),
  };
}

function keySchema({ type, example, required, ...row }: FormRow): JsonSchema {
  const schema = schemaOf(type.form);
  // Of a key that must be there, the row says what belongs there.
  const doc = row.doc ?? required;
  return {
    ...(required === undefined ? orNothing(schema) : schema),
    ...(doc === undefined ? {} : { description: doc }),
    ...("default" in row ? { default: row.default } : {}),
    ...(example === undefined ? {} : { examples: [example] }),
  };
}

/** A key without a value is as one that is absent. */
function orNothing(schema: JsonSchema): JsonSchema {
  return anyOf(schema, { type: "null" });
}

function schemaOf(form: Form): JsonSchema {
  switch (form.is) {
    case "section": {
      const section = sectionSchema(form.rows);
      return form.isSwitch ? anyOf(section, { $ref: "#/$defs/flag" }) : section;
    }
    case "list": {
      const item = schemaOf(form.item);
      const list = { type: "array", items: item };
      return form.orOne ? anyOf(list, item) : list;
    }
    case "map":
      return { type: "object", additionalProperties: schemaOf(form.value) };
    case "either":
      return anyOf(...form.forms.map(schemaOf));
    case "anything":
      return {};
    default:
      return anyOf(...scalarSchemas(form), VARIABLE);
  }
}

/** One of these, in one list and each once; any text covers variables. */
function anyOf(...schemas: readonly JsonSchema[]): JsonSchema {
  const flat = schemas.flatMap((schema) => (schema.anyOf as readonly JsonSchema[] | undefined) ?? [schema]);
  const byText = new Map(flat.map((schema) => [JSON.stringify(schema), schema]));
  if (byText.has(JSON.stringify(ANY_TEXT))) byText.delete(JSON.stringify(VARIABLE));
  const [only, ...more] = byText.values();
  return more.length === 0 ? only! : { anyOf: [only, ...more] };
}

type Scalar = Exclude<Form, { readonly is: "section" | "list" | "map" | "either" | "anything" }>;

/** A value may be written in several ways, such as a number in digits of a text. */
function scalarSchemas(form: Scalar): readonly JsonSchema[] {
  switch (form.is) {
    case "integer":
    case "number":
      return [{ type: form.is, ...boundsOf(form, 1) }, { $ref: "#/$defs/digits" }];
    case "duration":
      return [{ $ref: "#/$defs/duration" }, { type: "number", ...boundsOf(form, 1000) }];
    case "size":
      return [{ $ref: "#/$defs/size" }, { type: "integer", ...boundsOf(form, 1) }];
    case "word":
      return [{ enum: form.words.flatMap((word) => (NUMBER.test(word) ? [word, Number(word)] : [word])) }];
    case "flag":
    case "percent":
      return [{ $ref: `#/$defs/${form.is}` }];
    case "text":
      return [{ type: "string", ...(form.pattern === undefined ? {} : { pattern: patternOf(form.pattern) }) }];
  }
}

/** @param divisor what the bounds are divided by to be those of a bare number */
function boundsOf({ min, max }: { readonly min: number; readonly max: number }, divisor: number): JsonSchema {
  return {
    ...(min > -Number.MAX_SAFE_INTEGER ? { minimum: min / divisor } : {}),
    ...(max < Number.MAX_SAFE_INTEGER ? { maximum: max / divisor } : {}),
  };
}

/** edge trims texts before it checks them; letters of either case are written out, since a schema has no flags. */
function patternOf({ source, flags }: RegExp): string {
  const [group, groupEnd] = [source.indexOf("("), source.lastIndexOf(")") + 1];
  const outside = group < 0 || groupEnd < group ? source : source.slice(0, group) + source.slice(groupEnd);
  const isWhole = source.startsWith("^") && source.endsWith("$") && !/[^\\]\|/.test(outside);
  const trimmed = isWhole ? `^\\s*(?:${source.slice(1, -1)})\\s*$` : source;
  return flags.includes("i") ? trimmed.replace(/\[[^[\]]*\]|\\?[a-z]/gi, bothCases) : trimmed;
}

/** A set, and a letter that is escaped, stay as they are. */
function bothCases(part: string): string {
  return part.length > 1 ? part : `[${part.toLowerCase()}${part.toUpperCase()}]`;
}

/** Below that a reference is hardly shorter. */
const MIN_SHARED_CHARS = 80;
const ANY_TEXT: JsonSchema = { type: "string" };
const VARIABLE: JsonSchema = { $ref: "#/$defs/variable" };
const NUMBER = /^\d+(\.\d+)?$/;
/** Keys at the top of a file that hold anchors. docs/configuration.md#values */
const EXTENSIONS: JsonSchema = { "^x-": {} };
const DEFINITIONS: JsonSchema = {
  variable: {
    description: "read from the environment: ${NAME} or ${NAME:-default}",
    type: "string",
    pattern: "\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}",
  },
  digits: { type: "string", pattern: "^-?(0|[1-9]\\d*)(\\.\\d+)?$" },
  flag: { enum: [true, false, "true", "false"] },
  duration: {
    description: "500ms, 60s, 1m30s, 2h, 1d, or seconds",
    type: "string",
    pattern: "^\\s*(?:0|[1-9]\\d*|(?=\\d)(?:\\d+d)?(?:\\d+h)?(?:\\d+m(?!s))?(?:\\d+s)?(?:\\d+ms)?)\\s*$",
  },
  size: {
    description: "512KiB, 4MiB, 1GiB, 4MB, or bytes",
    type: "string",
    pattern: "^\\s*-?(?:0|[1-9]\\d*|\\d+ ?(?:[bB]|[kKmMgGtT][iI]?[bB]))\\s*$",
  },
  percent: { description: "12.5%", type: "string", pattern: "^\\s*\\d{1,3}(?:\\.\\d{1,3})? ?%\\s*$" },
};
