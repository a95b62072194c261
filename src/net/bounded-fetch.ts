import { plainLine } from "../core/printable.ts";
/** One GET of the control thread, with its bounds. */
export interface BoundedRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whom to trust over TLS, in PEM; "" for the system's roots. */
  readonly ca: string;
  /** For the whole response. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Whether a proxy that the environment names is passed over. */
  readonly isDirect?: boolean;
}

/** What has come of it; the body is empty where the status is not 200. */
export interface BoundedReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/**
 * Fetches a document. Redirects are not followed, compressed bodies are refused, since a few bytes that become gigabytes would be inflated before
 * their number is looked at, and certificates are verified whatever the environment says. docs/security.md#environment
 * @throws why it cannot be had, fit for one log line
 */
export async function boundedFetch(request: BoundedRequest): Promise<BoundedReply> {
  const { url, headers, ca, timeoutMs, maxBytes, isDirect = false } = request;
  const signal = AbortSignal.timeout(timeoutMs);
  const reason = (error: unknown): Error =>
    new Error(signal.aborted ? `no whole response within ${timeoutMs / 1000} s` : plainReason(error));
  let response: Response;
  try {
    response = await fetch(url, {
      redirect: "manual",
      decompress: false,
      headers: { ...headers, "Accept-Encoding": "identity" },
      signal,
      tls: { rejectUnauthorized: true, ...(ca === "" ? {} : { ca }) },
      ...(isDirect ? { proxy: false as never } : {}),
    });
  } catch (error) {
    throw reason(error);
  }
  const { body, status, headers: fields } = response;
  if (status !== 200) {
    await body?.cancel();
    return { status, headers: fields, body: new Uint8Array(0) };
  }
  if ((fields.get("content-encoding") ?? "identity").toLowerCase() !== "identity") {
    await body?.cancel();
    throw new Error("the response is compressed, which was not asked for");
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of body ?? []) {
      size += part.length;
      if (size > maxBytes) throw new RangeError(`the response has more than ${maxBytes} bytes`);
      parts.push(part);
    }
  } catch (error) {
    throw error instanceof RangeError ? error : reason(error);
  }
  return { status, headers: fields, body: Buffer.concat(parts) };
}

/** The runtime's own words for a failed request, fit for one log line. */
function plainReason(error: unknown): string {
  const { code = "", message = String(error) } = error as { readonly code?: string; readonly message?: string };
  const text = message.startsWith(code) ? message : `${code} ${message}`;
  return plainLine(text).trim();
}
