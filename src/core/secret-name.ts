/**
 * Whether the value of a header field is masked where a configuration is shown: that of every name but those of the short
 * list below, since names of credentials cannot be told by their look. docs/security.md#logs-and-secrets
 */
export function isSecretName(name: string): boolean {
  return !HARMLESS.has(name.toLowerCase());
}

/** A URL or path without what may be a credential in it: user info, and the values of the query. */
export function withoutCredentials(url: string): string {
  return url.replace(/(^|\/)[^/?#@\s:]*:[^/?#]*@/, "$1***@").replace(/\?[^?].*$/s, "?***");
}

/** The text in a secret's place. */
export const MASK = "***";

const HARMLESS: ReadonlySet<string> = new Set([
  "accept",
  "accept-ch",
  "accept-encoding",
  "accept-language",
  "accept-ranges",
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
  "access-control-expose-headers",
  "access-control-max-age",
  "age",
  "allow",
  "alt-svc",
  "cache-control",
  "cdn-cache-control",
  "clear-site-data",
  "content-disposition",
  "content-language",
  "content-security-policy",
  "content-security-policy-report-only",
  "content-type",
  "cross-origin-embedder-policy",
  "cross-origin-opener-policy",
  "cross-origin-resource-policy",
  "date",
  "expires",
  "last-modified",
  "link",
  "origin-agent-cluster",
  "permissions-policy",
  "pragma",
  "referrer-policy",
  "retry-after",
  "server",
  "server-timing",
  "strict-transport-security",
  "surrogate-control",
  "timing-allow-origin",
  "upgrade-insecure-requests",
  "user-agent",
  "vary",
  "via",
  "x-accel-buffering",
  "x-content-type-options",
  "x-dns-prefetch-control",
  "x-download-options",
  "x-frame-options",
  "x-permitted-cross-domain-policies",
  "x-powered-by",
  "x-robots-tag",
  "x-ua-compatible",
  "x-xss-protection",
]);

/** Header fields for a listing: values that are secrets by their names are not shown. */
export function maskedFields(fields: readonly (readonly [name: string, value: string])[]): object {
  return Object.fromEntries(fields.map(([name, value]) => [name, isSecretName(name) ? MASK : value]));
}
