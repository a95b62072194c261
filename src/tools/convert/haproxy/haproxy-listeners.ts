import { isLoopbackAddress, noteLocal } from "../access.ts";
import { ListenerEntries, type ListenPlace, openPlaces, withoutLocal } from "../addresses.ts";
import { type Keys, sectionAt } from "../keys.ts";
import type { Plan } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { HaproxySection } from "./haproxy-backends.ts";
import { hasVariable } from "./haproxy-conditions.ts";

/** An address of a `bind` line. The port is 0 for what is no port of an address. */
interface Bind extends ListenPlace {
  readonly statement: Statement;
  readonly entry: HaproxySection;
}

/** Listeners of one frontend that speak alike. */
export interface HaproxyGroup {
  readonly entry: HaproxySection;
  readonly isTls: boolean;
  /** Names in `server.listeners`. */
  readonly names: readonly string[];
}

/**
 * The listeners of frontends that one port in clear text and one with TLS are not enough for: each address is an entry of
 * `server.listeners`, and routes count at those of their frontend alone.
 * @returns null if the usual two ports say the same
 */
export function listedBinds(
  plan: Plan,
  entries: readonly HaproxySection[],
  leads: (entry: HaproxySection) => boolean,
): readonly HaproxyGroup[] | null {
  const { ledger, streams, config } = plan;
  const binds = entries.flatMap((entry) => entry.statement.all("bind").flatMap((one) => bindsOf(one, entry)));
  const real = binds.filter(isReal);
  const open = openPlaces(real, streams);
  const shared = withoutLocal(real);
  const usual = [true, false].every((isTls) => shared.filter((one) => one.isTls === isTls).length <= 1);
  const serving = new Set(shared.map(({ entry }) => entry).filter((entry) => !leads(entry)));
  const isPlain = new Set(shared.map(({ host }) => host)).size === 1 && shared.every(({ port }) => port > 0);
  if (open === null || open.length === 0 || (usual && serving.size <= 1 && isPlain)) return null;
  const listed = new ListenerEntries();
  const groups = new Map<string, HaproxyGroup & { readonly names: string[] }>();
  for (const one of open) {
    const { entry, statement, isTls, port } = one;
    const { args } = statement;
    const mode = args.includes("mode") ? { mode: args[args.indexOf("mode") + 1]!.padStart(4, "0") } : {};
    const name = listed.add(one, isTls ? termsOf(statement) : {}, port === 0 ? mode : {});
    const key = `${entries.indexOf(entry)} ${isTls}`;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { entry, isTls, names: [name] });
    else known.names.push(name);
    ledger.carry(statement);
    noteProxyProtocol(statement, plan);
  }
  for (const one of binds)
    if (!(open as readonly Bind[]).includes(one))
      ledger.note(
        one.statement,
        "another address has the port, or the address is none that the gateway can listen at: it is left out",
        "see server.listeners: docs/listeners.md",
      );
  for (const entry of entries)
    if (![...groups.values()].some((group) => group.entry === entry))
      ledger.noteWhole(
        entry.statement,
        "the gateway listens at none of its addresses: it is left out",
        "write its addresses in server.listeners, and its routes with listeners",
      );
  config.server.listeners = listed.keys;
  if (listed.tls !== null) Object.assign(sectionAt(config.server, "tls"), listed.tls);
  return [...groups.values()];
}

function isReal({ port, host }: ListenPlace): boolean {
  return port > 0 || host !== "";
}

/** The frontends that are carried over, and what they listen with. */
interface HaproxyListeners {
  readonly kept: readonly HaproxySection[];
  /** Those of them that only this machine could reach, beside others. */
  readonly local: readonly HaproxySection[];
  readonly hasTls: boolean;
  readonly hasClear: boolean;
}

/**
 * Ports and certificates. There is one address, one port in clear text and one with TLS, and routes do not go by them: of several
 * frontends the one that has most of these is kept, and one that does nothing but lead to it.
 * @param isSame whether two frontends make the same routes
 * @param leads whether a frontend does nothing but lead clear text to TLS
 */
export function listeners(
  plan: Plan,
  entries: readonly HaproxySection[],
  isSame: (a: HaproxySection, b: HaproxySection) => boolean,
  leads: (entry: HaproxySection) => boolean,
): HaproxyListeners {
  const { server } = plan.config;
  const { ledger } = plan;
  const binds = entries.flatMap((entry) => entry.statement.all("bind").flatMap((one) => bindsOf(one, entry)));
  const hasPort = ({ port }: { readonly port: number }): boolean => port > 0;
  const main = mainOf(binds.filter(hasPort), leads);
  const mayStay = (entry: HaproxySection): boolean =>
    entry === main?.entry || (main !== undefined && isSame(entry, main.entry));
  const isHere = ({ host }: Bind): boolean => host === main?.host;
  const stays = binds.filter((one) => hasPort(one) && isHere(one) && (mayStay(one.entry) || leads(one.entry)));
  const tls = prefer(
    stays.filter(({ isTls }) => isTls).map(({ port }) => port),
    443,
  );
  const clear = prefer(
    stays.filter(({ isTls }) => !isTls).map(({ port }) => port),
    80,
  );
  const used = stays.filter(({ isTls, port }) => port === (isTls ? tls : clear));
  // What only this machine can reach, on the same port, stays so by rules about addresses.
  const local = isLoopbackAddress(main?.host ?? "")
    ? []
    : entries.filter((entry) => {
        const own = binds.filter((one) => one.entry === entry);
        const isUsed = own.some(({ isTls, port }) => hasPort({ port }) && port === (isTls ? tls : clear));
        return entry !== main?.entry && isUsed && own.every(({ host }) => isLoopbackAddress(host));
      });
  const kept = entries.filter(
    (entry) =>
      used.some((one) => one.entry === entry) || (binds.length === 0 && mayStay(entry)) || local.includes(entry),
  );
  server.port = clear ?? (tls === null ? 80 : "off");
  if (main !== undefined && main.host !== "") server.host = main.host.replace(/^\[|\]$/g, "");
  if (tls !== null) sectionAt(server, "tls").port = tls;
  const where = `here ${clear ?? "none"} and ${tls ?? "none"}${main === undefined || main.host === "" ? "" : ` at ${main.host}`}`;
  for (const one of binds)
    if (local.includes(one.entry)) noteLocal(ledger, one.statement);
    else if (kept.includes(one.entry)) judge(one, used.includes(one), where, plan);
  for (const entry of entries)
    if (!kept.includes(entry))
      ledger.noteWhole(
        entry.statement,
        `routes do not go by the listener, ${where}: what others must not reach by that is left out`,
        "serve it by a second gateway",
      );
  return { kept, local, hasTls: tls !== null, hasClear: clear !== null };
}

