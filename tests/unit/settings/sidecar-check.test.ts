import { describe, expect, test } from "bun:test";
import { SIDECAR_USE } from "../../../src/settings/sidecar-check.ts";
import { loadCase } from "../loading/config-case.ts";

/** What is said of the section `sidecar` below settings of `server`. */
function saidBelow(server: string): string[] {
  const config = `server:\n${server}sidecar: {enabled: true, mode: ingress, app_port: 9000}\n`;
  const result = loadCase({ name: "", config });
  return result.warnings.map(({ message }) => message).filter((message) => message.includes("listeners do not take"));
}

/** A value other than the default for each setting that is not the sidecar's. */
const LEFT: Readonly<Record<string, string>> = {
  strict_origins: "false",
  trusted_proxies: "[10.0.0.0/8]",
  geo: "{country_db: country.mmdb}",
  ip_rules: "{deny: [10.0.0.0/8]}",
  auth: "{basic: {users_file: users}}",
  bans: "{for: 1h}",
  bots: "{challenge: suspicious}",
  agents: "{unsigned: pass}",
  route_order: "path_first",
  debug_header: "true",
  rate_limit: "{requests: 5}",
  overload: "{cpu: 0.9}",
  allowed_methods: "[GET]",
  tls: "{cert_file: cert.pem, key_file: key.pem}",
  http3: "{port: 8443}",
  proxy_protocol: "{trusted: [10.0.0.0/8]}",
  waf: "{enabled: true}",
  cache: "{enabled: true}",
  compression: "{enabled: true}",
  cors: "{enabled: true, allowed_origins: ['https://a.test']}",
  security_headers: "{enabled: true}",
  acme: "{enabled: true, domains: [a.test]}",
  errors: "{404: page.html}",
  maintenance: "page.html",
  pass_identity_headers: "[X-Scheme]",
};

describe("settings that a sidecar's listeners do not take", () => {
  test("are all tried here", () => {
    const left = Object.entries(SIDECAR_USE).flatMap(([key, use]) => (use === "left" ? [key] : []));
    expect(left.sort()).toEqual(Object.keys(LEFT).sort());
  });

  test.each(Object.entries(LEFT))("are named: %s", (key, value) => {
    expect(saidBelow(`  ${key}: ${value}\n`)[0]).toContain(`do not take server.${key}:`);
  });

  test("are named together", () => {
    const [said = ""] = saidBelow("  waf: {enabled: true}\n  cors: {enabled: true, allowed_origins: ['*']}\n");
    expect(said).toContain("do not take server.waf, server.cors:");
  });

  test("are not named where they are off, or where the sidecar takes them", () => {
    expect(saidBelow("  waf: {enabled: false}\n  inbound_chunked_mode: reject\n  idle_timeout: 5s\n")).toEqual([]);
  });
});
