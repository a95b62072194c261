import {
  create,
  type DescField,
  type DescMethod,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type JsonWriteOptions,
  type Message,
  type Registry,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { MAX_JSON_DEPTH } from "../../core/limits.ts";
import type { GrpcStatus } from "../../message/grpc-upstream.ts";
import { jsonOfText, takesText } from "../../proto/grpc/field-text.ts";
import { emptyTree, isJsonObject, type JsonTree, treeOf } from "../../proto/grpc/json-text.ts";
import { withExactNumbers } from "../../proto/grpc/long-numbers.ts";
import { bodyType, fieldOf, fieldPath, isHttpBody, takesStream } from "../../proto/grpc/schema.ts";
import { type BytesResponse, type MethodCodec, UndecodableResponse } from "./method-codec.ts";
import { maskPaths, type PatchMask, patchMaskOf } from "./patch-mask.ts";
import { BadInput, type RequestInput } from "./request-input.ts";
import type { TranscoderJson } from "./settings.ts";
import { detailsOf } from "./status-details.ts";

/** Which parts of the messages the bodies are. google/api/http.proto: `body` and `response_body`. */
export interface BodyFields {
  /** `*` for the whole message, a field's name, or "" if the body is not looked at. */
  readonly body: string;
  /** A field of the response, or "" for the whole of it. */
  readonly responseBody: string;
  /** Of the route, upper-case. */
  readonly httpMethod: string;
  readonly json: TranscoderJson;
  /** Whether a `google.api.http` option says so, which knows less of queries. */
  readonly isAuto: boolean;
}

/** Proto3 JSON in front of one method whose schema is known. Path over JSON body over query. docs/transcoder.md#request-fields */
export class SchemaCodec implements MethodCodec {
  readonly contentType = "application/grpc";
  readonly isStreaming: boolean;
  readonly takesStream: boolean;
  readonly bytesOf?: (message: Uint8Array) => BytesResponse;
  private readonly method: DescMethod;
  private readonly registry: Registry;
  private readonly bodies: BodyFields;
  private readonly responseField: DescField | undefined;
  private readonly writing: Partial<JsonWriteOptions>;
  private readonly mask: PatchMask | null;

  constructor(method: DescMethod, registry: Registry, bodies: BodyFields) {
    this.method = method;
    this.registry = registry;
    this.bodies = bodies;
    const { emitDefaults, protoNames, enumNumbers } = bodies.json;
    this.writing = {
      registry,
      alwaysEmitImplicit: emitDefaults,
      useProtoFieldName: protoNames,
      enumAsInteger: enumNumbers,
    };
    this.mask = bodies.httpMethod === "PATCH" ? patchMaskOf(method.input, bodies.body) : null;
    this.isStreaming = method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming";
    this.takesStream = takesStream(method);
    if (isHttpBody(bodyType(method.output, bodies.responseBody || "*"))) this.bytesOf = (bytes) => this.bytesIn(bytes);
    this.responseField = bodies.responseBody === "" ? undefined : fieldOf(method.output, bodies.responseBody);
  }

  encode(input: RequestInput): Uint8Array {
    const { input: type } = this.method;
    try {
      const json = input.hasOddNumbers ? withExactNumbers(type, this.jsonOf(input), this.registry) : this.jsonOf(input);
      const ignoreUnknownFields = this.bodies.json.ignoreUnknown;
      const message = fromJson(type, json, { registry: this.registry, ignoreUnknownFields });
      this.fillMask(message, input.body);
      return toBinary(type, message);
    } catch (error) {
      if (error instanceof BadInput) throw error;
      throw new BadInput(error instanceof Error ? error.message : "the request does not fit the method");
    }
  }

  decode(bytes: Uint8Array): string {
    const json = toJson(this.method.output, this.messageOf(bytes), this.writing);
    const { responseField } = this;
    if (responseField === undefined) return JSON.stringify(json);
    const name = this.bodies.json.protoNames ? responseField.name : responseField.jsonName;
    return JSON.stringify((json as JsonObject)[name] ?? this.emptyValue(responseField));
  }

  /** What stands for a field that a response leaves out because it is empty. */
  private emptyValue(field: DescField): JsonValue {
    if (field.fieldKind === "list") return [];
    if (field.fieldKind === "message") return toJson(field.message, create(field.message), this.writing);
    return field.fieldKind === "map" ? {} : null;
  }

  private bytesIn(bytes: Uint8Array): BytesResponse {
    const message = this.messageOf(bytes) as unknown as Readonly<Record<string, unknown>>;
    const body = (this.responseField === undefined ? message : message[this.responseField.localName]) as
      | Partial<BytesResponse>
      | undefined;
    return { contentType: body?.contentType || "application/octet-stream", data: body?.data ?? NO_BYTES };
  }

  private messageOf(bytes: Uint8Array): Message {
    try {
      return fromBinary(this.method.output, bytes);
    } catch {
      throw new UndecodableResponse("the response is not a message of its type");
    }
  }

  details(status: GrpcStatus): readonly string[] {
    return detailsOf(status, this.registry);
  }

  private jsonOf({ path, query: asked, body }: RequestInput): JsonValue {
    const query = this.bodies.isAuto ? this.unbound(asked) : asked;
    const overlaid = path.length + query.length > 0;
    if (body !== undefined && this.bodies.body === "*" && !isJsonObject(body)) {
      if (body === null && !TAKES_NULL.has(this.method.input.typeName)) throw new BadInput("the body must not be null");
      // Some messages are written as another JSON value, google.protobuf.Value for one.
      if (!overlaid) return body;
      throw new BadInput("the body must be a JSON object");
    }
    const tree = this.treeOf(body);
    for (const [name, values] of grouped(query)) this.place(tree, name, values, false);
    for (const [name, value] of path) this.place(tree, name, [value], true);
    return tree;
  }

  /** Of a PATCH, the names that its body has, unless it says so itself. */
  private fillMask(message: Message, body: JsonValue | undefined): void {
    if (this.mask === null || body === undefined) return;
    const { field, message: resource } = this.mask;
    const request = reflect(this.method.input, message);
    if (!request.isSet(field))
      request.set(field, reflect(field.message, create(field.message, { paths: maskPaths(resource, body) })));
  }

  /** google/api/http.proto: what the body has is not left for the query, and with "*" nothing is. */
  private unbound(query: RequestInput["query"]): RequestInput["query"] {
    const { body } = this.bodies;
    if (body === "") return query;
    const field = body === "*" ? undefined : fieldOf(this.method.input, body);
    return query.filter(([name]) => {
      const first = /^[^.[]*/.exec(name)![0];
      return field !== undefined && first !== field.name && first !== field.jsonName;
    });
  }

  private treeOf(body: JsonValue | undefined): JsonTree {
    const tree = emptyTree();
    if (body === undefined || this.bodies.body === "") return tree;
    if (this.bodies.body === "*") return Object.assign(tree, body) as JsonTree;
    tree[fieldOf(this.method.input, this.bodies.body)!.jsonName] = body;
    return tree;
  }

  /** Whether a name that leads to nothing has an unknown field, in place of going through a field that has none. */
  private isUnknown(name: string): boolean {
    const outer = name.slice(0, Math.max(0, name.lastIndexOf(".")));
    const fields = outer === "" ? [] : fieldPath(this.method.input, outer);
    return typeof fields === "string" || fields.every(({ fieldKind }) => fieldKind === "message");
  }

  /** Puts a text where its field stands. @param overwrites whether it wins over what is there */
  private place(tree: JsonTree, name: string, values: readonly string[], overwrites: boolean): void {
    const entry = /^([^[\]]+)\[(.*)\]$/s.exec(name);
    const fields = fieldPath(this.method.input, entry?.[1] ?? name);
    // What the query has too much may be passed over; a path is checked with the configuration.
    if (typeof fields === "string" && this.bodies.json.ignoreUnknown && this.isUnknown(fields)) return;
    if (typeof fields === "string")
      throw new BadInput(`${this.method.input.typeName} has no field ${JSON.stringify(fields)}`);
    if (fields.length > MAX_JSON_DEPTH) throw new BadInput(`a name goes deeper than ${MAX_JSON_DEPTH} levels`);
    if (entry !== null && fields.at(-1)!.fieldKind !== "map") throw new BadInput(`${entry[1]} is not a map`);
    const last = fields.at(-1)!;
    let holder: JsonTree | null = tree;
    for (const field of fields.slice(0, -1)) {
      holder = innerTree(holder, field);
      if (holder === null) return;
    }
    if (last.fieldKind === "map") placeEntry(holder, last, mapEntry(name, entry, fields.length), values, overwrites);
    else if (overwrites && last.fieldKind === "list") {
      // A path has one place for all of them.
      setField(holder, last, jsonFor(last, name, values[0]!.split(",")));
    } else if (overwrites || keyOf(holder, last) === null) setField(holder, last, jsonFor(last, name, values));
  }
}

const NO_BYTES = new Uint8Array();
/** Messages that null is a value of. */
const TAKES_NULL: ReadonlySet<string> = new Set(["google.protobuf.Value"]);

function jsonFor(field: DescField, name: string, values: readonly string[]): JsonValue {
  if (!takesText(field)) throw new BadInput(`${name} cannot be given as text`);
  if (field.fieldKind === "list") return values.map((value) => jsonOfText(field, value));
  if (values.length > 1) throw new BadInput(`${name} occurs more than once and is not a list`);
  return jsonOfText(field, values[0]!);
}

/** What a name says of a map: `labels.env` and `labels[env]` are the entry `env`. */
interface MapEntry {
  readonly name: string;
  /** Null if the name is that of the map alone. */
  readonly key: string | null;
}

/** @param depth how many fields the name leads through; a further part is the key */
function mapEntry(name: string, bracketed: RegExpExecArray | null, depth: number): MapEntry {
  if (bracketed !== null) return { name: bracketed[1]!, key: bracketed[2]! };
  return { name, key: name.split(".")[depth] ?? null };
}

function placeEntry(
  holder: JsonTree,
  field: DescField,
  { name, key }: MapEntry,
  values: readonly string[],
  overwrites: boolean,
): void {
  const entries = innerTree(holder, field);
  if (key === null || values.length > 1) throw new BadInput(`${name} is a map: give ${name}.key once`);
  if (entries === null || (!overwrites && Object.hasOwn(entries, key))) return;
  entries[key] = jsonOfText(field, values[0]!);
}

/** The object in a field; null if the body has put something else there, which is refused when it is read. */
function innerTree(holder: JsonTree, field: DescField): JsonTree | null {
  const key = keyOf(holder, field) ?? field.jsonName;
  const found = Object.hasOwn(holder, key) ? holder[key] : undefined;
  if (found !== undefined && found !== null && !isJsonObject(found)) return null;
  const inner = treeOf(found);
  holder[key] = inner;
  return inner;
}

/** The name under which a field is in an object; null if it is not. */
function keyOf(holder: JsonTree, field: DescField): string | null {
  if (Object.hasOwn(holder, field.jsonName)) return field.jsonName;
  return Object.hasOwn(holder, field.name) ? field.name : null;
}

function setField(holder: JsonTree, field: DescField, value: JsonValue): void {
  delete holder[field.name];
  holder[field.jsonName] = value;
}

function grouped(query: RequestInput["query"]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [name, value] of query) {
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [value]);
    else group.push(value);
  }
  return groups;
}
