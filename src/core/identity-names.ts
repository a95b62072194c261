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

/** Identity fields that name a user or a client's certificate, or ask for another method, however their names end. */
const NAMING_FIELDS: readonly string[] = [
  "cf-access-*",
  "ssl-client-*",
  "x-tls-client-*",
  "x-client-cert*",
  "x-client-dn",
  "x-amzn-mtls-*",
  "x-amzn-oidc-*",
  "x-goog-authenticated-user-*",
  "x-goog-iap-jwt-assertion",
  "x-ms-client-principal*",
  "x-ms-token-*",
  "x-apigateway-api-userinfo",
  "x-endpoint-api-userinfo",
  "x-auth-request-*",
  "x-authenticated-*",
  "x-authentik-*",
  "x-consumer-*",
  "x-pomerium-*",
  "x-userinfo",
  "x-webauth-*",
  "x-http-method*",
  "x-method-override",
];

/**
 * THE identity fields: what only a proxy in front of the gateway may say, of whom a request comes from, how it came, or what it asked for before
 * it was changed. In lower case; a name that ends in `*` is all that begin so. docs/security.md#identity-headers
 */
export const IDENTITY_FIELDS: readonly string[] = [
  ...NAMING_FIELDS,
  "forwarded",
  "forwarded-for",
  "x-forwarded",
  "x-forwarded-*",
  "x-forward-*",
  "client-ip",
  "x-client-ip",
  "x-client-port",
  "x-cluster-client-ip",
  "x-remote-*",
  "remote-*",
  "x-real-*",
  "x-originating-ip",
  "x-proxyuser-ip",
  "true-client-ip",
  "fastly-client-ip",
  "fastly-ssl",
  "fly-client-ip",
  "incap-client-ip",
  "ali-cdn-real-ip",
  "x-sucuri-clientip",
  "x-nf-client-connection-ip",
  "do-connecting-ip",
  "cf-connecting-ip*",
  "cf-pseudo-ipv4",
  "cf-ipcountry",
  "cf-visitor",
  "cloudfront-viewer-*",
  "cloudfront-forwarded-proto",
  "x-appengine-*",
  "x-vercel-*",
  "x-envoy-external-address",
  "x-envoy-internal",
  "x-envoy-original-*",
  "x-envoy-peer-*",
  "x-azure-clientip",
  "x-azure-socketip",
  "x-arr-*",
  "wl-proxy-*",
  "front-end-https",
  "x-scheme",
  "x-url-scheme",
  "x-proto",
  "x-https",
  "x-ssl",
  "x-host",
  "x-ssl-*",
  "x-client-verify",
  "tailscale-*",
  "x-waws-*",
  "x-middleware-subrequest*",
  "x-original-*",
  "x-rewrite-*",
];

/** Those by which a proxy names a user or a client's certificate, or asks for another method: responses to them are for their client. */
export const SPEAKING_FIELDS: readonly string[] = [
  ...NAMING_FIELDS,
  "x-forwarded-user",
  "x-forwarded-preferred-username",
  "x-forwarded-email",
  "x-forwarded-groups",
  "x-forwarded-access-token",
  "x-remote-user",
  "x-remote-group*",
  "remote-user",
  "remote-name",
  "remote-email",
  "remote-groups",
  "x-arr-clientcert",
  "wl-proxy-client-cert",
  "x-ssl-client-*",
  "tailscale-user-*",
];

/** Whether a field is an identity field, which trusted proxies alone may send. @param name in lower case */
export function isIdentityField(name: string): boolean {
  if (OWN_FIELDS.includes(name)) return false;
  return IDENTITY_FIELDS.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : name === one));
}
