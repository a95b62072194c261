import { expect, test } from "bun:test";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { needsRestart, removedParts, restartSettings } from "../../../src/control/reload.ts";
import type { RuntimeConfig } from "../../../src/routes/runtime-config.ts";
import { inFolder, load, loadCase, readCases } from "../loading/config-case.ts";

const FILES = join(import.meta.dir, "../../vectors/config/files");

function restartFor(before: string, after: string): readonly string[] {
  return compare(before, after, (old, now) => needsRestart(restartSettings(old), now));
}

function compare(
  before: string,
  after: string,
  compared: (old: RuntimeConfig, now: RuntimeConfig) => readonly string[],
): readonly string[] {
  return inFolder((dir) => {
    cpSync(FILES, dir, { recursive: true });
    const [old, now] = [before, after].map((text): RuntimeConfig => {
      writeFileSync(join(dir, "config.yaml"), text);
      const result = load(dir, {});
      if (!result.ok) throw new Error(JSON.stringify(result.faults));
      return result.config;
    });
    return compared(old!, now!);
  });
}

const server = (tls: string, more: string) => `server: {tls: {cert_file: cert.pem, key_file: key.pem${tls}}, ${more}}`;

test.each([
  ["nothing that matters", server("", "http3: {}"), server("", "http3: {}, write_timeout: 9s"), []],
  ["threads", "server: {workers: 1}", "server: {workers: 2}", ["server.workers"]],
  ["HTTP/3 itself", server("", "idle_timeout: 9s"), server("", "http3: {}"), ["server.http3.enabled"]],
  ["the port of HTTP/3", server("", "http3: {port: 1}"), server("", "http3: {port: 2}"), ["server.http3.port"]],
  ["a sidecar's certificate", "{}", "sidecar: {cert_file: cert.pem, key_file: key.pem}", ["sidecar.cert_file"]],
  ["settings of TCP alone", server("", "idle_timeout: 9s"), server("", "idle_timeout: 8s"), []],
  [
    "settings that QUIC is opened with",
    server("", "http3: {}"),
    server(
      ", client_auth: require, client_ca_file: cert.pem",
      "http3: {}, idle_timeout: 9s, http2: {unknown_pseudo_headers: reject}",
    ),
    [
      "server.idle_timeout (HTTP/3)",
      "server.tls.client_auth (HTTP/3)",
      "server.tls.client_ca_file (HTTP/3)",
      "server.http2.unknown_pseudo_headers (HTTP/3)",
    ],
  ],
])("%s", (_name, before, after, keys) => {
  expect(restartFor(before, after)).toEqual(keys);
});

const mutual = ", client_auth: require, client_ca_file: cert.pem";

test.each([
  ["nothing", server(mutual, "waf: {}"), server(mutual, "waf: {}, rate_limit: {requests: 9}"), []],
  [
    "all that guards",
    `${server(`${mutual}, redirect_http: true`, "waf: {}, rate_limit: {requests: 9}, http3: {}")}
internal_api: {token: "12345678"}
sidecar: {enabled: true, mode: egress, strict_mtls: true, cert_file: cert.pem, key_file: key.pem}`,
    "{}",
    [
      "listener https 0.0.0.0:8443",
      "listener sidecar-egress 127.0.0.1:15001",
      "server.rate_limit",
      "server.tls",
      "server.tls.client_auth",
      "server.tls.client_auth: require",
      "server.tls.redirect_http",
      "server.http3",
      "server.waf",
      "server.waf.mode: enforce",
      "sidecar",
      "sidecar.strict_mtls",
      "internal_api.token",
    ],
  ],
  [
    "what has become weaker",
    server(mutual, "waf: {}"),
    server(", client_auth: request, client_ca_file: cert.pem", "waf: {mode: detection}"),
    ["server.tls.client_auth: require", "server.waf.mode: enforce"],
  ],
])("taken away: %s", (_name, before, after, parts) => {
  expect(compare(before, after, removedParts)).toEqual(parts);
});

test("every good configuration can be compared, whatever sections it has", () => {
  for (const one of readCases("good.yaml")) {
    const result = loadCase(one);
    if (!result.ok) throw new Error(one.name);
    expect(needsRestart(restartSettings(result.config), result.config)).toEqual([]);
    expect(removedParts(result.config, result.config)).toEqual([]);
  }
});
