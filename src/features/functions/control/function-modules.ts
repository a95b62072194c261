import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { ModuleExports } from "../wire.ts";

/** What a configuration wants of a module. */
export interface ModuleUsage {
  /** The longest time that one of its uses may take, in milliseconds. */
  readonly timeoutMs: number;
  /** What is asked for; of several one is enough. */
  readonly needs: readonly (keyof ModuleExports)[];
}

/**
 * The modules of a configuration that have threads, by their absolute paths: those of routes and of their hooks, and that of a sidecar. A schedule has a thread for
 * each run.
 */
export function moduleUses({ routes, sidecar }: Pick<RuntimeConfig, "routes" | "sidecar">): Map<string, ModuleUsage> {
  const uses = new Map<string, ModuleUsage>();
  const add = (module: string, timeoutMs: number, needs: ModuleUsage["needs"]): void => {
    const before = uses.get(module);
    uses.set(module, {
      timeoutMs: Math.max(timeoutMs, before?.timeoutMs ?? 0),
      needs: [...(before?.needs ?? []), ...needs],
    });
  };
  for (const route of routes) {
    if ("module" in route) add(route.module, route.timeoutMs, ["fetch"]);
    const hooks = "hooks" in route ? route.hooks : null;
    if (hooks !== null) add(hooks.module, hooks.timeoutMs, ["onRequest", "onResponse"]);
  }
  const inbound = inboundFunction(sidecar);
  if (inbound !== null) add(inbound.module, inbound.timeoutMs, ["fetch"]);
  return uses;
}

/** The function of a sidecar to which something comes in; null without one. */
export function inboundFunction({ enabled, mode, function: own }: RuntimeConfig["sidecar"]): FunctionOfSidecar | null {
  return enabled && mode !== "egress" ? own : null;
}

type FunctionOfSidecar = NonNullable<RuntimeConfig["sidecar"]["function"]>;

/**
 * Short names of modules, by their absolute paths: the name of the file, with as many of the folders before it as tell it from all others.
 */
export function moduleNames(modules: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  let left = [...new Set(modules)];
  for (let parts = 1; left.length > 0; parts++) {
    const tails = Map.groupBy(left, (path) => path.split("/").slice(-parts).join("/"));
    left = [];
    for (const [tail, paths] of tails) {
      if (paths.length === 1) names.set(paths[0]!, tail);
      else left.push(...paths);
    }
  }
  return names;
}
