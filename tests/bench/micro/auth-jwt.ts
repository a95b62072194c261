// Signed tokens: the first request of one, and those after it.

import { JwtMethod } from "../../../src/features/auth/jwt/jwt-method.ts";
import { FixedKeys } from "../../../src/features/auth/jwt/key-ring.ts";
import { Exchange } from "../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../src/message/idle-ports.ts";
import { ALGORITHM_NAMES, type AlgorithmName, type KeySetReading, readKeySet } from "../../../src/proto/jwt/key-set.ts";
import { issuerKey, keySetText, token, usualClaims } from "../../harness/token-issuer.ts";
import { bench } from "../micro.ts";
import { parsed } from "./samples.ts";

const TOKENS = 4000;

function method(keys: FixedKeys): JwtMethod {
  const rules = {
    realm: "bench",
    places: ["header"],
    algorithms: ALGORITHM_NAMES as readonly AlgorithmName[],
    issuers: ["https://id.test"],
    audiences: ["api"],
    leewayMs: 30_000,
    claims: [{ name: "role", values: ["admin"] }],
    fields: [{ name: "X-User", claim: "sub" }],
    keepsToken: true,
  };
  return new JwtMethod(rules, { keys, clock: { nowMs: Date.now() } });
}

function exchangeWith(value: string): Exchange {
  const ex = new Exchange(IDLE);
  const head = `GET /api HTTP/1.1\r\nHost: www.example.test\r\nAccept: */*\r\nAuthorization: Bearer ${value}\r\n\r\n`;
  return Object.assign(ex, { request: parsed(Buffer.from(head)) });
}

for (const alg of ["ES256", "RS256"]) {
  const key = issuerKey(alg, "k");
  const keys = new FixedKeys((readKeySet(keySetText(key), ALGORITHM_NAMES) as KeySetReading).keys);
  const all = Array.from({ length: TOKENS }, (_, i) =>
    exchangeWith(token(key, usualClaims({ sub: `user ${i}`, role: ["admin", "ops"] }))),
  );
  let at = 0;
  let fresh = method(keys);
  bench(`jwt: ${alg}, the first request of a token`, () => {
    if (at === TOKENS) {
      at = 0;
      fresh = method(keys);
    }
    return claimsOf(fresh, all[at++]!);
  });
  const known = method(keys);
  bench(`jwt: ${alg}, the next requests`, () => claimsOf(known, all[0]!));
}

function claimsOf(judge: JwtMethod, ex: Exchange): number {
  const found = judge.judge(ex, () => {});
  if (found?.kind !== "in") throw new Error("a good token was refused");
  return found.identity.user.length;
}
