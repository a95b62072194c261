import { readFileSync } from "node:fs";
import { exactPath, isToken } from "../../../config/http-syntax.ts";
import { list, pairs, type Spot, written } from "../../../config/piece.ts";
import { block, type ConfigOf, type Rows, type Values } from "../../../config/row.ts";
import { duration, fileName, secret, text, textLike } from "../../../config/scalars.ts";
import { checkSecrets } from "../../../config/secret-keys.ts";
import { readCertificates } from "../../../proto/pem/pem-text.ts";
import { claimValues } from "../claim-values.ts";
import { CALLBACK_PATH } from "./callback-path.ts";
import { MAX_CLAIM_CHARS } from "./limits.ts";

/** A claim that a user must have, with one of these values. */
interface WantedClaim {
  readonly name: string;
  readonly values: readonly string[];
}

const allowRows = {
  email: {
    type: list(emailPattern(), "e-mail addresses", true),
    example: ["*@example.com"],
    doc: "one of these addresses; * is any name before the @",
  },
  groups: {
    type: list(text("a group"), "groups", true),
    example: ["staff"],
    doc: "one of these groups in the claim groups",
  },
  claims: {
    type: written(pairs(claimValues(), "claim: value"), (all) => Object.fromEntries(all as [string, string[]][])),
    field: "",
    example: { department: ["sales", "support"] },
    doc: "each claim with one of your values; write nested claims as a path, such as realm_access.roles",
  },
} as const satisfies Rows;

const allow = block(allowRows, {
  finish: (_, { claims }) => ({ claims: claims.map(([name, values]): WantedClaim => ({ name, values })) }),
  list: ({ claims }, lines) => {
    if (claims.length === 0) return lines;
    return { ...lines, claims: Object.fromEntries(claims.map(({ name, values }) => [name, values])) };
  },
});

const rows = {
  issuer: {
    type: textLike(
      /^(https:\/\/[^\s/?#@]+|http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?)(\/[^\s?#]*)?$/,
      "the URL of a provider by https, or by http on this machine, such as https://id.example.com",
    ),
    required: "the URL of an OpenID provider, such as https://id.example.com",
    example: "https://id.example.com",
  },
  client_id: { type: text("the client's id"), required: "the id that the provider gave", example: "edge" },
  client_secret: {
    type: secret("the client's secret"),
    absent: "",
    example: "${OIDC_CLIENT_SECRET}",
    doc: "the secret of your client at the provider; leave it out for a client without one",
  },
  scopes: {
    type: list(textLike(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "a scope such as email"), "scopes"),
    default: ["openid", "email", "profile"],
    doc: "scopes that edge asks for; offline_access gets a refresh token from many providers",
  },
  allow: {
    type: allow,
    doc: "which users of the provider get in: every condition must hold; all users by default",
  },
  cookie_secret: {
    type: list(secret("a secret"), "secrets", true),
    example: "${OIDC_COOKIE_SECRET}",
    doc: "the key that seals sessions; of a list the first seals and all open, so you can rotate it",
  },
  session_ttl: { type: duration(1), default: "12h", doc: "how long a session lasts; then users sign in again" },
  headers: {
    type: written(pairs(text("the name of a claim"), "field: claim"), (all) =>
      Object.fromEntries(all as [string, string][]),
    ),
    field: "",
    example: { "X-User": "email" },
    doc: "fields with claims for your upstream; clients cannot send them",
  },
  logout_path: {
    type: exactPath(),
    default: "/.edge/oidc/logout",
    doc: "the path at which users sign out, here and at the provider",
  },
  ca_file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./private-ca.pem",
    doc: "roots that edge trusts; the system's by default",
  },
} as const satisfies Rows;

/** `auth.oidc`: users sign in at an OpenID provider. docs/authentication.md#openid-connect */
export const oidc = block(rows, {
  check: checkOidc,
  finish: (_, { headers, ca_file }, { path, log, files }) => {
    const caFile = files.bundle([...path, "ca_file"], ca_file);
    const isReadable = caFile !== "" && !log.isFaulty([...path, "ca_file"]);
    return {
      fields: headers.map(([name, claim]) => ({ name, claim })),
      caFile,
      /** PEM; "" for the system's roots. */
      authorities: isReadable ? readCertificates(readFileSync(caFile)).pem : "",
    };
  },
  list: ({ fields, caFile }, lines) => ({
    ...lines,
    ...(fields.length === 0 ? {} : { headers: Object.fromEntries(fields.map(({ name, claim }) => [name, claim])) }),
    ...(caFile === "" ? {} : { ca_file: caFile }),
  }),
});

/** Resolved. */
export type OidcConfig = ConfigOf<typeof oidc>;

function checkOidc(values: Values<typeof rows>, { path, log }: Spot): void {
  const { issuer, scopes, cookie_secret, logout_path, headers, allow: who } = values;
  const isAll = who.email.length === 0 && who.groups.length === 0 && who.claims.length === 0;
  if (isAll && OPEN_ISSUER.test(issuer))
    log.warn(path, "allow is not set: all who have an account at this provider may come in");
  if (!scopes.includes("openid")) log.fault([...path, "scopes"], "openid must be among the scopes");
  if (cookie_secret.length === 0 && !log.isFaulty([...path, "cookie_secret"]))
    log.fault(path, 'needs cookie_secret, which "openssl rand -base64 32" makes', true);
  checkSecrets(cookie_secret, log, [...path, "cookie_secret"], "it lets no user in");
  if (logout_path === CALLBACK_PATH)
    log.fault([...path, "logout_path"], "this is where sign-ins end: choose another path");
  for (const [name, claim] of headers) {
    const at = [...path, "headers", name];
    if (!isToken(name)) log.fault(at, "expected the name of a header field, such as X-User", true);
    else if (RESERVED.test(name)) log.fault(at, "this field is the gateway's own, or says how a message is read", true);
    else if (!isClaimName(claim)) log.fault(at, CLAIM_NAME);
  }
  for (const [name] of who.claims)
    if (!isClaimName(name)) log.fault([...path, "allow", "claims", name], CLAIM_NAME, true);
}

function emailPattern() {
  return textLike(/^(\*|[^\s@*]+)@[^\s@*]+$/, "an e-mail address, or such as *@example.com");
}

function isClaimName(name: string): boolean {
  return name.length <= MAX_CLAIM_CHARS && /^[^\s\p{Cc}]+$/u.test(name);
}

/** Providers at which anyone can have an account. */
const OPEN_ISSUER =
  /^https:\/\/(accounts\.google\.com|login\.microsoftonline\.com\/(common|organizations|consumers)|gitlab\.com|appleid\.apple\.com)(\/|$)/;
const CLAIM_NAME = "expected the name of a claim, such as email";
const RESERVED =
  /^(host|connection|content-length|transfer-encoding|te|trailer|upgrade|keep-alive|proxy-.*|expect|cookie|date|via|x-forwarded-.*|x-real-ip|x-request-id)$/i;
