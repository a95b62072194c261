// docs/security.md#logs-and-secrets: what is wrong with a configuration is said without its secrets.
import { describe, expect, test } from "bun:test";
import { lines, loadCase } from "./config-case.ts";

const PLACES: readonly (readonly [string, string, string])[] = [
  ["user info of a target", "", "- {type: upstream, prefix: /a, target: 'http://u:SECRET@a:1'}"],
  ["the same with one slash more", "", "- {type: upstream, prefix: /a, target: 'http:///u:SECRET@a:1/x y'}"],
  ["the same with backslashes", "", "- {type: upstream, prefix: /a, target: 'http:\\\\u:SECRET@a'}"],
  ["the query of a target", "", "- {type: upstream, prefix: /a, target: 'http://a:1/?api_key=SECRET'}"],
  ["targets that are no list", "", "- {type: upstream, prefix: /a, targets: 'http://u:SECRET@a'}"],
  [
    "a field where a section belongs",
    "",
    "- {type: upstream, prefix: /a, target: 'http://a', headers: 'Authorization: SECRET'}",
  ],
  [
    "a field where pairs belong",
    "",
    "- {type: upstream, prefix: /a, target: 'http://a', headers: {request: {set: 'Auth: SECRET'}}}",
  ],
  [
    "a bad value of a field",
    "",
    '- {type: upstream, prefix: /a, target: "http://a", headers: {request: {set: {A: "SECRET\\u0001"}}}}',
  ],
  ["a token that is too odd", "internal_api: {token: 'SECRET with blanks'}", "[]"],
  [
    "a key of an authority",
    "server: {acme: {enabled: true, domains: [a.example], eab: {kid: a, hmac_key: 'SECRET!'}}}",
    "[]",
  ],
  ["a variable in a number", `server: {port: "\${PASSWORD}"}`, "[]"],
  ["a variable within a text", `server: {host: "x \${PASSWORD} y"}`, "[]"],
  ["a long variable that is cut short", `server: {host: "x \${LONG} y"}`, "[]"],
  ["a variable with signs that are escaped", `server: {host: "x \${ODD} y"}`, "[]"],
  ["an alias by accident", "internal_api: {token: *SECRET}", "[]"],
  ["text behind a quoted value", 'internal_api:\n  token: "a" "SECRET"\n', "[]"],
];
const env = { PASSWORD: "SECRET-1", LONG: `SECRET${"x".repeat(90)}`, ODD: 'q"SECRET\\' };

describe("a fault does not repeat", () => {
  for (const [what, config, routes] of PLACES) {
    test(what, () => {
      const result = loadCase({ name: what, config, routes, env });
      const said = lines([...(result.ok ? [] : result.faults), ...result.warnings]);
      expect(said.length).toBeGreaterThan(0);
      expect(said.join("\n")).not.toContain("SECRET");
      expect(said.join("\n")).not.toContain("xxxxxxxxxx");
    });
  }
});
