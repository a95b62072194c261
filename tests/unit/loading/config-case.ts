import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { formatFault } from "../../../src/config/config-fault.ts";
import { judgeRoutes } from "../../../src/explain/judge-routes.ts";
import { type ConfigResult, loadConfig } from "../../../src/loading/load-config.ts";
import { countries, networksOf } from "../../harness/mmdb.ts";

/** One case of the files in tests/vectors/config: what both files say, and what must come of it. */
export interface ConfigCase {
  readonly name: string;
  /** Text of config.yaml; left out, the file holds nothing but a comment. */
  readonly config?: string;
  /** Text of routes.yaml; left out, the file is not there. */
  readonly routes?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The exact lines of all faults. */
  readonly faults?: readonly string[];
  /** The exact lines of all warnings; left out, they are not looked at. */
  readonly warnings?: readonly string[];
  /** What the resolved configuration must hold, as a part of it. */
  readonly resolved?: object;
}

/** Rule names that the cases may use. */
export const KNOWN_RULES = ["TRAVERSAL-001", "TRAVERSAL-002", "SQLI-001", "XSS-001"];

const VECTORS = join(import.meta.dir, "../../vectors/config");

/** Reads one file of vectors. */
export function readVectors(file: string): unknown {
  return parse(readFileSync(join(VECTORS, file), "utf8"));
}

/** Reads one file of cases. */
export function readCases(file: string): ConfigCase[] {
  return readVectors(file) as ConfigCase[];
}

/** Puts a case and the files beside it (a folder, certificates) into a folder of its own and loads it from there. */
export function loadCase(one: ConfigCase): ConfigResult {
  return inFolder((dir) => {
    putFiles(dir);
    writeFileSync(join(dir, "config.yaml"), one.config ?? "{}\n");
    if (one.routes !== undefined) writeFileSync(join(dir, "routes.yaml"), one.routes);
    return load(dir, one.env ?? {});
  });
}

/** Puts the files that cases name into a folder. */
export function putFiles(dir: string): void {
  cpSync(join(VECTORS, "files"), dir, { recursive: true });
  putDatabases(dir);
}

/** Puts databases of addresses into a folder: one of countries, one of networks, and one that is old. */
export function putDatabases(dir: string): void {
  writeFileSync(join(dir, "country.mmdb"), countries({ "192.0.2.0/24": "DE" }));
  writeFileSync(join(dir, "asn.mmdb"), networksOf({ "192.0.2.0/24": 64500 }));
  writeFileSync(join(dir, "old.mmdb"), countries({ "192.0.2.0/24": "DE" }, { builtSeconds: 1_600_000_000 }));
}

/** Stands for the system's configuration: the machine that runs the tests may have one. Counted from the working folder. */
export const SYSTEM_CONFIG = "etc/edge/config.yaml";

/** Loads what stands in a folder, as a start in that folder would. */
export function load(dir: string, env: Readonly<Record<string, string>>): ConfigResult {
  return loadConfig({
    systemConfig: SYSTEM_CONFIG,
    configPath: null,
    routesPath: null,
    cwd: dir,
    env,
    knownWafRules: KNOWN_RULES,
    judge: judgeRoutes,
  });
}

/** The lines that an operator would see, the folder's own path as `DIR`. */
export function lines(faults: Parameters<typeof formatFault>[0][]): string[] {
  return faults.map((fault) => formatFault(fault).replaceAll(/(\/[^\s/()]+)*\/edge-config-\w+/g, "DIR"));
}

/** Runs something in a folder that is removed afterwards. */
export function inFolder<T>(run: (dir: string) => T): T {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "edge-config-")));
  try {
    return run(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}
