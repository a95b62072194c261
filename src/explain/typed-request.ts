import { didYouMean } from "../config/nearest-name.ts";
import { parseAddress } from "../core/ip-address.ts";
import { series } from "../core/number-text.ts";
import { REQUEST_PATTERN, REQUEST_WORDS } from "../routes/route-tests.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { DryRequest, HttpVersion } from "./dry-run.ts";

/** A request as a person writes it. */
export interface TypedRequest {
  /** `GET https://shop.example.com/a?b`, `GET /a`, or a URL or path alone for a GET. */
  readonly request: string;
  /** Lines such as `Name: value`. */
  readonly headers: readonly string[];
  /** "" for none. */
  readonly body: string;
  readonly clientIp: string;
  /** By default HTTP/1.1. */
  readonly http?: HttpVersion;
  /** The name of the listener; "" for the first that speaks as it does. */
  readonly listener?: string;
}

/**
 * Makes the bytes of a request: the target as it is written, Host from the URL or, without one, localhost, unless a header names it; a
 * user agent of its own, since to have none is a sign of a bad program.
 * @returns why not, for wrong usage
 */
export function requestOf(
  { request, headers, body, clientIp, http = 1, listener = "" }: TypedRequest,
  { server }: RuntimeConfig,
): DryRequest | string {
  if (!REQUEST_PATTERN.test(request)) return `expected ${REQUEST_WORDS}, found ${JSON.stringify(request)}`;
  const words = request.split(/[ \t]+/);
  const [method, url] = words.length === 1 ? ["GET", words[0]!] : (words as [string, string]);
  if (!parseAddress(clientIp, new Uint8Array(16)))
    return `expected a client address such as 198.51.100.7, found ${JSON.stringify(clientIp)}`;
  const faulty = headers.find((line) => !/^[^:\s]+:[^\r\n]*$/.test(line));
  if (faulty !== undefined) return `expected a header such as 'Name: value', found ${JSON.stringify(faulty)}`;
  const [, scheme = "", authority = "", rest = url] = /^(https?):\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
  // RFC 9110 §4.2.5: a fragment stays with the client.
  const target = rest.split("#")[0]!;
  const bytes = Buffer.from(body, "utf8");
  const lines = headers.map((line) => line.trim());
  const names = (name: string) => lines.some((line) => line.toLowerCase().startsWith(`${name}:`));
  if (!names("host")) lines.unshift(`Host: ${authority || "localhost"}`);
  if (!names("user-agent")) lines.push("User-Agent: edge");
  if (bytes.length > 0 && !names("content-length") && !names("transfer-encoding"))
    lines.push(`Content-Length: ${bytes.length}`);
  const path = target === "" || target.startsWith("?") ? `/${target}` : target;
  const text = [`${method} ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n");
  const place = server.listeners.find(({ name }) => name === listener);
  if (listener !== "" && place === undefined) {
    const known = server.listeners.map(({ name }) => name);
    return `no listener has the name ${JSON.stringify(listener)}${didYouMean(listener, known)}: there are ${series(known)}`;
  }
  const isClear = place === undefined ? server.listeners.some((one) => !one.tls) : !place.tls;
  const tls = scheme === "" ? !isClear || http === 3 : scheme.toLowerCase() === "https";
  if (place !== undefined && place.tls !== tls) return `listener ${listener} speaks ${place.tls ? "https" : "http"}`;
  if (http === 3 && !tls) return "HTTP/3 is always over TLS: write https://";
  return { head: Buffer.from(text, "utf8"), body: bytes, clientIp, tls, http, listener };
}
