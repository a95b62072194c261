/** Fields in which the gateway says of whom a request is, how it came and which it is. In lower case. */
export const SAID_OF_CLIENTS: readonly string[] = [
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-host",
  "x-forwarded-client-cert",
  "x-real-ip",
  "x-request-id",
];

/** Fields that the gateway writes itself or has settled: no sender's own goes on. In lower case. */
export const OWN_FIELDS: readonly string[] = [
  "accept-encoding",
  "content-length",
  "content-type",
  "content-encoding",
  "transfer-encoding",
  ...SAID_OF_CLIENTS,
];

/**
 * THE identity fields: what only a proxy in front of the gateway may say, of whom a request comes from, how it came, or what it asked for before
 * it was changed. In lower case; a name that ends in `*` is all that begin so. docs/security.md#identity-headers
 */
export const IDENTITY_FIELDS: readonly string[] = [
  "forwarded",
  "forwarded-for",
  "x-forwarded",
  "x-forwarded-*",
  "x-forward-*",
  "client-ip",
  "x-client-ip",
  "x-client-port",
  "x-cluster-client-ip",
  "x-remote-addr",
  "x-remote-ip",
  "x-originating-ip",
  "x-proxyuser-ip",
  "true-client-ip",
  "fastly-client-ip",
  "fastly-ssl",
  "fly-client-ip",
  "do-connecting-ip",
  "cf-connecting-ip*",
  "cf-pseudo-ipv4",
  "cf-ipcountry",
  "cf-visitor",
  "cf-access-*",
  "cloudfront-viewer-*",
  "cloudfront-forwarded-proto",
  "x-appengine-user-ip",
  "x-envoy-external-address",
  "x-envoy-internal",
  "x-azure-clientip",
  "x-azure-socketip",
  "x-arr-*",
  "wl-proxy-*",
  "front-end-https",
  "x-scheme",
  "x-url-scheme",
  "x-proto",
  "x-host",
  "x-ssl-*",
  "ssl-client-*",
  "x-tls-client-*",
  "x-client-cert*",
  "x-client-dn",
  "x-client-verify",
  "x-amzn-mtls-*",
  "x-amzn-oidc-*",
  "x-goog-authenticated-user-*",
  "x-goog-iap-jwt-assertion",
  "x-ms-client-principal*",
  "x-original-*",
  "x-rewrite-*",
  "x-http-method*",
  "x-method-override",
];

/** Whether a field is an identity field, which trusted proxies alone may send. @param name in lower case */
export function isIdentityField(name: string): boolean {
  if (OWN_FIELDS.includes(name)) return false;
  return IDENTITY_FIELDS.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : name === one));
}
