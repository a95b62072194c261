import { expect, test } from "bun:test";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { needsRestart, restartSettings } from "../../../src/app/reload.ts";
import type { RuntimeConfig } from "../../../src/config/runtime-config.ts";
import { inFolder, load } from "../config/config-case.ts";

const FILES = join(import.meta.dir, "../../vectors/config/files");

function restartFor(before: string, after: string): readonly string[] {
  return inFolder((dir) => {
    cpSync(FILES, dir, { recursive: true });
    const [old, now] = [before, after].map((text): RuntimeConfig => {
      writeFileSync(join(dir, "config.yaml"), text);
      const result = load(dir, {});
      if (!result.ok) throw new Error(JSON.stringify(result.faults));
      return result.config;
    });
    return needsRestart(restartSettings(old!), now!);
  });
}

const server = (tls: string, more: string) => `server: {tls: {cert_file: cert.pem, key_file: key.pem${tls}}, ${more}}`;

test.each([
  ["nothing that matters", server("", "http3: {}"), server("", "http3: {}, write_timeout: 9s"), []],
  ["threads", "server: {workers: 1}", "server: {workers: 2}", ["server.workers"]],
  ["HTTP/3 itself", server("", "idle_timeout: 9s"), server("", "http3: {}"), ["server.http3.enabled"]],
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
