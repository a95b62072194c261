import { TopMembers } from "./top-members.ts";

/** What a request to a language model asks for. */
interface ModelRequest {
  readonly model: string;
  /** The body with another model in it, or as it is. @param model null leaves it @param countsStream whether a stream is to end with its usage */
  body(model: string | null, countsStream: boolean): Uint8Array;
}

/** Reads the body of a request. @returns why it cannot be taken, in words for the client */
export function readModelRequest(bytes: Uint8Array): ModelRequest | string {
  const request = parsed(bytes);
  if (typeof request !== "object" || request === null || Array.isArray(request))
    return "the body is not a JSON object in UTF-8";
  const members = new TopMembers(["model", "stream", "stream_options"]);
  members.feed(bytes, 0, bytes.length);
  for (const name of ["model", "stream", "stream_options"] as const) {
    // Readers differ in which of two members they take, and some take names in any case.
    const count = members.get(name)?.count ?? 0;
    if (count !== (name in request ? 1 : 0)) return `the member ${name} is there twice, or in capitals`;
  }
  const { model, stream, stream_options: options } = request as Record<string, unknown>;
  if (typeof model !== "string" || model === "") return "you must provide a model parameter";
  const place = members.get("model")!;
  return {
    model,
    body(other, countsStream) {
      const asksUsage = countsStream && stream === true;
      const edits: Edit[] = other === null ? [] : [{ ...place, text: JSON.stringify(other) }];
      const given = members.get("stream_options");
      if (asksUsage && given === undefined)
        edits.push({ from: place.to, to: place.to, text: ',"stream_options":{"include_usage":true}' });
      else if (asksUsage && given !== undefined && isObjectOrNull(options))
        edits.push({ ...given, text: JSON.stringify({ ...options, include_usage: true }) });
      return edits.length === 0 ? bytes : edited(bytes, edits);
    },
  };
}

/** Other text in the place of a part. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function edited(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  const parts: Uint8Array[] = [];
  let at = 0;
  // Of two at one place the earlier stays the first.
  for (const { from, to, text } of edits.toSorted((one, other) => one.from - other.from)) {
    parts.push(bytes.subarray(at, from), Buffer.from(text));
    at = to;
  }
  return Buffer.concat([...parts, bytes.subarray(at)]);
}

function isObjectOrNull(value: unknown): value is object | null {
  return typeof value === "object" && !Array.isArray(value);
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(UTF8.decode(bytes));
  } catch {
    return undefined;
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
