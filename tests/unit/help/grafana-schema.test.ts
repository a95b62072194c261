import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { grafanaDashboard } from "../../../src/help/grafana.ts";

const ROOT = join(import.meta.dir, "../../..");
const FLAGS =
  "--noEmit --strict --skipLibCheck --ignoreConfig --types [] --target es2022 --module esnext --moduleResolution bundler";

/** What the compiler has to say of it by the types that Grafana publishes of its dashboards. */
function faultsOf(dashboard: object): string {
  mkdirSync(join(ROOT, ".bun"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, ".bun/grafana-"));
  const file = join(folder, "dashboard.ts");
  const text = JSON.stringify(dashboard);
  writeFileSync(file, `import type { Dashboard } from "@grafana/schema";\nexport const shown: Dashboard = ${text};\n`);
  try {
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const flags = FLAGS.split(" ").map((flag) => (flag === "[]" ? "" : flag));
    return Bun.spawnSync([process.execPath, tsc, ...flags, file], { cwd: ROOT }).stdout.toString();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("the dashboard is one by Grafana's own types", () => {
  expect(faultsOf({ ...grafanaDashboard(), schemaVersion: "new" })).toContain("is not assignable to type 'number'");
  expect(faultsOf(grafanaDashboard())).toBe("");
}, 60_000);
