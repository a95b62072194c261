import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { beginAttempt } from "../../../../../src/features/auth/oidc/login-attempt.ts";
import { Provider, ProviderError } from "../../../../../src/features/auth/oidc/provider.ts";
import { FakeProvider } from "../../../../harness/fake-provider.ts";

// docs/authentication.md#openid-connect
const DISCOVERY = "/.well-known/openid-configuration";
const BACK = "http://localhost:1/.edge/oidc/callback";
let fake: FakeProvider;
let nowMs = 1_000_000;

beforeEach(() => {
  fake = FakeProvider.start();
});
afterEach(() => fake.stop());

function providerWith(more: object = {}): Provider {
  const { issuer, clientId, clientSecret } = fake;
  const own = { issuer, clientId, clientSecret, scopes: ["openid"], authorities: "", wantedClaims: [] };
  return new Provider({ ...own, ...more }, () => nowMs);
}

function loginUrl(provider: Provider): Promise<string> {
  return provider.loginUrl(beginAttempt("0123456789", "/", nowMs), BACK);
}

/** What the provider says of the user when it is asked as a browser and a gateway do. */
async function signIn(provider: Provider): Promise<unknown> {
  const attempt = beginAttempt("0123456789", "/", nowMs);
  const response = await fetch(await provider.loginUrl(attempt, BACK), { redirect: "manual" });
  return (await provider.signIn(attempt, new URL(response.headers.get("location")!))).claims;
}

async function problemOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => new Error("no error"),
    (reason: unknown) => reason,
  );
  return error instanceof ProviderError ? error.problem : String(error);
}

describe("a provider's settings", () => {
  test("are asked for once, by all that wait", async () => {
    const provider = providerWith();
    await Promise.all(Array.from({ length: 10 }, () => loginUrl(provider)));
    await loginUrl(provider);
    expect(fake.count(DISCOVERY)).toBe(1);
  });

  test("are asked for again after an hour, beside the sign-ins, and the old ones hold until there are others", async () => {
    const provider = providerWith();
    await loginUrl(provider);
    nowMs += 3_600_001;
    fake.habits = { metadata: { authorization_endpoint: `${fake.issuer}/elsewhere` } };
    expect(await loginUrl(provider)).toContain("/authorize?");
    await Bun.sleep(300);
    expect(await loginUrl(provider)).toContain("/elsewhere?");
    expect(fake.count(DISCOVERY)).toBe(2);
    nowMs += 3_600_001;
    await fake.goAway();
    for (let i = 0; i < 3; i++) {
      expect(await loginUrl(provider)).toContain("/elsewhere?");
      await Bun.sleep(50);
    }
  });

  test("are not asked for again right after a failure", async () => {
    const provider = providerWith();
    fake.habits = { intercept: () => new Response("", { status: 503 }) };
    expect(await problemOf(loginUrl(provider))).toBe("away");
    fake.habits = {};
    expect(await problemOf(loginUrl(provider))).toBe("away");
    expect(fake.count(DISCOVERY)).toBe(1);
    nowMs += 2001;
    expect(await problemOf(loginUrl(provider))).toBe("Error: no error");
  });

  test.each([
    ["another issuer", { issuer: "https://evil.test" }],
    ["an endpoint in clear text on another machine", { authorization_endpoint: "http://evil.test/a" }],
    ["an endpoint that is a script", { authorization_endpoint: "javascript:alert(1)" }],
  ])("with %s are not believed", async (_, metadata) => {
    fake.habits = { metadata };
    expect(await problemOf(loginUrl(providerWith()))).toBe("untrusted");
  });

  test("that name endpoints in clear text elsewhere send no code there", async () => {
    for (const name of ["token_endpoint", "jwks_uri"]) {
      fake.habits = { metadata: { [name]: "http://192.0.2.1/x" } };
      expect([name, await problemOf(signIn(providerWith()))]).toEqual([name, "untrusted"]);
    }
  });
});

describe("a client", () => {
  test("authenticates as the provider takes it", async () => {
    expect(await signIn(providerWith())).toMatchObject({ sub: "u-1" });
    expect(await problemOf(signIn(providerWith({ clientSecret: "wrong" })))).toBe("away");
    // The fake takes Basic alone: what is in the body is no authentication.
    fake.habits = { metadata: { token_endpoint_auth_methods_supported: ["client_secret_post"] } };
    expect(await problemOf(signIn(providerWith()))).toBe("away");
    expect(await problemOf(signIn(providerWith({ clientSecret: "" })))).toBe("away");
  });

  test("asks for what else is known of a user where the ID token lacks a claim that is wanted", async () => {
    fake.habits = { userInfo: { department: "sales", email: "other@example.com" } };
    expect(await signIn(providerWith({ wantedClaims: ["email"] }))).not.toHaveProperty("department");
    const claims = await signIn(providerWith({ wantedClaims: ["department"] }));
    expect(claims).toMatchObject({ department: "sales", email: "alice@example.com" });
    fake.habits = { userInfo: { sub: "u-2", department: "sales" } };
    expect(await problemOf(signIn(providerWith({ wantedClaims: ["department"] })))).toBe("untrusted");
  });
});
