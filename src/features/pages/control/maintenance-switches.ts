import { labelOf } from "../../../routes/route-base.ts";
import type { RouteConfig } from "../../../routes/route-config.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import { type MaintenanceConfig, PLAIN_MAINTENANCE } from "../settings.ts";

/** What operators have switched: null, or nothing of a route, where the files decide. */
interface Switches {
  readonly server: boolean | null;
  /** By the routes' prefixes and paths. */
  readonly routes: ReadonlyMap<string, boolean>;
}

/** The same as plain data. */
export interface SwitchState {
  readonly server: boolean | null;
  readonly routes: readonly (readonly [path: string, isOn: boolean])[];
}

/**
 * Maintenance as operators have switched it at run time. A switch holds, over what the files say and over reloads, until it is
 * put back to what the files say, or the process ends without one that takes over. docs/pages.md#maintenance-at-run-time
 */
export class MaintenanceSwitches {
  private switches: Switches = { server: null, routes: new Map() };

  /**
   * Notes a switch.
   * @param config as the files said it
   * @param route a prefix or path; null for the server, which puts all routes back to what the files say of them
   * @returns what takes the switch back; null if there is no such route
   */
  turn(config: RuntimeConfig, isOn: boolean, route: string | null): (() => void) | null {
    const before = this.switches;
    if (route === null) {
      const isPlain = isOn === (config.server.maintenance?.enabled ?? false);
      this.switches = { server: isPlain ? null : isOn, routes: new Map() };
    } else {
      const found = config.routes.filter((each) => labelOf(each) === route);
      if (found.length === 0) return null;
      const routes = new Map(before.routes);
      const own = (each: RouteConfig) => each.maintenance ?? serverMaintenance(config, before.server);
      if (found.every((each) => (own(each)?.enabled ?? false) === isOn)) routes.delete(route);
      else routes.set(route, isOn);
      this.switches = { ...before, routes };
    }
    return () => {
      this.switches = before;
    };
  }

  /** Whether nothing has been switched. */
  get isPlain(): boolean {
    return this.switches.server === null && this.switches.routes.size === 0;
  }

  /** What has been switched, for the process that takes over. */
  get state(): SwitchState {
    const { server, routes } = this.switches;
    return { server, routes: [...routes] };
  }

  /** Takes up what the process before this one had. */
  restore({ server, routes }: SwitchState): void {
    this.switches = { server, routes: new Map(routes) };
  }

  /** The configuration with what has been switched. */
  applied(config: RuntimeConfig): RuntimeConfig {
    const { server, routes } = this.switches;
    if (this.isPlain) return config;
    const ofServer = serverMaintenance(config, server);
    return {
      ...config,
      server: { ...config.server, maintenance: ofServer },
      routes: config.routes.map((route) => {
        const isOn = routes.get(labelOf(route));
        return isOn === undefined ? route : { ...route, maintenance: turned(route.maintenance ?? ofServer, isOn) };
      }),
    };
  }
}

/** The prefixes and paths of the routes that are under maintenance, each once, the first MAX_LISTED of them. */
export function routesInMaintenance({ server, routes }: RuntimeConfig): readonly string[] {
  const found = new Set<string>();
  for (const route of routes) {
    if ((route.maintenance ?? server.maintenance)?.enabled !== true) continue;
    found.add(labelOf(route));
    if (found.size === MAX_LISTED) break;
  }
  return [...found];
}

const MAX_LISTED = 100;

function serverMaintenance({ server }: RuntimeConfig, isOn: boolean | null): MaintenanceConfig | null {
  return isOn === null ? server.maintenance : turned(server.maintenance, isOn);
}

function turned(maintenance: MaintenanceConfig | null, enabled: boolean): MaintenanceConfig {
  return { ...(maintenance ?? PLAIN_MAINTENANCE), enabled };
}
