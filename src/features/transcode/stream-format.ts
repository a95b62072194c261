import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";

/** How a stream of messages is written. docs/transcoder.md#responses */
export interface StreamFormat {
  readonly contentType: string;
  readonly opening: string;
  /** Before the JSON of the first record, of each other one, and after each. */
  readonly beforeFirst: string;
  readonly before: string;
  readonly after: string;
  /** After the last record of a stream that ended well. */
  readonly closing: string;
  /** The last record of a stream that did not, or null if the format has none: then the response is cut. */
  error(json: string): string | null;
}

const JSON_ARRAY: StreamFormat = {
  contentType: "application/json",
  opening: "[",
  beforeFirst: "",
  before: ",",
  after: "",
  closing: "]",
  error: () => null,
};

const NDJSON: StreamFormat = {
  contentType: "application/x-ndjson",
  opening: "",
  beforeFirst: "",
  before: "",
  after: "\n",
  closing: "",
  error: (json) => `{"error":${json}}\n`,
};

const EVENTS: StreamFormat = {
  contentType: "text/event-stream",
  opening: "",
  beforeFirst: "data: ",
  before: "data: ",
  after: "\n\n",
  closing: "",
  error: (json) => `event: error\ndata: ${json}\n\n`,
};

/** Bodies as they are: nothing is between them, and a failure cuts the response. */
export const PLAIN_BYTES: StreamFormat = {
  contentType: "application/octet-stream",
  opening: "",
  beforeFirst: "",
  before: "",
  after: "",
  closing: "",
  error: () => null,
};

/** The format that the client's Accept asks for; a JSON array if it asks for none of the others. */
export function streamFormatOf(ex: Exchange): StreamFormat {
  const { headers } = ex.request;
  let accept = "";
  for (let i = headers.find(HeaderId.Accept); i >= 0; i = headers.find(HeaderId.Accept, i + 1)) {
    accept += `${headers.valueText(i).toLowerCase()},`;
  }
  const types = accept.split(",").map((part) => part.split(";", 1)[0]!.trim());
  if (types.includes("text/event-stream")) return EVENTS;
  return types.some((type) => NDJSON_TYPES.includes(type)) ? NDJSON : JSON_ARRAY;
}

/** Whether a format is asked for that only streams have. */
export function isStreamOnly(format: StreamFormat): boolean {
  return format !== JSON_ARRAY;
}

const NDJSON_TYPES: readonly string[] = ["application/x-ndjson", "application/ndjson", "application/jsonl"];
