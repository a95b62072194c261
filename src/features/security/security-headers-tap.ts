import type { Exchange, ResponseTap } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";
import { HEADER_ID_COUNT, type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { RoutePolicies } from "../../message/route-policies.ts";
import type { SecurityHeadersConfig } from "./settings.ts";

/**
 * Adds `security_headers` of the server or the route to every response that does not say the same things itself, and HSTS over TLS alone
 * (RFC 6797 §7.2). What to add is prebuilt for each set of fields that a response may have already.
 * docs/guards.md#security-headers
 */
export class SecurityHeadersTap implements ResponseTap {
  readonly name = "securityHeaders";
  private readonly policies: RoutePolicies<MissingFields | null>;

  constructor(policies: RoutePolicies<MissingFields | null>) {
    this.policies = policies;
  }

  onHead(ex: Exchange): void {
    const missing = this.policies.of(ex);
    if (missing !== null) add(ex, missing, marksOf(ex.response.headers));
  }

  onFixed(ex: Exchange, response: PrebuiltResponse): void {
    const missing = this.policies.of(ex);
    if (missing === null) return;
    if (response.marks < 0) response.marks = marksOfFixed(response);
    add(ex, missing, response.marks);
  }

  onEnd(_ex: Exchange): void {}
}

/** The fields to add, by the marks of a response's own. */
type MissingFields = readonly (ExtraFields | null)[];

/** Makes the fields that settings add; null if they add none. */
export function missingFields(settings: SecurityHeadersConfig): MissingFields | null {
  if (!settings.enabled) return null;
  const values = ["nosniff", settings.frameOptions, settings.referrerPolicy, settings.hsts];
  const fields = NAMES.map((name, i) => [name, values[i]!] as const);
  return Array.from({ length: 1 << NAMES.length }, (_, marks) => {
    const wanted = fields.filter(([, value], i) => value !== "" && (marks & (1 << i)) === 0);
    return wanted.length === 0 ? null : new ExtraFields(wanted);
  });
}

function add(ex: Exchange, fields: MissingFields, marks: number): void {
  const missing = fields[ex.client.tls ? marks : marks | HSTS_MARK]!;
  if (missing !== null) ex.response.addExtra(missing);
}

/** Which of the fields stand in a response, one bit for each in the order of NAMES. */
function marksOf(headers: HeaderBlock): number {
  let marks = 0;
  for (let i = 0; i < headers.count; i++) marks |= MARK_BY_ID[headers.ids[i]!]!;
  return marks;
}

function marksOfFixed(response: PrebuiltResponse): number {
  let marks = 0;
  for (const [name] of response.fields) {
    const index = NAMES.findIndex((known) => known.toLowerCase() === name.toLowerCase());
    if (index >= 0) marks |= 1 << index;
  }
  return marks;
}

const NAMES: readonly string[] = [
  "X-Content-Type-Options",
  "X-Frame-Options",
  "Referrer-Policy",
  "Strict-Transport-Security",
];
const HSTS_MARK = 8;
const MARK_BY_ID: Uint8Array = new Uint8Array(HEADER_ID_COUNT);
[
  HeaderId.XContentTypeOptions,
  HeaderId.XFrameOptions,
  HeaderId.ReferrerPolicy,
  HeaderId.StrictTransportSecurity,
].forEach((id, i) => {
  MARK_BY_ID[id] = 1 << i;
});
