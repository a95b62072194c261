import { outboundRequest } from "./outbound-request.ts";

/** Where keys are, and the bounds of a request for them. */
interface KeyPlace {
  readonly url: string;
  /** Whom to trust, in PEM; "" for the system's roots. */
  readonly ca: string;
  /** Media types that may come. */
  readonly accept: string;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/**
 * Fetches a set of keys. Redirects are not followed: a set has one place, and no response can send the gateway elsewhere.
 * @throws why it cannot be had
 */
export async function fetchKeys({ url, ca, accept, timeoutMs, maxBytes }: KeyPlace) {
  const headers = { Accept: accept };
  const response = await outboundRequest({ url, headers, ca, timeoutMs, maxBytes });
  const { status } = response;
  if (status >= 300 && status < 400) throw new Error(`status ${status}: redirects are not followed`);
  if (status !== 200) throw new Error(`status ${status}`);
  return {
    text: Buffer.from(response.body).toString("utf8"),
    cacheControl: response.headers.get("cache-control") ?? "",
  };
}
