import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { ModuleUse } from "../module-exports.ts";
import { inboundFunction } from "./function-modules.ts";

/** A module of the configuration. */
export interface UsedModule {
  /** Absolute path. */
  readonly module: string;
  readonly use: ModuleUse;
}

/** The modules that a configuration names, with what they are for, in its order. */
export function configuredModules({ routes, sidecar, functions }: RuntimeConfig): readonly UsedModule[] {
  const ofRoutes = routes.flatMap((route): UsedModule[] => {
    const hooks = "hooks" in route ? route.hooks : null;
    return [
      ...("module" in route ? [{ module: route.module, use: "function" } as const] : []),
      ...(hooks === null ? [] : [{ module: hooks.module, use: "hooks" } as const]),
    ];
  });
  const inbound = inboundFunction(sidecar);
  if (inbound !== null) ofRoutes.push({ module: inbound.module, use: "function" });
  return [...ofRoutes, ...functions.cron.map(({ module }): UsedModule => ({ module, use: "scheduled" }))];
}

/** What modules have of `functions`. */
export interface ModuleSettings {
  /** All that `process.env` holds. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether `allow` has `process`. */
  readonly mayChangeProcess: boolean;
}

/** What modules of a configuration have. */
export function moduleSettings({ functions: { env, allow } }: Pick<RuntimeConfig, "functions">): ModuleSettings {
  return { env: Object.fromEntries(env), mayChangeProcess: allow.includes("process") };
}
