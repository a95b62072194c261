import type { FaultLog } from "../../config/fault-log.ts";
import { type AcmeConfig, type AcmeOrder, MAX_ACME_CERTIFICATES } from "./settings.ts";

/** What of a configuration the orders follow from. */
interface OrderConfig {
  readonly server: { readonly acme: AcmeConfig };
  readonly routes: readonly { readonly hosts: readonly string[] }[];
}

/** The certificates that are to be obtained: those that `server.acme` names, and with `domains: auto` one for each host of a route. */
export function acmeOrders({ server, routes }: OrderConfig): readonly AcmeOrder[] {
  const { acme } = server;
  if (!acme.enabled || !acme.isAuto) return acme.enabled ? acme.orders : [];
  const { challengeType, profile, keyType } = acme;
  const directoryUrls = [acme.directoryUrl, ...acme.fallbackDirectoryUrls];
  const named = new Set(acme.orders.flatMap(({ names }) => names));
  const hosts = new Set(routes.flatMap((route) => route.hosts));
  const wanted = [...hosts].filter((host) => !named.has(host) && isProvable(host, challengeType === "dns-01"));
  const own = wanted.slice(0, MAX_ACME_CERTIFICATES).map((host) => ({
    names: [host],
    challengeType,
    directoryUrls,
    profile,
    keyType,
  }));
  return [...own, ...acme.orders];
}

/** Warns where `domains: auto` finds nothing, or not all of it. docs/acme.md#which-names */
export function checkAutoDomains(config: OrderConfig, log: FaultLog): void {
  const { acme } = config.server;
  if (!acme.enabled || !acme.isAuto) return;
  const at = ["server", "acme", "domains"];
  const hosts = [...new Set(config.routes.flatMap((route) => route.hosts))];
  const left = hosts.filter((host) => !isProvable(host, acme.challengeType === "dns-01"));
  if (hosts.length === left.length) log.warn(at, "auto uses the hosts of routes.yaml, and no route has a public host");
  else if (left.length > 0)
    log.warn(at, `auto leaves out ${left.slice(0, MAX_NAMED).join(", ")}: no authority can prove it`);
  if (hosts.length - left.length > MAX_ACME_CERTIFICATES)
    log.warn(
      at,
      `routes.yaml has ${hosts.length} hosts: certificates are obtained for the first ${MAX_ACME_CERTIFICATES}`,
    );
}

/** Whether a public or private authority could prove the host of a route: a name with a dot that is not this machine's own. */
function isProvable(host: string, provesWildcards: boolean): boolean {
  if (host.startsWith("*.")) return provesWildcards && isProvable(host.slice(2), true);
  return !host.startsWith("[") && host.includes(".") && !/^[\d.]+$|\.(localhost|local|invalid)$/.test(host);
}

const MAX_NAMED = 5;
