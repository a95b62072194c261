import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { UsedModule } from "./module-check.ts";

/** The parts of a configuration that name modules. */
interface Modular {
  readonly routes: readonly { readonly module?: string; readonly hooks?: { readonly module: string } | null }[];
  readonly functions?: {
    readonly env: readonly (readonly [string, string])[];
    readonly cron: readonly { readonly module: string }[];
  };
}

/** The modules that a configuration names, with what they are for, in its order. */
export function configuredModules(config: RuntimeConfig): readonly UsedModule[] {
  const { routes, functions } = config as unknown as Modular;
  const ofRoutes = routes.flatMap(({ module = "", hooks = null }): UsedModule[] => [
    ...(module === "" ? [] : [{ module, use: "function" } as const]),
    ...(hooks === null ? [] : [{ module: hooks.module, use: "hooks" } as const]),
  ]);
  const ofJobs = functions?.cron ?? [];
  return [...ofRoutes, ...ofJobs.map(({ module }): UsedModule => ({ module, use: "scheduled" }))];
}

/** What `process.env` holds in modules: `functions.env`. */
export function moduleEnvironment(config: RuntimeConfig): Readonly<Record<string, string>> {
  return Object.fromEntries((config as unknown as Modular).functions?.env ?? []);
}
