import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatFault } from "../../../src/config/config-fault.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { RULE_NAMES } from "../../../src/features/waf/rule-table.ts";
import { ROUTE_FORMAT } from "../../../src/routes/route-format.ts";
import { putDatabases } from "./config-case.ts";

// The examples of configuration in docs/ are configurations. Files that they name are not there, which is the only fault allowed.

const DOCS = join(import.meta.dir, "../../../docs");
const EXAMPLE = /^```yaml\n# (config|routes)\.yaml\n([\s\S]*?)^```/gm;
const MISSING_FILE = /no such (file|folder)/;

/** Routes may speak of countries. */
const GEO = "server: {geo: {country_db: country.mmdb, asn_db: asn.mmdb}}\n";

const pages = readdirSync(DOCS).filter((name) => name.endsWith(".md"));

function faultsOf(kind: string, text: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), "edge-example-"));
  try {
    writeFileSync(join(folder, "config.yaml"), kind === "config" ? text : GEO);
    putDatabases(folder);
    writeFileSync(join(folder, "routes.yaml"), kind === "routes" ? text : "[]");
    const request = { configPath: null, routesPath: null, cwd: folder, env: {} };
    const result = loadConfig({ ...request, knownWafRules: RULE_NAMES, routeFormat: ROUTE_FORMAT });
    return result.ok ? [] : result.faults.map(formatFault).filter((fault) => !MISSING_FILE.test(fault));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("examples in the documentation", () => {
  for (const page of pages) {
    const examples = [...readFileSync(join(DOCS, page), "utf8").matchAll(EXAMPLE)];
    if (examples.length === 0) continue;
    test(`${page}: ${examples.length}`, () => {
      expect(examples.flatMap(([, kind, text]) => faultsOf(kind!, text!))).toEqual([]);
    });
  }

  test("a faulty one is found", () => {
    expect(faultsOf("config", "server: {prot: 80}")).toHaveLength(1);
  });
});
