// Who the clients of the scenarios with `auth` are: one user, by a password and by a token.
import { createHash, generateKeyPairSync, sign } from "node:crypto";

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
