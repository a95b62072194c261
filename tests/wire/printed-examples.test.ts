// What commands print in README and docs is what they print. docs/quickstart.md and docs/jobs.md have tests of their own, and so have the
// pages whose commands need a gateway that runs.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isPrinted, pageSteps } from "../harness/console-page.ts";
import { runEdge } from "../harness/gateway.ts";

const TOP = join(import.meta.dir, "../..");
const folder = mkdtempSync(join(tmpdir(), "edge-printed-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// The mistakes that the pages show.
writeFileSync(join(folder, "config.yaml"), "server:\n  host: 127.0.0.1\n  prot: 8080\n...\n");
const WRONG_ROUTES = "- type: upstream\n  prefix: /api\n  host: a.example\n  target: 10.0.0.5:port\n...\n";

const EXAMPLES: readonly [page: string, line: RegExp, cwd: string, routes: string][] = [
  ["../README.md", /^\.\/edge check$/, folder, WRONG_ROUTES],
  ["explain.md", /^edge explain 'GET http:/, TOP, ""],
  ["configuration.md", /^edge check$/, folder, "[]\n...\n"],
  ["waf.md", /^edge waf test /, TOP, ""],
];

test.each(EXAMPLES)("%s: %s", async (page, wanted, cwd, routes) => {
  const found = pageSteps(page, "").filter((step) => step.kind === "command" && wanted.test(step.line));
  expect(found).toHaveLength(1);
  const [step] = found;
  if (step?.kind !== "command") throw new Error("no such command");
  if (routes !== "") writeFileSync(join(cwd, "routes.yaml"), routes);
  const words = [...step.line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!).slice(1);
  const { stdout, stderr } = await runEdge(words, {}, cwd);
  if (!isPrinted(step.printed, stdout + stderr)) expect(stdout + stderr).toBe(step.printed);
});
