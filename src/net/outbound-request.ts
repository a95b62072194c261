import { isThisMachine } from "../core/ip-address.ts";
import { LineJoiner } from "../core/line-joiner.ts";
import { plainLine } from "../core/printable.ts";

/** One request of the gateway's own, with its bounds. */
interface OutboundRequest {
  readonly url: string;
  /** GET without it. */
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Whom to trust over TLS, in PEM; "" for the system's roots. */
  readonly ca: string;
  /** The certificate that is shown, and its key, in PEM; absent for none. */
  readonly pair?: { readonly cert: string; readonly key: string };
  /** For the whole response. */
  readonly timeoutMs: number;
  /** Of the response's body. */
  readonly maxBytes: number;
  /** Whose body is wanted: with `ok` that of status 200 alone, with `none` of no response. Else it is empty, and is not read. */
  readonly wants?: "ok" | "none" | "all";
  /** Whether a proxy that the environment names is passed over; for this machine it always is. */
  readonly isDirect?: boolean;
  /** Ends the request early. */
  readonly signal?: AbortSignal;
  /** The UNIX socket to ask in place of the host; absent or "" for none. */
  readonly socket?: string;
}

/** The response. */
export interface OutboundResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/**
 * Asks another service: for keys, settings, approvals, documents. It follows no redirect, refuses compressed bodies, since a few bytes that
 * become gigabytes would be inflated before their number is examined, and verifies certificates whatever the environment says. Nothing else
 * in the gateway calls `fetch`. docs/security.md#environment
 * @throws why there is no response, fit for one log line; a RangeError if there is one that is not taken
 */
export async function outboundRequest(request: OutboundRequest): Promise<OutboundResponse> {
  const { timeoutMs, wants = "ok" } = request;
  const late = AbortSignal.timeout(timeoutMs);
  const reason = (error: unknown): Error =>
    new Error(late.aborted ? `no whole response within ${timeoutMs / 1000} s` : plainReason(error));
  let response: Response;
  try {
    response = await begin(request, late);
  } catch (error) {
    throw reason(error);
  }
  const { body, status, headers } = response;
  if (wants === "none" || (wants === "ok" && status !== 200)) {
    await body?.cancel();
    return { status, headers, body: new Uint8Array(0) };
  }
  if ((headers.get("content-encoding") ?? "identity").toLowerCase() !== "identity") {
    await body?.cancel();
    throw new RangeError("the response is compressed, which was not asked for");
  }
  try {
    return { status, headers, body: await wholeBody(body, request.maxBytes) };
  } catch (error) {
    throw error instanceof RangeError ? error : reason(error);
  }
}

/** What ends a response that comes in lines. */
interface LineBounds {
  /** Of one line; a longer one ends the response. */
  readonly maxLineBytes: number;
  /** Without a byte for so long, it ends. */
  readonly silentMs: number;
  /** Its head is there. */
  onHead?(): void;
}

/**
 * Takes a response line by line as it comes, until it ends. Bytes after the last line end are no line.
 * @param onLine gets each line without its end
 * @returns the status and the fields; lines are given with status 200 alone, of another response the first bytes are the one line
 * @throws as outboundRequest
 */
export async function outboundLines(
  request: Omit<OutboundRequest, "wants" | "maxBytes"> & LineBounds,
  onLine: (line: string) => void,
): Promise<{ readonly status: number; readonly headers: Headers }> {
  const ended = new AbortController();
  let reason = "";
  const end = (why: string): void => {
    reason = why;
    ended.abort();
  };
  let timer = setTimeout(() => end(`no response within ${request.timeoutMs / 1000} s`), request.timeoutMs);
  try {
    const response = await begin(request, ended.signal);
    const { status, headers, body } = response;
    request.onHead?.();
    const lines = new LineJoiner(request.maxLineBytes);
    for await (const part of body ?? []) {
      clearTimeout(timer);
      timer = setTimeout(() => end(`no byte for ${request.silentMs / 1000} s`), request.silentMs);
      if (status === 200) lines.push(part, onLine);
      else lines.keep(part);
    }
    if (status !== 200) onLine(lines.rest());
    return { status, headers };
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new Error(reason === "" ? plainReason(error) : reason);
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

function begin(
  {
    url,
    method = "GET",
    headers,
    body,
    ca,
    pair,
    isDirect,
    signal,
    socket = "",
  }: Omit<OutboundRequest, "wants" | "maxBytes">,
  late: AbortSignal,
) {
  return fetch(url, {
    method,
    redirect: "manual",
    decompress: false,
    headers: { ...headers, "Accept-Encoding": "identity" },
    signal: signal === undefined ? late : AbortSignal.any([signal, late]),
    tls: { rejectUnauthorized: true, ...(ca === "" ? {} : { ca }), ...pair },
    ...(body === undefined ? {} : { body: body as string }),
    ...(isDirect === true || isThisMachine(new URL(url).hostname) ? { proxy: false as never } : {}),
    // Each request has its own limits, and events may be silent for hours.
    timeout: false as never,
    // A connection that the other end is about to close serves no second request.
    ...(socket === "" ? {} : { unix: socket, keepalive: false }),
  });
}

async function wholeBody(body: Response["body"], maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body ?? []) {
    size += part.length;
    if (size > maxBytes) throw new RangeError(`the response has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The runtime's own words for a failed request, fit for one log line. */
function plainReason(error: unknown): string {
  const { code = "", message = String(error) } = error as { readonly code?: string; readonly message?: string };
  const own = WORDS[code];
  if (own !== undefined) return `${code}: ${own}`;
  const text = message.startsWith(code) ? message : `${code} ${message}`;
  return plainLine(text).trim();
}

/** In the place of the runtime's advice for programs, such as options of its functions. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was closed before the response was whole",
};
