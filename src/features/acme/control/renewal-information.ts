import { AuthorityKeyIdentifierExtension, X509Certificate } from "@peculiar/x509";
import type { RenewalWindow } from "./certificate-authority.ts";
import { retryAfter } from "./last-problem.ts";

/**
 * The identifier under which a directory tells when to renew: the issuer's key identifier and the serial number.
 * RFC 9773 §4.1.
 * @param chain PEM, the certificate first
 * @returns "" for a certificate that names no issuer key
 */
export function certificateId(chain: string): string {
  const certificate = new X509Certificate(firstOf(chain));
  const keyId = certificate.getExtension(AuthorityKeyIdentifierExtension)?.keyId;
  if (keyId === undefined) return "";
  const serial = Buffer.from(certificate.serialNumber, "hex");
  // The number as DER has it: positive, so a zero precedes a first bit that is set.
  const content = (serial[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), serial]) : serial;
  return `${Buffer.from(keyId, "hex").toString("base64url")}.${content.toString("base64url")}`;
}

/**
 * Reads a renewal information document. RFC 9773 §4.2.
 * @param retryAfterField value of the response's Retry-After
 * @returns null if it is malformed: then it is as if there were none (RFC 9773 §4.3)
 */
export function readWindow(document: unknown, retryAfterField: unknown, nowMs: number): RenewalWindow | null {
  const { suggestedWindow } = (document ?? {}) as { suggestedWindow?: { start?: unknown; end?: unknown } };
  const startMs = Date.parse(String(suggestedWindow?.start));
  const endMs = Date.parse(String(suggestedWindow?.end));
  if (Number.isNaN(startMs) || Number.isNaN(endMs) || endMs <= startMs) return null;
  const wait = retryAfter(retryAfterField) || ASK_AGAIN_MS;
  return { startMs, endMs, askAgainMs: nowMs + Math.min(Math.max(wait, ASK_MIN_MS), ASK_MAX_MS) };
}

function firstOf(chain: string): string {
  const end = chain.indexOf(END_LINE);
  return end < 0 ? chain : chain.slice(0, end + END_LINE.length);
}

const END_LINE = "-----END CERTIFICATE-----";
/** RFC 9773 §4.3.3: six hours if nothing else is said. */
const ASK_AGAIN_MS = 6 * 3_600_000;
const ASK_MIN_MS = 60_000;
const ASK_MAX_MS = 24 * 3_600_000;
