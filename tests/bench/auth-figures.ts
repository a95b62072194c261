// Who the clients of the scenarios with `auth` are: one user, by a password, by a token and by a sign-in; and a browser with a pass.
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { OpenSessions } from "../../src/features/auth/oidc/open-sessions.ts";
import { Sealer } from "../../src/features/auth/oidc/sealer.ts";
import { SessionCookies } from "../../src/features/auth/oidc/session-cookies.ts";
import { PASS_COOKIE } from "../../src/features/bots/bot-tokens.ts";
import { sign as signedByBots } from "../harness/bot-solver.ts";

const USER = "alice";
const PASSWORD = "wonderland";
const TOKEN_SECONDS = 86_400;
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

/** The fields of requests with a password. */
export const BASIC_FIELDS: readonly string[] = [
  `Authorization: Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString("base64")}`,
];

/** Those of requests with a token, signed with ES256. */
export const BEARER_FIELDS: readonly string[] = [`Authorization: Bearer ${token()}`];

/** The key of the token, as PEM. */
export const TOKEN_KEY: string = publicKey.export({ type: "spki", format: "pem" }).toString();

/** The user's line for nginx, with the hash that costs it least. */
export const SHA_USERS = `${USER}:{SHA}${createHash("sha1").update(PASSWORD).digest("base64")}\n`;

/** The same for the gateway, which takes no such hash. */
export const BCRYPT_USERS = `${USER}:${Bun.password.hashSync(PASSWORD, { algorithm: "bcrypt", cost: 4 })}\n`;

/** `auth.oidc` of the route at SESSION_PREFIX: its provider is never asked. */
export const OIDC = {
  issuer: "https://id.example.test",
  client_id: "bench",
  cookie_secret: "a secret of the benchmarks, of no use",
  headers: { "X-User": "email" },
} as const;
export const SESSION_PREFIX = "/oidc";

const HOST = "127.0.0.1";
/** The scope of a route, as the gateway names it. */
const ROUTES: string = JSON.stringify([SESSION_PREFIX, "", []]);

/** The fields of requests of a user who has signed in. */
export const SESSION_FIELDS: readonly string[] = [`Cookie: ${session()}`];

/** The secret of `server.bots`. */
export const BOT_SECRET = "another-secret-of-the-benchmarks-of-no-use";
const AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
const BITS = 16;

/** The fields of requests of a browser that has solved its task. */
export const PASS_FIELDS: readonly string[] = [`User-Agent: ${AGENT}`, `Cookie: ${PASS_COOKIE}=${pass()}`];

function session(): string {
  const { issuer, client_id: clientId, cookie_secret: secret } = OIDC;
  const sealer = new Sealer([secret], { issuer, clientId, routes: ROUTES });
  const settings = {
    allow: { email: [], groups: [], claims: [] },
    fields: [{ name: "X-User", claim: "email" }],
    sessionTtlMs: TOKEN_SECONDS * 1000,
  };
  const claims = { sub: USER, email: `${USER}@example.test`, name: "Alice Liddell", groups: ["staff", "readers"] };
  const word = { claims, refreshToken: "", idToken: "", expiresInS: 0 };
  const { value } = new OpenSessions(settings, sealer, Date.now).begin(word, HOST);
  return `${new SessionCookies(sealer.tag).nameOf(false)}=${value}`;
}

function pass(): string {
  const issuedS = Math.floor(Date.now() / 1000);
  return signedByBots(BOT_SECRET, {
    purpose: "pass",
    issuedS,
    bits: BITS,
    network: "127.0.0",
    host: HOST,
    agent: AGENT,
  });
}

function token(): string {
  const now = Math.floor(Date.now() / 1000);
  const parts = [
    { alg: "ES256", typ: "JWT" },
    { sub: USER, iat: now, exp: now + TOKEN_SECONDS, scope: "read write" },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const signature = sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}
