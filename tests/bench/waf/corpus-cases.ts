import { readFileSync } from "node:fs";
import { gunzipSync, inflateSync } from "node:zlib";
import { percentEncoded, requestBytes, type WafCase } from "./waf-case.ts";

/** A line of the file: a payload with the place that it goes to, or a whole request. */
interface CorpusRow {
  readonly set: string;
  readonly group: string;
  readonly at: string;
  readonly kind: "attack" | "benign" | "cost";
  readonly text?: string;
  readonly b64?: string;
  readonly z?: string;
  readonly w?: number;
  /** Set for a token that is no attack by itself. */
  readonly bare?: boolean | number;
  readonly name?: string;
}

/**
 * The requests of a corpus of lines of JSON, packed with gzip; those of HTTP/2, those that measure time and tokens that are no attack
 * by themselves are left out.
 */
export function corpusCases(file: string): WafCase[] {
  const lines = gunzipSync(readFileSync(file)).toString("utf8").trimEnd().split("\n");
  return lines.flatMap((line): WafCase[] => {
    const row = JSON.parse(line) as CorpusRow;
    if (row.kind === "cost" || row.bare || row.at === "h2") return [];
    const { set, group, kind, w: weight = 1 } = row;
    const bytes = bytesOf(row);
    return [{ set: `corpus: ${set}`, group: group.split("/")[0]!, isAttack: kind === "attack", weight, bytes }];
  });
}

function payloadOf({ text, b64, z }: CorpusRow): Buffer {
  if (text !== undefined) return Buffer.from(text, "utf8");
  return b64 === undefined ? inflateSync(Buffer.from(z!, "base64")) : Buffer.from(b64, "base64");
}

function bytesOf(row: CorpusRow): Uint8Array {
  const payload = payloadOf(row);
  const make = PLACES[row.at];
  if (make === undefined) throw new Error(`the corpus has a place that is not known: ${row.at}`);
  return make(payload, row);
}

const FORM = ["Content-Type", "application/x-www-form-urlencoded"] as const;
const JSON_TYPE = ["Content-Type", "application/json"] as const;
const BOUNDARY = "----WebKitFormBoundary7MA4YWxkTrZu0gW";

const PLACES: Readonly<Record<string, (payload: Buffer, row: CorpusRow) => Uint8Array>> = {
  raw: (payload) => payload,
  query: (payload) =>
    requestBytes(`GET /search?q=${percentEncoded(payload)}&page=1`, [["Referer", "https://www.example.com/"]]),
  path: (payload) => requestBytes(`GET /search/${percentEncoded(payload)}`, []),
  form(payload) {
    const body = `title=Question&body=${percentEncoded(payload).replaceAll("%20", "+")}&submit=Send`;
    return requestBytes("POST /post", [FORM, ["Origin", "https://www.example.com"]], Buffer.from(body));
  },
  json(payload) {
    const body = JSON.stringify({ title: "Question", body: payload.toString("utf8"), tags: ["a", "b"] });
    return requestBytes("POST /api/posts", [JSON_TYPE], Buffer.from(body));
  },
  "json-body": (payload) => requestBytes("POST /api/docs", [JSON_TYPE], payload),
  "xml-body": (payload) => requestBytes("POST /api/docs", [["Content-Type", "application/xml"]], payload),
  cookie: (payload) => requestBytes("GET /", [["Cookie", payload.toString("utf8")]]),
  "user-agent": (payload) => requestBytes("GET /", [["User-Agent", payload.toString("utf8")]]),
  upload(payload, { name = "" }) {
    const part = (head: string) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n`;
    const file = `${part(`name="file"; filename="${name}"`)}Content-Type: application/octet-stream\r\n\r\n`;
    const start = `${part('name="desc"')}\r\nmy file\r\n${file}`;
    const body = Buffer.concat([Buffer.from(start), payload, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
    return requestBytes("POST /upload", [["Content-Type", `multipart/form-data; boundary=${BOUNDARY}`]], body);
  },
};
