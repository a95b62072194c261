import { expect, test } from "bun:test";
import fc from "fast-check";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { JwtMethod } from "../../src/features/auth/jwt/jwt-method.ts";
import { FixedKeys } from "../../src/features/auth/jwt/key-ring.ts";
import { Exchange } from "../../src/message/exchange.ts";
import { IDLE_PORTS } from "../../src/message/idle-ports.ts";
import { ALGORITHM_NAMES, type AlgorithmName, type KeySetReading, readKeySet } from "../../src/proto/jwt/key-set.ts";
import { issuerKey, keySetText, part, signature, usualClaims } from "../harness/token-issuer.ts";

// What the gateway lets in, jose lets in as well; and it lets in what is signed and says what it must. docs/authentication.md#tokens
const KEYS = ["ES256", "RS256", "PS256", "EdDSA"].map((alg) => issuerKey(alg, `k-${alg}`));
const SET = keySetText(...KEYS);
const METHOD = new JwtMethod(
  {
    realm: "x",
    places: ["header"],
    algorithms: ALGORITHM_NAMES as readonly AlgorithmName[],
    issuers: ["https://id.test"],
    audiences: ["api"],
    leewayMs: 30_000,
    claims: [],
    fields: [],
    keepsToken: true,
  },
  {
    keys: new FixedKeys((readKeySet(SET, ALGORITHM_NAMES) as KeySetReading).keys),
    clock: {
      get nowMs() {
        return Date.now();
      },
    },
  },
);
const JOSE_KEYS = createLocalJWKSet(JSON.parse(SET) as JSONWebKeySet);

function isLetIn(text: string): boolean {
  const ex = new Exchange(IDLE_PORTS);
  ex.request.headers.resetOwn();
  ex.request.headers.add("Authorization", `Bearer ${text}`);
  return METHOD.judge(ex, () => {})?.kind === "in";
}

async function joseLetsIn(text: string): Promise<boolean> {
  try {
    await jwtVerify(text, JOSE_KEYS, { issuer: "https://id.test", audience: "api", clockTolerance: 30 });
    return true;
  } catch {
    return false;
  }
}

const now = Math.floor(Date.now() / 1000);
const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    "",
    0,
    -1,
    [],
    {},
    true,
    "none",
    "HS256",
    now - 300,
    now + 300,
    now - 10,
    now + 10,
    1e308,
    "api",
  ),
  fc.constantFrom<unknown>(["api"], ["x"], "https://id.test", String(now + 60), 0.5, [now]),
);
const overlay = (...names: readonly string[]) => fc.dictionary(fc.constantFrom(...names), odd, { maxKeys: 2 });
const crafted = fc
  .record({
    signer: fc.constantFrom(...KEYS),
    named: fc.constantFrom(...KEYS),
    isNamed: fc.boolean(),
    isHonest: fc.boolean(),
    header: fc.oneof(
      fc.constant({}),
      overlay("alg", "kid", "typ", "cty", "crit", "b64", "jku", "jwk", "x5u", "zip", "enc"),
    ),
    claims: fc.oneof(fc.constant({}), overlay("exp", "nbf", "iat", "iss", "aud", "sub")),
  })
  .map(({ signer, named, isNamed, isHonest, header, claims }) => {
    const key = isHonest ? signer : named;
    const data = `${part({ alg: key.alg, ...(isNamed ? { kid: key.kid } : {}), ...header })}.${part(usualClaims(claims))}`;
    return `${data}.${signature(signer, data).toString("base64url")}`;
  });
const bent = fc
  .tuple(crafted, fc.nat(), fc.constantFrom("", "A", ".", "=", "-", "_", "+", "e30", "~"), fc.nat(2))
  .map(([text, at, piece, gone]) => {
    const from = at % text.length;
    return text.slice(0, from) + piece + text.slice(from + gone);
  });

test("no token comes in that jose refuses", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(crafted, bent), async (text) => {
      if (isLetIn(text)) expect([text, await joseLetsIn(text)]).toEqual([text, true]);
    }),
    { numRuns: 600 },
  );
});

test("a token that is signed and says what it must comes in", async () => {
  let letIn = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...KEYS),
      fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
      async (key, more) => {
        const { exp: _, nbf: __, iss: ___, aud: ____, ...free } = more;
        const data = `${part({ alg: key.alg, kid: key.kid })}.${part(usualClaims(free))}`;
        const text = `${data}.${signature(key, data).toString("base64url")}`;
        expect([isLetIn(text), await joseLetsIn(text)]).toEqual([true, true]);
        letIn++;
      },
    ),
    { numRuns: 100 },
  );
  expect(letIn).toBe(100);
});
