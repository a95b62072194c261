import type { JsonValue } from "@bufbuild/protobuf";
import { MAX_JSON_DEPTH } from "../../core/limits.ts";
import type { GrpcStatus } from "../../message/grpc-upstream.ts";
import { emptyTree, isJsonObject, type JsonTree, treeOf } from "../../proto/grpc/json-text.ts";
import { type MethodCodec, UndecodableResponse } from "./method-codec.ts";
import { BadInput, type FieldText, type RequestInput } from "./request-input.ts";
import { detailsOf } from "./status-details.ts";

/**
 * If there is no schema: the fields go as a JSON object, and the response comes as JSON, as `application/grpc+json`.
 * docs/transcoder.md#schema. All that path and query give are texts.
 */
export class JsonCodec implements MethodCodec {
  readonly contentType = "application/grpc+json";
  readonly isStreaming = null;
  readonly takesStream = null;

  encode({ path, query, body }: RequestInput): Uint8Array {
    const tree = emptyTree();
    if (body !== undefined) {
      if (!isJsonObject(body)) throw new BadInput("the body must be a JSON object");
      for (const name of Object.keys(body)) define(tree, name, body[name]!);
    }
    const asked = emptyTree();
    for (const [name, value] of query) addText(asked, name, value);
    fillIn(tree, asked);
    for (const [name, value] of path) setText(tree, name, value);
    return Buffer.from(JSON.stringify(tree), "utf8");
  }

  decode(message: Uint8Array): string {
    try {
      const text = UTF8.decode(message);
      // As it came: numbers beyond 2^53 stay what they are. In one line, which is a record: in valid JSON line breaks stand
      // between tokens only.
      JSON.parse(text);
      return text.replace(LINE_BREAKS, " ");
    } catch {
      throw new UndecodableResponse("the gRPC message is not JSON");
    }
  }

  details(status: GrpcStatus): readonly string[] {
    return detailsOf(status, null);
  }
}

/** Adds what the query gives; a name that came before becomes a list. */
function addText(tree: JsonTree, name: string, value: string): void {
  const [holder, last] = placeOf(tree, name);
  const found = holder[last];
  if (found === undefined) define(holder, last, value);
  else if (Array.isArray(found)) found.push(value);
  else define(holder, last, [found, value]);
}

function setText(tree: JsonTree, name: string, value: string): void {
  const [holder, last] = placeOf(tree, name);
  define(holder, last, value);
}

/** The object that holds the last part of a dotted name, made if it is not there. */
function placeOf(tree: JsonTree, name: FieldText[0]): [holder: JsonTree, last: string] {
  const parts = name.split(".");
  if (parts.length > MAX_JSON_DEPTH) throw new BadInput(`a name goes deeper than ${MAX_JSON_DEPTH} levels`);
  const last = parts.pop()!;
  let holder = tree;
  for (const part of parts) {
    const inner = treeOf(Object.hasOwn(holder, part) ? holder[part] : undefined);
    define(holder, part, inner);
    holder = inner;
  }
  return [holder, last];
}

/** What the body has said stays. */
function fillIn(tree: JsonTree, asked: JsonTree): void {
  for (const name of Object.keys(asked)) {
    const value = asked[name]!;
    const found = Object.hasOwn(tree, name) ? tree[name] : undefined;
    if (found === undefined) define(tree, name, value);
    else if (isJsonObject(found) && isJsonObject(value)) {
      const inner = treeOf(found);
      define(tree, name, inner);
      fillIn(inner, value as JsonTree);
    }
  }
}

/** Also where the name is `__proto__`. */
function define(tree: JsonTree, name: string, value: JsonValue): void {
  Object.defineProperty(tree, name, { value, writable: true, enumerable: true, configurable: true });
}

const LINE_BREAKS = /[\r\n]+/g;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
