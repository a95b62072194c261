import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { ModuleExports } from "../features/functions/wire.ts";

/** What a configuration wants of a module. */
export interface ModuleUse {
  /** The longest time that one of its uses may take, in milliseconds. */
  readonly timeoutMs: number;
  /** What is asked for; of several one is enough. */
  readonly needs: readonly (keyof ModuleExports)[];
}

/**
 * The modules of a configuration that have threads, by their absolute paths: those of routes and of their hooks. A schedule has a thread for
 * each run.
 */
export function moduleUses({ routes }: Pick<RuntimeConfig, "routes">): Map<string, ModuleUse> {
  const uses = new Map<string, ModuleUse>();
  const add = (module: string, timeoutMs: number, needs: ModuleUse["needs"]): void => {
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
  return uses;
}
