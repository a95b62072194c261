// The surroundings of one benchmark run: a temporary folder with a site and a certificate, and the common origin.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { sampleJson } from "../harness/decoding.ts";
import { originNginx } from "./peer-configs.ts";
import { freePorts, ServerProcess } from "./server-process.ts";

/** What every server of one run shares. */
export interface Lab {
  readonly dir: string;
  readonly site: string;
  readonly originPort: number;
  /** Of the FastCGI application, where there is one; else 0. */
  readonly scriptPort: number;
  readonly workers: number;
  close(): Promise<void>;
}

/** Which origin stands behind the servers: nginx for figures, a small echo server for the soak. */
export type Origin = "nginx" | "echo";

/** Makes the folder and starts the origin, which is the same for every server and whose CPU time is not counted. */
export async function openLab(workers: number, origin: Origin): Promise<Lab> {
  const dir = mkdtempSync(join(tmpdir(), "edge-bench-"));
  process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
  // nginx drops to another user for its workers, and they must read the site.
  chmodSync(dir, 0o755);
  const site = makeSite(dir);
  const originPort = freePorts(1)[0]!;
  const command = origin === "nginx" ? originCommand(dir, site, originPort) : echoCommand(originPort);
  const server = new ServerProcess(command, dir, join(dir, "origin.log"));
  if (!(await server.isReady(originPort, "/x"))) throw new Error(`the origin did not start: ${server.lastWords()}`);
  const scriptPort = origin === "nginx" ? freePorts(1)[0]! : 0;
  const responder = [process.execPath, join(import.meta.dir, "fastcgi-responder.ts"), String(scriptPort)];
  const scripts = scriptPort === 0 ? null : new ServerProcess(responder, dir, join(dir, "scripts.log"));
  return {
    dir,
    site,
    originPort,
    scriptPort,
    workers,
    close: async () => {
      await server.stop();
      await scripts?.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Makes a self-signed certificate in the lab once; false when openssl is not there. */
export function makeCertificate(dir: string): boolean {
  if (Bun.which("openssl") === null) return false;
  const made = Bun.spawnSync([
    ...["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"],
    ...["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
    ...["-keyout", join(dir, "key.pem"), "-out", join(dir, "cert.pem")],
  ]);
  if (!made.success) return false;
  const both = Bun.spawnSync(["cat", join(dir, "cert.pem"), join(dir, "key.pem")]).stdout;
  writeFileSync(join(dir, "both.pem"), both);
  return true;
}

function makeSite(dir: string): string {
  const site = join(dir, "site");
  mkdirSync(site);
  writeFileSync(join(site, "small.txt"), "x".repeat(1024));
  writeFileSync(join(site, "index.php"), "<?php");
  writeFileSync(join(site, "big.bin"), "x".repeat(100 * 1024));
  writeFileSync(join(site, "body64k.txt"), "y".repeat(64 * 1024));
  writeFileSync(join(site, "rows.json"), sampleJson(64 * 1024));
  writeFileSync(join(site, "packed.json"), packedTo(1024));
  return site;
}

/** JSON that gzip makes about so long. */
function packedTo(bytes: number): Buffer {
  let rows = sampleJson(bytes);
  for (let size = bytes; gzipSync(rows).length < bytes; size += 64) rows = sampleJson(size);
  return rows;
}

function originCommand(dir: string, site: string, port: number): string[] {
  const file = join(dir, "origin.conf");
  writeFileSync(file, originNginx(dir, site, port));
  return ["nginx", "-p", dir, "-c", file];
}

function echoCommand(port: number): string[] {
  return [process.execPath, join(import.meta.dir, "soak-origin.ts"), String(port)];
}