/** Carries a `bind` line of a frontend that is kept, or says that nothing listens there. */
function judge({ statement, isTls }: Bind, isUsed: boolean, where: string, plan: Plan): void {
  const { ledger } = plan;
  if (isTls && isUsed) certificates(plan, statement);
  if (isUsed) ledger.carry(statement);
  else
    ledger.note(
      statement,
      `there is one address, one port for clear text and one for TLS, ${where}: this one is left out`,
      "serve it by a second gateway",
    );
  noteProxyProtocol(statement, plan);
}

function noteProxyProtocol(statement: Statement, { ledger }: Plan): void {
  if (statement.args.includes("accept-proxy"))
    ledger.note(statement, "PROXY protocol comes from named senders", "set server.proxy_protocol with trusted");
}

/** The listener of which the frontend is kept: the usual ports before others, TLS before clear text, what others can reach before the rest. */
function mainOf(binds: readonly Bind[], leads: (entry: HaproxySection) => boolean): Bind | undefined {
  const rank = ({ isTls, port, host, entry }: Bind): number =>
    (leads(entry) ? -100 : 0) +
    (isLoopbackAddress(host) ? -10 : 0) +
    (isTls ? 2 : 0) +
    (port === 80 || port === 443 ? 5 : 0);
  return binds.toSorted((a, b) => rank(b) - rank(a))[0];
}

/** The addresses of a `bind` line. */
function bindsOf(statement: Statement, entry: HaproxySection): Bind[] {
  const [addresses = ""] = statement.args;
  const isTls = statement.args.includes("ssl");
  return addresses.split(",").map((text) => {
    const at = text.lastIndexOf(":");
    const port = text.slice(at + 1);
    const isPlain = at >= 0 && /^\d+$/.test(port) && !hasVariable(text) && !/^(unix|abns|fd|\/)/.test(text);
    const host = text
      .slice(0, Math.max(at, 0))
      .replace(/^(ipv[46]|tcp[46]?|quic[46])@/, "")
      .replace(/^(\*|\[::\]|::|0\.0\.0\.0)$/, "");
    const socket = hasVariable(text) ? null : /^(?:unix@)?(\/[^,]+)$/.exec(text);
    if (socket !== null) return { statement, entry, isTls, port: 0, host: `unix:${socket[1]}` };
    return { statement, entry, isTls, port: isPlain ? Number(port) : 0, host: isPlain ? host : "" };
  });
}

function prefer(ports: readonly number[], usual: number): number | null {
  return ports.includes(usual) ? usual : (ports[0] ?? null);
}

function certificates({ config }: Plan, statement: Statement): void {
  const tls = sectionAt(config.server, "tls");
  const {
    cert_file,
    key_file,
    certificates: more = [],
    ...terms
  } = termsOf(statement) as Keys & { certificates?: object[] };
  const pairs = [...(cert_file === undefined ? [] : [{ cert_file, key_file }]), ...more];
  const [first, ...others] = tls.cert_file === undefined ? pairs : [undefined, ...pairs];
  Object.assign(tls, first, terms);
  if (others.length > 0) tls.certificates = [...((tls.certificates as object[] | undefined) ?? []), ...others];
}

/** TLS of a `bind` line. `crt FILE`: certificate and key in one file. */
function termsOf({ args }: Statement): Keys {
  const tls: Keys = {};
  args.forEach((word, at) => {
    const file = args[at + 1];
    if (word !== "crt" || file === undefined) return;
    const pair = { cert_file: file, key_file: file };
    if (tls.cert_file === undefined) Object.assign(tls, pair);
    else tls.certificates = [...((tls.certificates as object[] | undefined) ?? []), pair];
  });
  const after = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
  const authorities = after("ca-file");
  const verify = after("verify");
  if (authorities !== undefined && verify !== undefined && verify !== "none")
    Object.assign(tls, { client_auth: verify === "required" ? "require" : "request", client_ca_file: authorities });
  const oldest = after("ssl-min-ver");
  if (oldest === "TLSv1.3" || oldest === "TLSv1.2") tls.min_version = oldest.slice(4);
  const revoked = after("crl-file");
  if (revoked !== undefined && tls.client_auth !== undefined) tls.crl_file = revoked;
  return tls;
}
