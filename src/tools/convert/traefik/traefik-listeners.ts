import { isSameListen, ListenerEntries, type ListenPlace, openPlaces, redirectAt } from "../addresses.ts";
import type { Plan } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { child } from "./traefik-services.ts";

/** Routers of the same listeners. */
interface TraefikGroup {
  /** Names in `server.listeners`. */
  readonly names: readonly string[];
  readonly isTls: boolean;
  readonly routers: readonly Statement[];
}

/** An entry point. */
interface EntryPoint extends ListenPlace {
  readonly name: string;
  /** Null if another file has it: its name is a usual one, and so is its port. */
  readonly statement: Statement | null;
}

/** The known facts of the routers of a file. */
interface TraefikRouters {
  readonly routers: readonly Statement[];
  /** `entryPoints` of a static configuration, if it is in the same file. */
  readonly points: Statement | null;
  /** Whether a router does nothing but lead to TLS. */
  leads(router: Statement): boolean;
}

/**
 * The listeners of entry points: routes count at those of their router alone.
 * @returns null if one port in clear text and one with TLS say the same
 */
export function listedEntries(plan: Plan, all: TraefikRouters): TraefikGroup[] | null {
  const { routers, points } = all;
  const known = entriesOf(all);
  const found = known.map((entry) => ({ entry, own: routers.filter((one) => isAt(one, entry, known)) }));
  const used = found.filter(({ entry, own }) => own.length > 0 || leadsAway(entry.statement));
  if (used.length === 0 || isUsual(used, all)) return null;
  const open = openPlaces(
    used.map(({ entry }) => entry),
    plan.streams,
  );
  if (open === null) return null;
  const listed = new ListenerEntries();
  const groups = new Map<string, TraefikGroup & { readonly names: string[] }>();
  const leading: string[] = [];
  for (const { entry, own } of used) {
    if (!open.some((place) => isSameListen(place, entry))) continue;
    plan.ledger.carry(entry.statement, child(entry.statement, "address"));
    const name = listed.add(entry, {});
    const isLed = !entry.isTls && known.some(({ isTls }) => isTls);
    if (isLed && (leadsAway(entry.statement) || own.every((one) => all.leads(one) && !namesHost(one)))) {
      leading.push(name);
      plan.ledger.carry(...own);
      continue;
    }
    const key = `${entry.isTls} ${own.map((one) => routers.indexOf(one)).join()}`;
    const same = groups.get(key);
    if (same === undefined) groups.set(key, { names: [name], isTls: entry.isTls, routers: own });
    else same.names.push(name);
  }
  plan.config.server.listeners = listed.keys;
  if (leading.length > 0) redirectAt(plan.config.server, leading);
  const served = new Set([...groups.values()].flatMap((group) => group.routers));
  for (const one of routers)
    if (!served.has(one) && !all.leads(one))
      plan.ledger.noteWhole(
        one,
        points === null
          ? "another file says where its entry point listens: it is left out"
          : "none of its entry points speaks as it does, TLS or clear text: it is left out",
        "convert both files as one, or write server.listeners, and its routes with listeners",
      );
  return [...groups.values()];
}

/** The entry points that routers use, or that the file has. */
function entriesOf({ routers, points }: TraefikRouters): EntryPoint[] {
  if (points === null) {
    const names = new Set(routers.flatMap(entryPointsOf));
    const isAny = routers.some((one) => entryPointsOf(one).length === 0);
    const usual = [
      { names: /^(web|http)$/i, name: "web", port: 80, isTls: false },
      { names: /^(web-?secure|https)$/i, name: "websecure", port: 443, isTls: true },
    ];
    return usual.flatMap(({ names: fits, name, port, isTls }) => {
      const own = [...names].filter((one) => fits.test(one));
      return (own.length === 0 && isAny ? [name] : own.slice(0, 1)).map((one) => ({
        name: one,
        host: "",
        port,
        isTls,
        statement: null,
      }));
    });
  }
  return (points.block ?? []).flatMap((statement): EntryPoint[] => {
    const [, host = "", port = ""] = /^(.*):(\d+)(?:\/tcp)?$/.exec(child(statement, "address")?.args[0] ?? "") ?? [];
    if (port === "" || statement.name === "traefik") return [];
    const isSecured = child(child(statement, "http"), "tls") !== null;
    const named = routers.filter((one) => entryPointsOf(one).includes(statement.name));
    const isTls =
      isSecured ||
      (named.length > 0
        ? named.some((one) => child(one, "tls") !== null)
        : port === "443" || /secure|https/i.test(statement.name));
    return [
      { name: statement.name, host: host.replace(/^(0\.0\.0\.0|\[::\])$/, ""), port: Number(port), isTls, statement },
    ];
  });
}

/** The entry points that a router names. */
export function entryPointsOf(router: Statement): string[] {
  const words = (child(router, "entryPoints")?.args ?? []).flatMap((one) => one.split(","));
  return words.map((one) => one.trim()).filter((one) => one !== "");
}

/** Whether a router is asked at an entry point. Without names it is at all of them, or at all that are `asDefault`. */
function isAt(router: Statement, { name, isTls, statement }: EntryPoint, all: readonly EntryPoint[]): boolean {
  const names = entryPointsOf(router);
  const isUsual = (one: EntryPoint): boolean => child(one.statement, "asDefault")?.args[0] === "true";
  const isSecured = child(child(statement, "http"), "tls") !== null;
  const isNamed =
    names.length > 0 ? names.includes(name) : !all.some(isUsual) || child(statement, "asDefault")?.args[0] === "true";
  return isNamed && (isSecured || (child(router, "tls") !== null) === isTls);
}

/** `http.redirections.entryPoint` of an entry point: all requests go to another one. */
function leadsAway(statement: Statement | null): boolean {
  const to = child(child(child(statement, "http"), "redirections"), "entryPoint");
  return to !== null && (child(to, "scheme")?.args[0] ?? "https") === "https";
}

/** Whether a rule asks for a host. */
function namesHost(router: Statement): boolean {
  return /\bHost\(/i.test(child(router, "rule")?.args[0] ?? "");
}

/** Whether one port in clear text and one with TLS, the usual ones, are enough. */
function isUsual(
  used: readonly { readonly entry: EntryPoint; readonly own: readonly Statement[] }[],
  { routers, leads }: TraefikRouters,
): boolean {
  const [secure, clear] = [used.filter(({ entry }) => entry.isTls), used.filter(({ entry }) => !entry.isTls)];
  const isPlain = used.every(({ entry }) => entry.host === "" && entry.port === (entry.isTls ? 443 : 80));
  const isLed = secure.length === 0 || clear.every(({ own }) => own.every(leads));
  const isServed = routers.every((one) => used.some(({ own }) => own.includes(one)));
  return secure.length <= 1 && clear.length <= 1 && isPlain && isLed && isServed;
}
