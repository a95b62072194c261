import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { RuntimeConfig } from "../../../src/config/runtime-config.ts";

/** Reads a configuration from these texts, as the gateway would; throws when it has a fault. */
export function configOf(config: string, routes: string): RuntimeConfig {
  const folder = mkdtempSync(join(tmpdir(), "edge-admin-"));
  try {
    writeFileSync(join(folder, "config.yaml"), config);
    writeFileSync(join(folder, "routes.yaml"), routes.replaceAll("$FOLDER", folder));
    return load(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
