/** A request as a line of an access log has it. */
export interface RecordedRequest {
  readonly method: string;
  /** Path and query, as they were received. */
  readonly uri: string;
  /** As the client said it; "" if the log does not tell. */
  readonly host: string;
  /** Of the response that was logged; 0 if the line does not tell. */
  readonly status: number;
}

/** Why a line is no request that can be sent again. */
type Skipped = "method" | "unreadable" | "event";

/** The methods that change nothing: RFC 9110 §9.2.1. Only these are sent. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Reads a line of an access log: JSON lines of the gateway, Caddy and Traefik, common and combined (of nginx, Apache, Traefik and others),
 * `option httplog` of HAProxy. docs/tools.md#replay
 * @returns the request, or why there is none; "event" is another line of the gateway's log
 */
export function readRecorded(line: string): RecordedRequest | Skipped {
  const read = line.startsWith("{") ? fromJson(line) : fromText(line);
  if (typeof read === "string") return read;
  const found = inOriginForm(read);
  if (!SAFE_METHODS.has(found.method)) return "method";
  // What no line of a request can hold was refused when it came, or is a line that was made up.
  return /^(\/[\x21-\x7e]*|\*)$/.test(found.uri) && /^[\w.:[\]-]*$/.test(found.host) ? found : "unreadable";
}

function fromJson(line: string): RecordedRequest | Skipped {
  let value: Readonly<Record<string, unknown>>;
  try {
    value = JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return "unreadable";
  }
  const { event, method, path, query, host, status, logger, request } = value;
  if (typeof logger === "string") return fromCaddy(request, status);
  if (value.RequestMethod !== undefined) return fromTraefik(value);
  if (event !== undefined && event !== "access") return "event";
  if (typeof method !== "string" || typeof path !== "string") return "unreadable";
  return {
    method,
    uri: typeof query === "string" && query !== "" ? `${path}?${query}` : path,
    host: typeof host === "string" ? host : "",
    status: Number(status) || 0,
  };
}

/** A line of Caddy's logger: one about a request has it as an object. */
function fromCaddy(request: unknown, status: unknown): RecordedRequest | Skipped {
  if (typeof request !== "object" || request === null) return "event";
  const { method, host, uri } = request as Readonly<Record<string, unknown>>;
  if (typeof method !== "string" || typeof uri !== "string") return "unreadable";
  return { method, uri, host: typeof host === "string" ? host : "", status: Number(status) || 0 };
}

function fromTraefik(value: Readonly<Record<string, unknown>>): RecordedRequest | Skipped {
  const { RequestMethod: method, RequestPath: uri, RequestAddr: host, DownstreamStatus: status } = value;
  if (typeof method !== "string" || typeof uri !== "string") return "unreadable";
  return { method, uri, host: typeof host === "string" ? host : "", status: Number(status) || 0 };
}

/** A target in absolute form, as HAProxy notes those of HTTP/2, by its host and its path. RFC 9112 §3.2.2 */
function inOriginForm(found: RecordedRequest): RecordedRequest {
  const [, host, uri = ""] = /^https?:\/\/([\w.:[\]-]+)(\/.*|\?.*|)$/i.exec(found.uri) ?? [];
  return host === undefined ? found : { ...found, host, uri: uri.startsWith("/") ? uri : `/${uri}` };
}

function fromText(line: string): RecordedRequest | Skipped {
  const head = HAPROXY.exec(line);
  const [, request, end] = head === null ? [] : line.slice(head.index + head[0].length).split('"', 3);
  if (request === undefined || end === undefined) return fromCommon(line);
  const status = head![1]!;
  const words = REQUEST_LINE.exec(request);
  return words === null
    ? "unreadable"
    : { method: words[1]!, uri: words[2]!, host: "", status: Math.max(0, Number(status)) };
}

/** `address [time] frontend backend/server 10/0/30/69/109 200 2750 … "GET /x HTTP/1.1"`: up to what stands before the request */
const HAPROXY = /\[[^[\]]*\] \S+ \S+ [\d+/-]+ (\d{3}|-1) \+?\d+ /;
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+)(?: HTTP\/[\d.]+)?$/;

/** `address - user [time] "GET /x HTTP/1.1" 200 12 …`; a name of a virtual host in front is Host. */
function fromCommon(line: string): RecordedRequest | Skipped {
  const parts = COMMON.exec(line);
  if (parts === null) return "unreadable";
  const [, first = "", request = "", status = ""] = parts;
  const words = REQUEST_LINE.exec(request.replace(/\\"/g, '"'));
  if (words === null) return "unreadable";
  const host = /^([a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?) \S+ \S+ \S+$/i.exec(first.trim())?.[1] ?? "";
  return { method: words[1]!, uri: words[2]!, host: host.replace(/:(80|443)$/, ""), status: Number(status) || 0 };
}

const COMMON = /^((?:\S+ )+?)\[[^[\]]*\] "((?:\\.|[^"\\])*)" (\d{3}|-)(?: |$)/;
