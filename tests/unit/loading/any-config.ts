import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatFault } from "../../../src/config/config-fault.ts";
import { loadConfig } from "../../../src/loading/load-config.ts";
import type { RuntimeConfig } from "../../../src/routes/runtime-config.ts";

/**
 * The configuration that these texts of config.yaml and routes.yaml make, in a folder that has a folder `site`. Throws
 * when there is a fault in them.
 */
export function configOf(config: string, routes = "[]\n"): RuntimeConfig {
  const folder = mkdtempSync(join(tmpdir(), "edge-admin-"));
  try {
    mkdirSync(join(folder, "site"));
    writeFileSync(join(folder, "config.yaml"), config || "{}\n");
    writeFileSync(join(folder, "routes.yaml"), routes);
    const knownWafRules = ["TRAVERSAL-001"];
    const result = loadConfig({
      configPath: null,
      routesPath: null,
      cwd: folder,
      env: {},
      knownWafRules,
    });
    if (!result.ok) throw new Error(result.faults.map(formatFault).join("\n"));
    return result.config;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
