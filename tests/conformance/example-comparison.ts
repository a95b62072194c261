import type { JsonValue } from "@bufbuild/protobuf";
import type { Fields } from "../harness/http-message.ts";
import { exchangeOnce, type Reply, request } from "../harness/raw-client.ts";
import type { ExampleRequest } from "./example-requests.ts";

/** What a gateway made of a request, in words that both have: see `outcomeOf`. */
export interface Outcome {
  readonly status: number;
  readonly type: string;
  readonly body: JsonValue;
  readonly metadata: Readonly<Record<string, string>>;
  /** The item that the request was about, afterwards. */
  readonly item: JsonValue;
}

/** Sends a request to one of the two. @param reference the port of grpc-gateway, where items are made and looked up */
export async function ask(port: number, reference: number, [line, body, ...lines]: ExampleRequest): Promise<Outcome> {
  const uuid = line.includes("{uuid}") ? await makeItem(reference) : "";
  const bytes = body === undefined ? undefined : Buffer.from(body, "utf8");
  const fields = [...lines];
  if (bytes !== undefined && !lines.some((one) => one.startsWith("Content-Type")))
    fields.push("Content-Type: application/json");
  // Of a stream, what grpc-gateway always writes is asked for.
  if (/\/stream|\/echo(_duration)?$/.test(line)) fields.push("Accept: application/x-ndjson");
  const start = line.replace("{uuid}", uuid);
  const reply = await exchangeOnce(port, request(start, fields, bytes));
  const item = uuid === "" ? null : jsonOf((await exchangeOnce(reference, request(`GET ${ITEMS}/${uuid}`))).text);
  return masked(uuid, { ...outcomeOf(reply, port === reference), item });
}

async function makeItem(reference: number): Promise<string> {
  const item = Buffer.from('{"stringValue":"rabbit","int32Value":42,"singleNested":{"name":"n","amount":345}}');
  const reply = await exchangeOnce(reference, request(`POST ${ITEMS}`, ["Content-Type: application/json"], item));
  return (JSON.parse(reply.text) as { readonly uuid: string }).uuid;
}

/**
 * The response without what each has of its own, which docs/transcoder.md#beside-grpc-gateway names: the prefix of metadata, `null` for messages that
 * are not there, `result` around what a stream gives, the texts of their own refusals.
 */
function outcomeOf(reply: Reply, isReference: boolean): Omit<Outcome, "item"> {
  const type = reply.fields.get("content-type")?.split(";")[0] ?? "";
  const isOwnText = type !== "application/json" && type !== "application/x-ndjson";
  const lines = reply.text.trim().split("\n");
  const isStream = type === "application/x-ndjson" || (isReference && /^\{"(result|error)":/.test(reply.text));
  const body = isStream
    ? lines.map((line) => resultOf(jsonOf(line), isReference))
    : isOwnText
      ? reply.text
      : jsonOf(reply.text);
  const metadata = {
    ...metadataOf(reply.fields, isReference, "grpc-metadata-"),
    ...metadataOf(reply.trailers, true, "grpc-trailer-"),
  };
  return {
    status: reply.status,
    type: isStream ? "application/x-ndjson" : type,
    body: withoutTexts(bare(body)),
    metadata,
  };
}

function resultOf(line: JsonValue, isReference: boolean): JsonValue {
  const record = line as { readonly result?: JsonValue };
  return isReference && record.result !== undefined ? record.result : line;
}

/** The metadata that the examples' server sends. */
function metadataOf(fields: Fields, hasPrefix: boolean, prefix: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of ["foo", "bar", "uuid", "count", "allow", "seen"]) {
    const value = fields.get(hasPrefix ? prefix + name : name);
    if (value !== undefined && value !== null)
      found[prefix === "grpc-trailer-" ? `trailer ${name}` : name] =
        name === "seen" ? JSON.stringify(jsonOf(value)) : value;
  }
  return found;
}

/** Members that are null are not there, and masks have no order. */
function bare(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, one]) => one !== null);
  const sorted = (name: string, one: JsonValue) =>
    name === "updateMask" ? String(one).split(",").sort().join() : bare(one);
  return Object.fromEntries(kept.map(([name, one]) => [name, sorted(name, one)]));
}

function withoutTexts(body: JsonValue): JsonValue {
  const error = body as { readonly code?: number; readonly message?: string };
  return typeof body === "object" && (error?.code === 3 || error?.code === 4) && error.message !== "error"
    ? { ...error, message: "" }
    : body;
}

function jsonOf(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

/** Each item has a name of its own. */
function masked(uuid: string, outcome: Outcome): Outcome {
  const text = JSON.stringify(outcome).replaceAll(/("uuid":)"[0-9a-f]{48}"/g, '$1"UUID"');
  return JSON.parse(uuid === "" ? text : text.replaceAll(uuid, "UUID")) as Outcome;
}

const ITEMS = "/v1/example/a_bit_of_everything";
