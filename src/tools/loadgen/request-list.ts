import { readRecorded } from "../replay/recorded-request.ts";

/** Requests of a file that the load generator sends in turn. */
const MAX_LOAD_REQUESTS = 100_000;

/** A benign request that is sent again and again. */
export interface PlannedRequest {
  readonly method: string;
  /** Path and query, as they are sent. */
  readonly path: string;
  /** Names and values beyond those that every request has. */
  readonly fields: readonly (readonly [string, string])[];
  readonly body: string;
}

/** What a benign request may ask for. */
export function isLoadMethod(method: string): boolean {
  return METHOD.test(method) && !/^(CONNECT|TRACE)$/.test(method);
}

/**
 * Reads a file of requests, one a line: `GET /a?b=c`, `/a`, `POST /b {"x":1}`, or an object of JSON with `method`, `path`, `headers`
 * and `body`; or an access log, of which the requests that change nothing are sent. Empty lines and all that begin with `#` are passed
 * over. docs/tools.md#requests-from-a-file
 * @returns the requests in their order, or a text that says which line is wrong
 */
export function readRequests(text: string): readonly PlannedRequest[] | string {
  const requests: PlannedRequest[] = [];
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const written = line.trim();
    if (written === "" || written.startsWith("#")) continue;
    const request = readRequest(written);
    if (request === null) continue;
    if (typeof request === "string") return `line ${i + 1}: ${request}`;
    if (requests.push(request) > MAX_LOAD_REQUESTS) return `more than ${MAX_LOAD_REQUESTS} requests`;
  }
  return requests.length === 0 ? "there is no request in it" : requests;
}

/** @returns null for a line of a log that is not to be sent, a text for a line that is wrong */
function readRequest(line: string): PlannedRequest | string | null {
  const isJson = line.startsWith("{");
  const request = isJson ? fromJson(line) : fromWords(line);
  if (typeof request !== "string" || (isJson && !LOGGED.test(line))) return request;
  const recorded = readRecorded(line);
  if (recorded === "unreadable") return request;
  if (typeof recorded === "string") return null;
  return checked({ method: recorded.method, path: recorded.uri, fields: [], body: "" });
}

/** What JSON lines of access logs have, and requests that are written for the generator have not. */
const LOGGED = /"(?:event|status|logger|DownstreamStatus)" ?:/;

function fromWords(line: string): PlannedRequest | string {
  const [first, behind] = firstWord(line);
  const isPath = first.startsWith("/") || behind === "";
  const [path, rest] = isPath ? [first, behind] : firstWord(behind);
  const method = isPath ? "GET" : first;
  // The version is the generator's: a line that was copied from a request has one.
  const body = /^HTTP\/\d(?:\.\d)?$/.test(rest) ? "" : rest;
  return checked({ method, path, fields: [], body });
}

/** A word, and what follows it behind blanks. */
function firstWord(text: string): [string, string] {
  const end = text.search(/\s/);
  return end < 0 ? [text, ""] : [text.slice(0, end), text.slice(end).trimStart()];
}

function fromJson(line: string): PlannedRequest | string {
  let read: unknown;
  try {
    read = JSON.parse(line);
  } catch {
    return "expected an object of JSON on one line";
  }
  const { method = "GET", path, headers = {}, body = "", ...others } = read as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `${JSON.stringify(unknown)} is none of method, path, headers, body`;
  if (typeof method !== "string" || typeof path !== "string") return "expected texts as method and path";
  if (typeof headers !== "object" || headers === null) return "expected an object of names and values as headers";
  const fields = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return checked({ method, path, fields, body: typeof body === "string" ? body : JSON.stringify(body) });
}

function checked(request: PlannedRequest): PlannedRequest | string {
  if (!isLoadMethod(request.method)) return `expected a method such as GET or POST, found ${shown(request.method)}`;
  if (!/^\/[\x21-\x7e]*$/.test(request.path)) return `expected a path such as /a?b=c, found ${shown(request.path)}`;
  for (const [name, value] of request.fields) {
    if (!METHOD.test(name) || !/^[\t\x20-\x7e]*$/.test(value))
      return `${shown(name)} is no field with a value on one line`;
    if (OWN.has(name.toLowerCase())) return `${shown(name)} is written by the generator itself`;
  }
  return request;
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}

/** A token. RFC 9110 §5.6.2 */
const METHOD = /^[!#$%&'*+.^_`|~\w-]+$/;
const OWN: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "upgrade",
  "te",
  "expect",
]);
