import { NetworkSet } from "../../core/network-set.ts";
import type { Phase, RefusalPages, Route } from "../../message/exchange.ts";
import { InterceptPhase } from "./intercept-phase.ts";
import { type Maintenance, type MaintenanceListener, MaintenancePhase } from "./maintenance-phase.ts";
import { PageText } from "./page-text.ts";
import { HtmlRefusals } from "./refusal-pages.ts";
import type { ErrorPages, MaintenanceConfig } from "./settings.ts";
import { StatusPages } from "./status-pages.ts";

/** What people see of refusals: each phase null if the configuration does not ask for it. */
export interface PagePolicy {
  readonly refusals: RefusalPages;
  readonly maintenance: Phase | null;
  readonly intercept: Phase | null;
}

/** What a server, or a route, says of pages. */
interface PageSettings {
  readonly errors: ErrorPages | null;
  readonly maintenance: MaintenanceConfig | null;
}

/**
 * Wires `errors` and `maintenance` of a server and its routes. docs/pages.md
 * @param settings what the configuration says of each route, by number; null for the gateway's own
 */
export function buildPagePolicy(
  ofServer: PageSettings,
  routes: readonly Route[],
  settings: readonly (PageSettings | null)[],
  listener: MaintenanceListener,
): PagePolicy {
  const { errors } = ofServer;
  const server = errors === null ? null : new StatusPages(errors, null);
  const ofRoutes = settings.map(pagesWithin(server));
  const maintenance = maintenanceByRoute(ofServer.maintenance, routes, settings);
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
function pagesWithin(server: StatusPages | null): (route: PageSettings | null) => StatusPages | null {
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
  server: MaintenanceConfig | null,
  routes: readonly Route[],
  settings: readonly (PageSettings | null)[],
): readonly (Maintenance | null)[] {
  const known = new Map<MaintenanceConfig, Maintenance>();
  return routes.map((route, i) => {
    const own = settings[i]?.maintenance ?? server;
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
