import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { UsedModule } from "./module-check.ts";

/** The modules that a configuration names, with what they are for, in its order. */
export function configuredModules({ routes, functions }: RuntimeConfig): readonly UsedModule[] {
  const ofRoutes = routes.flatMap((route): UsedModule[] => {
    const hooks = "hooks" in route ? route.hooks : null;
    return [
      ...("module" in route ? [{ module: route.module, use: "function" } as const] : []),
      ...(hooks === null ? [] : [{ module: hooks.module, use: "hooks" } as const]),
    ];
  });
  return [...ofRoutes, ...functions.cron.map(({ module }): UsedModule => ({ module, use: "scheduled" }))];
}

/** What `process.env` holds in modules: `functions.env`. */
export function moduleEnvironment({ functions }: RuntimeConfig): Readonly<Record<string, string>> {
  return Object.fromEntries(functions.env);
}
