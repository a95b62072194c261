import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { mayColor, type SummaryFacts, startSummary } from "../../../src/control/start-summary.ts";
import { loadConfig } from "../../../src/loading/load-config.ts";
import { inFolder } from "../loading/config-case.ts";

const FACTS: SummaryFacts = { version: "9.8.7", pid: 4242, workers: 2, ports: new Map(), notes: [] };
const FILES = join(import.meta.dir, "../../vectors/config/files");

/** The lines for a configuration; folders count from the one that it lies in. */
function told(config: string, routes: string, facts: Partial<SummaryFacts> = {}, hasColor = false): string[] {
  let text = "";
  inFolder((cwd) => {
    writeFileSync(join(cwd, "config.yaml"), config);
    writeFileSync(join(cwd, "routes.yaml"), routes);
    const source = { configPath: null, routesPath: null, cwd, env: {} };
    const loaded = loadConfig(source);
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
    text = startSummary(loaded.config, { ...FACTS, ...facts }, { hasColor, cwd });
  });
  return text.split("\n");
}

describe("the summary of a start", () => {
  test("tells addresses, routes and what is on", () => {
    const routes = "[{type: static, prefix: /, dir: .}, {type: upstream, prefix: /api, target: 'http://a:1'}]";
    const ports = new Map([["http", 8080] as const]);
    expect(told("server: {host: 127.0.0.1, port: 0, waf: {enabled: true}}", routes, { ports })).toEqual([
      "",
      "edge 9.8.7 serves, 2 workers, process 4242",
      "",
      "  http://127.0.0.1:8080/  this machine only",
      "",
      "Routes",
      expect.stringMatching(/^ {2}\/ {5}static {4}\/\S+$/),
      "  /api  upstream  http://a:1",
      "",
      "On:  firewall (enforce), access log, metrics",
      "Off: TLS, HTTP/3, cache, compression, rate limit, CORS, security headers",
      "",
      "Dashboard: http://127.0.0.1:8080/internal/",
      "Metrics:   http://127.0.0.1:8080/metrics",
      "Health:    http://127.0.0.1:8080/health",
      "",
      "Ctrl-C ends it; kill -HUP 4242 reads the files again.",
      "",
      "",
    ]);
  });

  test("has the addresses that a browser can open, TLS first", () => {
    const tls = `{port: 443, cert_file: ${FILES}/cert.pem, key_file: ${FILES}/key.pem, redirect_http: true}`;
    const own = `server: {port: 80, tls: ${tls}, http3: {enabled: true}}\ninternal_api: {listen: "[::1]:9090"}`;
    const lines = told(own, "[]");
    expect(lines.filter((line) => line.includes("://"))).toEqual([
      "  https://localhost/           every address of this machine",
      "  http://localhost/            redirects to https",
      "  http://[::1]:9090/internal/  dashboard and internal endpoints",
    ]);
    expect(lines).toContain("  none: only the endpoints of the gateway itself are served");
    const acme =
      "server: {tls: {port: 8443}, acme: {enabled: true, email: a@b.test, domains: [shop.test, www.shop.test]}}";
    expect(told(acme, "[]").join("\n")).toMatch(
      /https:\/\/shop\.test:8443\/ .*ACME\n {2}https:\/\/www\.shop\.test:8443\//,
    );
  });

  test("is short and fits 80 columns, however much is configured", () => {
    const long = "a".repeat(300);
    const routes = Array.from(
      { length: 30 },
      (_, i) => `{type: upstream, prefix: /${long}${i}, target: 'http://${long.slice(0, 60)}:1'}`,
    );
    const sections =
      "waf: {}, cache: {enabled: true, cookies: bypass}, rate_limit: {requests: 1, window: 1s}, cors: {allowed_origins: ['*']}, security_headers: {}";
    const transcoder =
      "transcoder: {enabled: true, routes: [{http_method: GET, http_path: /x, grpc_method: /p.S/M, upstream_url: 'http://a:1'}]}";
    const notes = [`something ${"that is long ".repeat(20)}`];
    const lines = told(
      `server: {host: '2001:db8:1111:2222:3333:4444:5555:6666', ${sections}}\n${transcoder}`,
      `[${routes}]`,
      { notes },
    );
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.length).toBeLessThan(40);
    expect(lines).toContain("  and 21 more: edge check --print");
  });

  test("holds no control byte, and colors only where they are wanted", () => {
    expect(told("{}", "[]", { notes: ["a\x1b[31mb\x07"] }).join("\n")).not.toMatch(/[\x1b\x07]/);
    expect(told("{}", "[]", {}, true).join("")).toContain("\x1b[");
    expect([{}, { NO_COLOR: "1" }, { NO_COLOR: "" }, { TERM: "dumb" }].map(mayColor)).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});
