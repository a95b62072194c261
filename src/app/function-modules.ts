import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { ModuleExports } from "../features/functions/wire.ts";

/** What a configuration wants of a module. */
export interface ModuleUse {
  /** The longest time that one of its uses may take, in milliseconds. */
  readonly timeoutMs: number;
  /** What is asked for; of several one is enough. */
  readonly needs: readonly (keyof ModuleExports)[];
}

/** The modules of a configuration by their absolute paths: those of routes, of their hooks, and of schedules. */
export function moduleUses({ routes, functions }: Pick<RuntimeConfig, "routes" | "functions">): Map<string, ModuleUse> {
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
  for (const { module, timeoutMs } of functions.cron) add(module, timeoutMs, ["scheduled"]);
  return uses;
}
