import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { formatFault } from "../../../src/config/config-fault.ts";
import { RULE_NAMES } from "../../../src/features/waf/rule-table.ts";
import { loadConfig } from "../../../src/loading/load-config.ts";
import { ROUTE_FORMAT } from "../../../src/routes/route-format.ts";
import { configFile } from "../../../src/settings/config-settings.ts";
import { putDatabases } from "./config-case.ts";

// The examples of configuration in the documentation are configurations, or keys of a route. Files and variables that they name are not
// there, which is the only fault allowed.

const TOP = join(import.meta.dir, "../../..");
const PAGES = ["README.md", "docs/*.md", "scripts/**/*.md"].flatMap((pattern) => [
  ...new Bun.Glob(pattern).scanSync(TOP),
]);
const BLOCK = /^```yaml\n([\s\S]*?)^```/gm;
const MISSING = /no such (file|folder)|environment variable \w+ is not set/;

/** YAML that is no file of the gateway's, by what it begins with. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  "docs/docker.md": ["services:"],
  "docs/providers.md": ["# compose.yaml"],
  "docs/observe.md": ["scrape_configs:"],
  "docs/transcoder.md": ["# shop_http.yaml"],
};

/** Routes may speak of countries, and of a fleet. */
const BESIDE =
  "server: {geo: {country_db: country.mmdb, asn_db: asn.mmdb}, listeners: [{name: office, address: ':8080'}, {name: local, address: ':8081'}]}\ncluster: {store: redis://127.0.0.1:6379}\n";

/** What a route has whose other keys an example shows. */
const ROUTE = "- type: upstream\n  prefix: /example\n  target: http://127.0.0.1:9001\n";

type Kind = "config" | "routes" | "route";

/** What an example is a part of, by its first line or its keys; null where it is none of the gateway's. */
function kindOf(text: string): Kind | null {
  const named = /^# (config|routes)\.yaml$/m.exec(text.split("\n")[0]!)?.[1];
  if (named !== undefined) return named as Kind;
  const value: unknown = parse(text.replaceAll("…", "x"));
  if (Array.isArray(value)) return "routes";
  const names = Object.keys(value as object);
  if (names.every((name) => Object.hasOwn(configFile.rows, name))) return "config";
  const options = ROUTE_FORMAT.options.rows;
  const own = ROUTE_FORMAT.types.upstream!.keys.rows;
  return names.every((name) => Object.hasOwn(options, name) || Object.hasOwn(own, name)) ? "route" : null;
}

function faultsOf(kind: Kind, text: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), "edge-example-"));
  try {
    const routes = kind === "route" ? ROUTE + text.replace(/^(?=.)/gm, "  ") : text;
    writeFileSync(join(folder, "config.yaml"), kind === "config" ? text : BESIDE);
    putDatabases(folder);
    writeFileSync(join(folder, "routes.yaml"), kind === "config" ? "[]" : routes);
    const request = { configPath: null, routesPath: null, cwd: folder, env: {} };
    const result = loadConfig({ ...request, knownWafRules: RULE_NAMES });
    return result.ok ? [] : result.faults.map(formatFault).filter((fault) => !MISSING.test(fault));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("examples in", () => {
  for (const page of PAGES) {
    const examples = [...readFileSync(join(TOP, page), "utf8").matchAll(BLOCK)]
      .map(([, text]) => text!)
      .filter((text) => !(OTHERS[page] ?? []).some((start) => text.startsWith(start)));
    if (examples.length === 0) continue;
    test(`${page}: ${examples.length}`, () => {
      const faults = examples.flatMap((text) => {
        const kind = kindOf(text);
        return kind === null ? [`no part of config.yaml or routes.yaml: ${text}`] : faultsOf(kind, text);
      });
      expect(faults).toEqual([]);
    });
  }

  test("a page with a mistake would be seen", () => {
    expect(faultsOf("config", "server: {prot: 80}")).toHaveLength(1);
    expect(kindOf("server: {prot: 80}")).toBe("config");
    expect(kindOf("- { type: respond }")).toBe("routes");
    expect(kindOf("auth: false")).toBe("route");
    expect(faultsOf("route", "auth: {basic: 1}\n")).toHaveLength(1);
    expect(kindOf("sever: {}")).toBeNull();
  });
});
