import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSecretName } from "../../../src/core/secret-name.ts";
import type { OidcConfig } from "../../../src/features/auth/oidc/settings.ts";
import type { AuthConfig } from "../../../src/features/auth/settings.ts";
import { listConfig } from "../../../src/loading/config-listing.ts";
import type { RuntimeConfig } from "../../../src/routes/runtime-config.ts";
import { inFolder, lines, load, loadCase, putFiles, readCases } from "./config-case.ts";

describe("the listed configuration", () => {
  for (const one of readCases("good.yaml")) {
    test(`reads back as the same: ${one.name}`, () => {
      inFolder((dir) => {
        putFiles(dir);
        writeFileSync(join(dir, "config.yaml"), one.config ?? "{}");
        writeFileSync(join(dir, "routes.yaml"), one.routes ?? "[]");
        const first = loaded(dir, one.env ?? {});
        const [config, routes] = unmasked(listConfig(first), first).split("---\n");
        writeFileSync(join(dir, "config.yaml"), config!);
        writeFileSync(join(dir, "routes.yaml"), routes!);
        const second = loaded(dir, {});
        expect(withoutPositions(second)).toEqual(withoutPositions(first));
      });
    });
  }

  test("has what only some of a section read", () => {
    const config = "transcoder: {timeout: 5s}\nproxy: {transport: {max_buffered_share: 7%}}\n";
    const result = loadCase({ name: "shares", config, routes: "[]" });
    if (!result.ok) throw new Error(lines([...result.faults]).join("\n"));
    const text = listConfig(result.config);
    expect(text).toContain("  timeout: 5s\n");
    expect(text).toContain("max_buffered_share: 7%\n");
  });

  test("shows no secret", () => {
    const result = loadCase({
      name: "secrets",
      config: `server:
  acme: {eab: {kid: a, hmac_key: hush-hush}}
  auth: {jwt: {secret: hush-hush-hush-hush-hush-hush-hush-hush}}
internal_api: {token: hush-hush}
`,
      routes: `- type: upstream
  prefix: /a
  target: http://a:1
  headers:
    request: {set: {Authorization: Bearer hush-hush, X-Shop: hush-hush, User-Agent: shop}}
    response: {add: {X-Auth-Key: hush-hush, Ocp-Apim-Subscription-Pass: hush-hush, PIN: hush-hush, CACHE-Control: no-store}}
  health_check: {path: /h?key=hush-hush}
  load_balancing: {policy: sticky, cookie: {secret: hush-hush-hush-hush}}
  auth: {jwt: {jwks_url: "https://id.test/jwks?key=hush-hush", audience: a}}
`,
    });
    if (!result.ok) throw new Error(lines([...result.faults]).join("\n"));
    const text = listConfig(result.config);
    expect(text).not.toContain("hush");
    for (const shown of ["X-Shop:", "no-store", "- shop", "/h?***"]) expect(text).toContain(shown);
    expect(text.match(/\*\*\*/g)).toHaveLength(11);
  });

  test("has header names that every object has a member of", () => {
    const routes = `- type: upstream
  prefix: /a
  target: http://a:1
  headers: {request: {set: {toString: one}, add: {valueOf: two}}}
`;
    const result = loadCase({ name: "members", config: "{}", routes });
    if (!result.ok) throw new Error(lines([...result.faults]).join("\n"));
    const text = listConfig(result.config);
    expect(text).toMatch(/toString:\s+- "\*\*\*"/);
    expect(text).toMatch(/valueOf:\s+- "\*\*\*"/);
  });
});

/** Puts the secrets back, and doubles the dollar sign where it would begin a variable. */
function unmasked(text: string, config: RuntimeConfig): string {
  const listed = [...cookieSecrets(config.server.auth), ...maskedHeaders(config)];
  const clients = config.routes.flatMap(({ auth }) => oidcOf(auth).map(({ clientSecret }) => clientSecret));
  const queries = maskedQueries(config);
  return text
    .replace('hmac_key: "***"', () => `hmac_key: ${config.server.acme.eabHmacKey}`)
    .replace('token: "***"', () => `token: ${JSON.stringify(config.internalApi.token)}`)
    .replaceAll('- "***"', () => JSON.stringify(listed.shift()).replace(/^/, "- "))
    .replaceAll('client_secret: "***"', () => `client_secret: ${clients.shift()}`)
    .replaceAll(/\$\{/g, () => "$".repeat(2) + "{")
    .replaceAll(/path: \/.*\?\*\*\*$/gm, () => `path: ${queries.shift()}`);
}

/** The values of headers that are masked, in the order in which they are listed. */
function maskedHeaders(config: RuntimeConfig): string[] {
  return config.routes.flatMap(({ auth, headers: { request, response } }) => [
    ...(auth.scope === "route" ? cookieSecrets(auth) : []),
    ...[request.set, request.add, response.set, response.add]
      .flatMap((edits) => [...Map.groupBy(edits, ({ name }) => name).values()].flat())
      .filter(({ name }) => isSecretName(name))
      .map(({ value }) => value),
  ]);
}

function cookieSecrets(auth: AuthConfig): string[] {
  return oidcOf(auth).flatMap(({ cookieSecret }) => cookieSecret);
}

function oidcOf({ methods }: AuthConfig): OidcConfig[] {
  return methods.flatMap(({ key, config }) => (key === "oidc" ? [config] : []));
}

function maskedQueries(config: RuntimeConfig): string[] {
  return config.routes.flatMap((route) =>
    route.type === "upstream" && /\?./.test(route.healthCheck.path) ? [route.healthCheck.path] : [],
  );
}

function loaded(dir: string, env: Readonly<Record<string, string>>): RuntimeConfig {
  const result = load(dir, env);
  if (!result.ok) throw new Error(lines([...result.faults]).join("\n"));
  return result.config;
}

function withoutPositions(config: RuntimeConfig): unknown {
  return JSON.parse(JSON.stringify(config, (key, value) => (key === "position" ? null : value)));
}
