// docs/quickstart.md: its commands, one after another, in a folder that has nothing but the binary.
import { afterAll, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isPrinted, PageShell, type PageStep, pageSteps } from "../harness/console-page.ts";
import { EDGE_BINARY, freePort } from "../harness/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-quickstart-"));
const shell = new PageShell(folder);
afterAll(async () => {
  // Where a step has failed, the gateway is still there.
  await shell.run("kill $(cat edge.pid) $(edge status --json | grep -m1 '\"pid\"' | tr -dc 0-9)").catch(() => "");
  shell.end();
  rmSync(folder, { recursive: true, force: true });
});

const PORTS = { "8080": freePort(), "8443": freePort() };

function here(text: string): string {
  return Object.entries(PORTS).reduce((all, [port, own]) => all.replaceAll(port, String(own)), text);
}

const missing = ["bash", "curl", "openssl"].filter((program) => Bun.which(program) === null);
if (missing.length > 0) console.log(`skipped: ${missing.join(", ")} not here (Debian: apt install curl openssl)`);

test.skipIf(missing.length > 0)(
  "takes a new user from the archive to an upgrade that loses nothing",
  async () => {
    // The archive is unpacked: that it is one is with the test of releases.
    mkdirSync(join(folder, "edge-1.0.0-rc.1-linux-x64"));
    copyFileSync(EDGE_BINARY, join(folder, "edge-1.0.0-rc.1-linux-x64/edge"));
    const steps = pageSteps("quickstart.md", "An authority with ACME").filter((step) => !isUnpacking(step));
    expect(steps.length).toBeGreaterThan(30);
    const took = new Map<string, number>();
    for (const step of steps) {
      if (step.kind === "file") await shell.write(step.name, here(step.text));
      else {
        const begin = performance.now();
        // What edge init writes has the usual ports.
        const isInit = step.line === "edge init";
        const output = await shell.run(isInit ? `edge init && ${ownPorts()}` : here(step.line));
        const expected = isInit ? step.printed : here(step.printed);
        took.set(step.section, (took.get(step.section) ?? 0) + performance.now() - begin);
        if (!isPrinted(expected, output)) {
          expect({ line: step.line, output }).toEqual({ line: step.line, output: expected });
        }
      }
    }
    console.log([...took].map(([name, ms]) => `${name} ${(ms / 1000).toFixed(1)} s`).join(", "));
    const log = readFileSync(join(folder, "site/edge.log"), "utf8");
    expect(log).not.toContain('"event":"exception"');
  },
  180_000,
);

test("a page that prints something else is seen", () => {
  expect(isPrinted("a…c\n…\nz\n", "abc\n1\n2\nz\n")).toBe(true);
  expect(isPrinted("a…c\n…\n", "abc\n")).toBe(true);
  expect(isPrinted("", "")).toBe(true);
  expect(isPrinted("", "an error\n")).toBe(false);
  expect(isPrinted("401\n", "200\n")).toBe(false);
});

function ownPorts(): string {
  return `sed -i 's/8080/${PORTS["8080"]}/' config.yaml`;
}

function isUnpacking(step: PageStep): boolean {
  return step.kind === "command" && /^(tar|sha256sum) /.test(step.line);
}
