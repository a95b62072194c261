import { isSameListen, ListenerEntries, type ListenPlace, openPlaces, redirectAt, withoutLocal } from "../addresses.ts";
import { type Plan, type Rule, ruleOf } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { type Address, boundTo, type CaddyBlock, portsOf, siteLeads } from "./caddy-sites.ts";

/** Sites of the same listeners. */
interface CaddyGroup {
  /** Names in `server.listeners`. */
  readonly names: readonly string[];
  readonly isTls: boolean;
  /** With their addresses there. */
  readonly sites: readonly CaddyBlock[];
  /** What leads clear text to sites with TLS, with its names. */
  readonly led: readonly { readonly rule: Rule; readonly names: readonly string[] }[];
}

/** An address with its site. */
interface Placed extends ListenPlace {
  readonly one: CaddyBlock;
  readonly address: Address;
}

/**
 * The listeners of sites that one port in clear text and one with TLS are not enough for: each address is an entry of
 * `server.listeners`, and routes count at those of their site alone.
 * @returns null if the usual two ports say the same
 */
export function listedSites(plan: Plan, sites: readonly CaddyBlock[], options: Statement | null): CaddyGroup[] | null {
  const { config, ledger } = plan;
  const all = sites.flatMap((one) => one.addresses.flatMap((address) => placesOf(one, address, options)));
  if (isUsual(all, sites)) return null;
  const clear = redirectPlaces(all, options);
  const open = openPlaces([...all, ...clear], plan.streams);
  if (open === null || open.length === 0) return null;
  const listed = new ListenerEntries();
  const usual = portsOf(options).https;
  const leading: string[] = [];
  const groups = new Map<string, CaddyGroup & { readonly names: string[] }>();
  for (const place of open) {
    const name = listed.add(place, {});
    const own = all.filter((other) => isSameListen(other, place));
    const at = [...Map.groupBy(own, ({ one }) => one)].map(([{ site }, list]) => ({
      site,
      addresses: list.map(({ address }) => address),
    }));
    // If nothing but redirects is there, the listener itself leads to TLS: names that no site has go there too.
    const isLeading = at.length === 0 && all.every(({ isTls, port }) => !isTls || port === usual);
    if (isLeading) leading.push(name);
    const led = place.isTls || isLeading ? [] : ledToTls(place, all, { clear, usual });
    const key = JSON.stringify([
      place.isTls,
      at.map(({ site, addresses }) => [sites.findIndex((one) => one.site === site), addresses.map(({ host }) => host)]),
      led.map(({ rule, names }) => [rule.keys, names]),
    ]);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { names: [name], isTls: place.isTls, sites: at, led });
    else known.names.push(name);
  }
  for (const { site, addresses } of sites) noteLost(plan, site, addresses, open, options);
  for (const one of sites.flatMap(({ site }) => site.all("bind"))) ledger.carry(one);
  config.server.listeners = listed.keys;
  if (leading.length > 0) redirectAt(config.server, leading);
  return [...groups.values()];
}

/** Whether one port in clear text and one with TLS are enough: all sites are at both, or those in clear text only lead to TLS. */
function isUsual(all: readonly Placed[], sites: readonly CaddyBlock[]): boolean {
  const shared = withoutLocal(all);
  const places = shared.filter((one, i) => shared.findIndex((other) => isSameListen(one, other)) === i);
  const [secure, clear] = [places.filter(({ isTls }) => isTls), places.filter(({ isTls }) => !isTls)];
  if (secure.length > 1 || clear.length > 1 || new Set(places.map(({ host }) => host)).size !== 1) return false;
  if (places.some(({ port }) => port === 0)) return false;
  if (secure.length === 0 || clear.length === 0) return true;
  const hostsAt = ({ addresses }: CaddyBlock, isClear: boolean): string =>
    addresses
      .filter((one) => one.isClear === isClear)
      .map(({ host }) => host)
      .sort()
      .join();
  return (
    sites.every((one) => siteLeads(one.site) || hostsAt(one, true) === "") ||
    sites.every((one) => siteLeads(one.site) || hostsAt(one, true) === hostsAt(one, false))
  );
}

/** The places of an address: one for each `bind`. */
function placesOf(one: CaddyBlock, address: Address, options: Statement | null): Placed[] {
  const bound = boundTo(one.site, options);
  const isTls = !address.isClear;
  return (bound.length === 0 ? [""] : bound).flatMap((word): Placed[] => {
    if (/[{}]/.test(word)) return [];
    const socket = /^unix\/(\/[^|]+)/.exec(word);
    if (socket !== null) return [{ host: `unix:${socket[1]}`, port: 0, isTls, one, address }];
    const host = word.replace(/^tcp[46]?\//, "");
    return [
      {
        host: host.includes(":") && !host.startsWith("[") ? `[${host}]` : host,
        port: address.port,
        isTls,
        one,
        address,
      },
    ];
  });
}

/** Where Caddy leads clear text to TLS by itself. */
function redirectPlaces(all: readonly Placed[], options: Statement | null): ListenPlace[] {
  if (options?.all("auto_https")[0] !== undefined) return [];
  const { http } = portsOf(options);
  return all
    .filter(({ isTls, port, address }) => isTls && port > 0 && address.host !== "" && port !== http)
    .map(({ host }) => ({ host, port: http, isTls: false }));
}

/** Redirects to TLS for the names of a place in clear text that no site there has. */
function ledToTls(
  place: ListenPlace,
  all: readonly Placed[],
  { clear, usual }: { readonly clear: readonly ListenPlace[]; readonly usual: number },
): CaddyGroup["led"] {
  if (!clear.some((one) => isSameListen(one, place))) return [];
  const own = new Set(all.filter((one) => isSameListen(one, place)).map(({ address }) => address.host));
  const secure = all.filter(
    ({ isTls, host, address }) => isTls && host === place.host && address.host !== "" && !own.has(address.host),
  );
  const known = new Set<string>();
  return secure.flatMap(({ one, address, port }) => {
    if (known.has(address.host)) return [];
    known.add(address.host);
    const to = `https://{host}${port === 443 || port === usual ? "" : `:${port}`}{uri}`;
    const { site } = one;
    const rule = ruleOf(site, `${site.file}:${site.line} ${site.text}: from clear text to TLS`, {
      type: "redirect",
      to,
      status: 308,
    });
    rule.hosts = [address.host];
    return [{ rule, names: [address.host] }];
  });
}

/** Says which addresses of a site are left out. */
function noteLost(
  { ledger }: Plan,
  site: Statement,
  addresses: readonly Address[],
  open: readonly ListenPlace[],
  options: Statement | null,
): void {
  const places = addresses.flatMap((address) => placesOf({ site, addresses }, address, options));
  const lost = places.filter((one) => !open.some((place) => isSameListen(place, one)));
  if (places.length > 0 && lost.length === 0) return;
  const why = "another address has the port, or the address is none that the gateway can listen at";
  const cure = "see server.listeners: docs/listeners.md";
  if (lost.length === places.length) ledger.noteWhole(site, `${why}: it is left out`, cure);
  else for (const { host, port } of lost) ledger.note(site, `${why}: ${host}:${port} is left out`, cure);
}
