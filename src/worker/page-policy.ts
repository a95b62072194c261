import { NetworkSet } from "../core/network-set.ts";
import { InterceptPhase } from "../features/pages/intercept-phase.ts";
import { type Maintenance, type MaintenanceListener, MaintenancePhase } from "../features/pages/maintenance-phase.ts";
import { PageText } from "../features/pages/page-text.ts";
import { HtmlRefusals } from "../features/pages/refusal-pages.ts";
import type { ErrorPages, MaintenanceConfig } from "../features/pages/settings.ts";
import { StatusPages } from "../features/pages/status-pages.ts";
import type { Phase } from "../message/exchange.ts";
import type { RefusalPages } from "../message/ports.ts";
import type { Route } from "../message/route.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { settingsByIndex } from "./routing.ts";

/** What people see of refusals: each phase null where the configuration does not ask for it. */
export interface PagePolicy {
  readonly refusals: RefusalPages;
  readonly maintenance: Phase | null;
  readonly intercept: Phase | null;
}

/** Wires `errors` and `maintenance` of a server and its routes. docs/pages.md */
export function buildPagePolicy(
  config: RuntimeConfig,
  routes: readonly Route[],
  listener: MaintenanceListener,
): PagePolicy {
  const settings = settingsByIndex(config, routes);
  const { errors } = config.server;
  const server = errors === null ? null : new StatusPages(errors, null);
  const ofRoutes = settings.map(pagesWithin(server));
  const maintenance = maintenanceByRoute(config, routes, settings);
  const intercepted = settings.map((route, i) => {
    const isOn = route !== null && (route.errors?.intercept ?? errors?.intercept ?? false);
    return isOn ? ofRoutes[i]! : null;
  });
  return {
    refusals: new HtmlRefusals({ server, routes: ofRoutes, maintenance }),
    maintenance: maintenance.some((one) => one !== null) ? new MaintenancePhase(maintenance, listener) : null,
    intercept: intercepted.some((one) => one !== null) ? new InterceptPhase(intercepted) : null,
  };
}

/** Thousands of routes with the same pages have one table. */
function pagesWithin(server: StatusPages | null): (route: RouteConfig | null) => StatusPages | null {
  const known = new Map<string, StatusPages>();
  return (route) => {
    const errors: ErrorPages | null = route?.errors ?? null;
    if (errors === null) return server;
    const key = JSON.stringify(errors.pages.map(({ status, page }) => [status, page.file]));
    const pages = known.get(key) ?? new StatusPages(errors, server);
    known.set(key, pages);
    return pages;
  };
}

function maintenanceByRoute(
  config: RuntimeConfig,
  routes: readonly Route[],
  settings: readonly (RouteConfig | null)[],
): readonly (Maintenance | null)[] {
  const known = new Map<MaintenanceConfig, Maintenance>();
  return routes.map((route, i) => {
    const own = settings[i]?.maintenance ?? config.server.maintenance;
    if (own === null || !own.enabled || route.kind.isBuiltIn) return null;
    const made = known.get(own) ?? maintenanceOf(own);
    known.set(own, made);
    return made;
  });
}

function maintenanceOf({ page, allow, retryAfterMs }: MaintenanceConfig): Maintenance {
  return {
    page: page === null ? null : new PageText(page.html),
    allow: new NetworkSet(allow),
    retryAfterSeconds: Math.ceil(retryAfterMs / 1000),
  };
}
