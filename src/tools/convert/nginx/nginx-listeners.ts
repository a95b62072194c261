import { MAX_LISTENERS } from "../../../core/limits.ts";
import { isSameListen, type ListenPlace, listenAddress, listenPlaceName } from "../addresses.ts";
import { type Keys, sectionAt } from "../keys.ts";
import type { Plan } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { askedBy, isCleartext } from "./nginx-conditions.ts";
import type { Scope } from "./nginx-scope.ts";

/** Where a server listens. */
interface Listen extends ListenPlace {
  readonly statement: Statement | null;
  readonly isDefault: boolean;
}

/** A server with its names. */
export interface Listening {
  readonly scope: Scope;
  /** Its place among all servers. */
  readonly at: number;
  readonly listens: readonly Listen[];
  readonly hosts: readonly string[];
  /** Names that no `host` of a route says: expressions, `name.*`, variables. */
  readonly unsaid: readonly string[];
  /** It takes the requests for names that no server has. */
  isDefault: boolean;
}

/** Reads `listen` and `server_name` of all servers. */
export function nginxListeners(servers: readonly Scope[]): Listening[] {
  return servers.map(
    (scope, at): Listening => ({ scope, at, listens: listensOf(scope), ...hostsOf(scope), isDefault: false }),
  );
}

function listensOf(scope: Scope): Listen[] {
  const hasTls = scope.inherited("ssl").some(({ args }) => args[0] === "on");
  const all = scope.here("listen").map((statement) => listenOf(statement, hasTls));
  return all.length > 0 ? all : [{ statement: null, host: "", port: 80, isTls: hasTls, isDefault: false }];
}

function listenOf(statement: Statement, hasTls: boolean): Listen {
  const [address = "", ...options] = statement.args;
  const parts = /^(?:(\[[^\]]*\]|[^:[\]]+)(?::(\d+))?|(\d+))$/.exec(address);
  const isPort = /^\d+$/.test(address);
  return {
    statement,
    host: isPort
      ? ""
      : address.startsWith("unix:")
        ? address
        : (parts?.[1] ?? "").replace(/^(\*|\[::\]|0\.0\.0\.0)$/, ""),
    port: isPort ? Number(address) : address.startsWith("unix:") ? 0 : Number(parts?.[2] ?? 80),
    isTls: hasTls || options.includes("ssl") || options.includes("quic"),
    isDefault: options.includes("default_server") || options.includes("default"),
  };
}

function hostsOf(scope: Scope): Pick<Listening, "hosts" | "unsaid"> {
  const hosts: string[] = [];
  const unsaid: string[] = [];
  for (const statement of scope.here("server_name")) {
    scope.ledger.carry(statement);
    for (const name of statement.args) {
      if (name === "_" || name === "" || name === '""') continue;
      if (name.startsWith("~") || /\*$|\$/.test(name)) {
        unsaid.push(name);
        scope.ledger.note(
          statement,
          `the name ${name} is no plain name`,
          "write names, or *. and a name, at host of the routes",
        );
      } else if (name.startsWith(".")) hosts.push(name.slice(1).toLowerCase(), `*${name.toLowerCase()}`);
      else hosts.push(name.toLowerCase());
    }
  }
  return { hosts: [...new Set(hosts)], unsaid };
}

/** Servers of the same addresses. */
export interface NginxListeners {
  /** Those that become routes. */
  readonly served: readonly Listening[];
  /** Directives of which settings have taken the place. */
  readonly settled: ReadonlySet<Statement>;
  /** Whether no client comes in clear text, but to be sent to TLS. */
  readonly isTlsAlone: boolean;
  /** What counts of TLS there. */
  readonly tls: Keys;
  /** Names in `server.listeners`; empty if all routes are for every address. */
  readonly names: readonly string[];
}

/**
 * Makes addresses and certificates of what servers listen on: one port for clear text and one for TLS are `server.port` and `server.tls`; with
 * further ones, each is an entry of `server.listeners`. A server keeps its addresses, so that nothing becomes public that was not.
 */
export function convertListeners(plan: Plan, list: readonly Listening[]): readonly NginxListeners[] {
  const { server } = plan.config;
  const all = list.flatMap(({ listens }) => listens).filter(({ port }) => port > 0);
  const tls = chosen(
    all.filter(({ isTls }) => isTls),
    443,
  );
  const beside = chosen(
    all.filter(({ isTls, host }) => !isTls && (tls === null || host === tls.host)),
    80,
  );
  const clear = hasOwnClearText(list, beside, tls) ? null : beside;
  const usual = [clear, tls].filter((one) => one !== null);
  const others = otherPlaces(plan, list, usual);
  const first = usualListeners(plan, list, { clear, tls, others });
  if (others.length === 0) return [first];
  const entries: Keys[] = [];
  const { port: _port, redirect_http: leadsToTls = false, ...terms } = first.tls;
  if (clear !== null) entries.push({ name: "http", address: listenAddress(clear), redirect_https: leadsToTls });
  const withQuic = server.http3 !== undefined;
  if (tls !== null) entries.push({ name: "https", address: listenAddress(tls), tls: true, http3: withQuic });
  const groups = [{ ...first, names: entries.map(({ name }) => String(name)), key: keyOfGroup(first, usual, terms) }];
  for (const place of others) {
    const group = groupAt(plan, list, place);
    const { tls: own } = group;
    const name = listenPlaceName(place);
    const secure = { tls: Bun.deepEquals(own, terms) || own, http3: group.isQuic };
    entries.push({ name, address: listenAddress(place), ...(place.isTls ? secure : { redirect_https: false }) });
    const key = keyOfGroup(group, [place], own);
    const known = groups.find((one) => one.key === key);
    if (known === undefined) groups.push({ ...group, names: [name], key });
    else known.names.push(name);
  }
  server.listeners = entries;
  for (const name of ["host", "port"]) delete server[name];
  if (server.tls !== undefined) server.tls = terms;
  const asked = groups.filter(({ served }) => served.length > 0);
  return asked.length === 1 ? asked.map((one) => ({ ...one, names: [] })) : asked;
}

/** Whether clear text and TLS have other servers, and those in clear text do more than lead to TLS: each has routes of its own. */
function hasOwnClearText(list: readonly Listening[], clear: Listen | null, tls: Listen | null): boolean {
  if (clear === null || tls === null) return false;
  const at = (place: Listen) => list.filter(({ listens }) => listens.some((own) => isSameListen(own, place)));
  const [inClear, inTls] = [at(clear), at(tls)];
  const isLed = (one: Listening): boolean => leadsToTls(one) || redirectsInside(one) !== null;
  // A redirect by the name of the request needs names that the file says.
  const isSayable = inClear.filter(isLed).every(({ hosts, unsaid }) => hosts.length > 0 && unsaid.length === 0);
  const isSameList = inClear.length === inTls.length && inClear.every((one) => inTls.includes(one));
  const isSameDefault = defaultAt(inClear, clear) === defaultAt(inTls, tls);
  return isSayable && !inClear.every(isLed) && !(isSameList && isSameDefault);
}

/** The server of an address for names that none has. */
function defaultAt(served: readonly Listening[], place: Listen): Listening | undefined {
  const isMeant = ({ listens }: Listening): boolean => listens.some((own) => isSameListen(own, place) && own.isDefault);
  return served.find(isMeant) ?? served[0];
}

/** What two addresses have in common whose routes are the same. */
function keyOfGroup({ served, isTlsAlone }: NginxListeners, places: readonly Listen[], tls: Keys): string {
  if (isTlsAlone && places.length > 1) return "";
  const kinds = [...new Set(places.map(({ isTls }) => isTls))];
  const servers = served.map(({ at, isDefault }) => [at, isDefault]);
  return kinds.length > 1 ? "" : JSON.stringify([kinds, servers, kinds[0] === true ? tls : {}]);
}

/** Further addresses: entries of `server.listeners`. */
function otherPlaces({ streams }: Plan, list: readonly Listening[], usual: readonly Listen[]): readonly Listen[] {
  // A pass-through by name is at the port of server.tls.
  if (streams.some(({ keys }) => keys.listen === undefined)) return [];
  const found: Listen[] = [];
  for (const one of list.flatMap(({ listens }) => listens)) {
    const isKnown = [...usual, ...found].some((known) => isSameListen(known, one));
    if (isKnown || (one.port === 0 && !one.host.startsWith("unix:/"))) continue;
    // The system gives a connection to the address that fits best; the gateway has one socket for each port.
    const isShared = [...usual, ...found].some((known) => known.port === one.port && one.port > 0);
    if (!isShared && one.statement?.args.includes("proxy_protocol") !== true) found.push(one);
  }
  return found.length + usual.length > MAX_LISTENERS ? [] : found;
}

/** The servers of an address of its own. */
function groupAt(plan: Plan, list: readonly Listening[], place: Listen): NginxListeners & { readonly isQuic: boolean } {
  const served = list
    .map((one) => ({ ...one, listens: one.listens.filter((own) => isSameListen(own, place)), isDefault: false }))
    .filter(({ listens }) => listens.length > 0);
  for (const { listens } of served) for (const { statement } of listens) plan.ledger.carry(statement);
  const tls: Keys = {};
  chooseDefault(served, place);
  const isQuic = place.isTls && certificates(served, tls);
  const settled = new Set<Statement>();
  if (place.isTls) for (const one of served) for (const statement of redirectsInside(one) ?? []) settled.add(statement);
  return { served, settled, isTlsAlone: place.isTls, tls, names: [], isQuic };
}

/** The usual addresses of a file, and all others. */
interface Places {
  readonly clear: Listen | null;
  readonly tls: Listen | null;
  readonly others: readonly Listen[];
}

/** The servers at one port for clear text and one for TLS. */
function usualListeners(plan: Plan, list: readonly Listening[], { clear, tls, others }: Places): NginxListeners {
  const { server } = plan.config;
  const settled = new Set<Statement>();
  if (list.length === 0) return { served: [], settled, isTlsAlone: false, tls: {}, names: [] };
  const host = (tls ?? clear)?.host ?? "";
  if (host !== "") server.host = host.replace(/^\[|\]$/g, "");
  server.port = clear?.port ?? "off";
  const by = (place: Listen | null) => (one: Listening) =>
    place !== null && one.listens.some((own) => isSameListen(own, place));
  const [inTls, inClear] = [list.filter(by(tls)), list.filter(by(clear))];
  for (const { listens } of list)
    for (const one of listens)
      if (!others.some((other) => isSameListen(other, one))) judgeListen(plan, one, clear, tls);
  const isElsewhere = ({ listens }: Listening): boolean =>
    listens.some((one) => others.some((other) => isSameListen(other, one)));
  const of = (served: readonly Listening[], place: Listen | null, isTlsAlone: boolean, from = list): NginxListeners => {
    leaveOut(plan, from, served, isElsewhere);
    chooseDefault(served, place);
    return { served, settled, isTlsAlone, tls: (server.tls ?? {}) as Keys, names: [] };
  };
  if (tls === null) return of(inClear, clear, false);
  const terms = sectionAt(server, "tls");
  terms.port = tls.port;
  if (certificates(inTls, terms)) server.http3 = { enabled: true };
  const leading = inClear.filter((one) => !inTls.includes(one) && leadsToTls(one));
  // What is served by TLS alone must not be had in clear text, if no client shows a certificate.
  const isTlsAlone = inTls.some((one) => !inClear.includes(one)) || inTls.every((one) => redirectsInside(one) !== null);
  if (!isTlsAlone) return of([...new Set([...inTls, ...inClear])], tls, false);
  if (clear !== null) terms.redirect_http = true;
  for (const one of leading) noteRedirect(plan, one);
  for (const one of inTls) for (const statement of redirectsInside(one) ?? []) settled.add(statement);
  noteClearText(
    plan,
    inClear.filter((one) => !leading.includes(one)),
  );
  const elsewhere = list.filter((one) => !leading.includes(one));
  const served = elsewhere.filter((one) => inTls.includes(one) || inClear.includes(one));
  return of(served, tls, isTlsAlone, elsewhere);
}

/** Says what is sent to TLS now, and was served in clear text. */
function noteClearText({ ledger }: Plan, inClear: readonly Listening[]): void {
  for (const one of inClear) {
    if (redirectsInside(one) !== null) continue;
    for (const { statement, isTls } of one.listens)
      if (!isTls && statement !== null)
        ledger.note(
          statement,
          "clear text is led to TLS: other servers are served by TLS alone",
          "nothing, or start a second gateway for clear text",
        );
  }
}

/** Notes the servers that listen at an address that the gateway has not. */
function leaveOut(
  { ledger }: Plan,
  list: readonly Listening[],
  served: readonly Listening[],
  isElsewhere: (one: Listening) => boolean,
): void {
  for (const one of list) {
    const { statement } = one.scope;
    if (served.includes(one) || isElsewhere(one) || statement === null) continue;
    ledger.noteWhole(
      statement,
      "it listens at another address or port than the gateway: it is left out",
      "start a second gateway for it",
    );
  }
}

/** Finds who takes the requests for names that no server has. */
function chooseDefault(served: readonly Listening[], place: Listen | null): void {
  const isAt = (one: Listening, mustBe: boolean): boolean =>
    one.listens.some((own) => place !== null && isSameListen(own, place) && (!mustBe || own.isDefault));
  const first = served.find((one) => isAt(one, true)) ?? served.find((one) => isAt(one, false)) ?? served[0];
  // If clear text and TLS have different ones, a refusal counts.
  const strict = served.find(({ listens, scope: own }) => listens.some(({ isDefault }) => isDefault) && refuses(own));
  if (first !== undefined) (strict ?? first).isDefault = true;
}

function refuses(scope: Scope): boolean {
  return scope.here("return").some(({ args }) => /^4\d\d$/.test(args[0] ?? ""));
}

function noteRedirect({ ledger }: Plan, { scope }: Listening): void {
  ledger.carry(scope.statement);
  for (const statement of scope.children) {
    if (statement.name === "listen" || statement.name === "server_name") continue;
    if (statement.name === "return" || statement.name === "if" || statement.name === "rewrite") {
      ledger.carry(statement);
      for (const inner of statement.block ?? []) ledger.carry(inner);
    } else if (statement.name === "location") locationOfRedirect({ ledger } as Plan, statement);
  }
}

function locationOfRedirect({ ledger }: Plan, statement: Statement): void {
  const isRedirect = statement.all("return").some(({ args }) => /https:/.test(args.join(" ")));
  if (isRedirect) ledger.carry(statement, ...statement.all("return"));
  else if (/acme-challenge/.test(statement.args.join(" ")))
    ledger.noteWhole(
      statement,
      "everything is sent to TLS but the challenges of the gateway's own ACME client",
      "let server.acme obtain the certificate, or give the challenge by DNS",
    );
}

/** `if ($scheme = http) { return … }` of a server: its clear text leads to TLS. Null if there is none. */
function redirectsInside({ scope, listens }: Listening): readonly Statement[] | null {
  const found = scope.here("if").find((one) => {
    const asked = askedBy(one);
    const [inner] = one.block ?? [];
    return asked !== null && isCleartext(asked) && inner?.name === "return" && /^https:/.test(inner.args[1] ?? "");
  });
  if (found === undefined) return listens.every(({ isTls }) => isTls) ? [] : null;
  scope.ledger.carry(found, ...found.all("return"));
  return [found];
}

/** The place that most clients come to: at every address before one, at the usual port before others. */
function chosen(listens: readonly Listen[], usual: number): Listen | null {
  const rank = ({ host, port }: Listen): number => (port === usual ? 2 : 0) + (host === "" ? 1 : 0);
  return listens.reduce<Listen | null>((best, one) => (best === null || rank(one) > rank(best) ? one : best), null);
}

function judgeListen({ ledger }: Plan, listen: Listen, clear: Listen | null, tls: Listen | null): void {
  const { statement, port, isTls } = listen;
  const place = isTls ? tls : clear;
  if (statement === null) return;
  if (statement.args.includes("proxy_protocol"))
    ledger.note(statement, "PROXY protocol comes from named senders", "set server.proxy_protocol with trusted");
  if (port === 0) ledger.note(statement, "clients are served by TCP", "let them come by a port");
  else if (place === null || !isSameListen(listen, place))
    ledger.note(
      statement,
      `there is one address, with one port for clear text and one for TLS, here ${clear?.port ?? "none"} and ${tls?.port ?? "none"}`,
      "serve it by these, or start a second gateway",
    );
  else ledger.carry(statement);
  if (statement.args.includes("quic")) ledger.carry(statement);
}

/** Whether a server that has no TLS does nothing but send clients to https. */
function leadsToTls({ scope, listens, hosts }: Listening): boolean {
  if (listens.some(({ isTls }) => isTls)) return false;
  const isOwn = (to: string): boolean => {
    const [start = "", name = ""] = /^https:\/\/(\$\{?\w+\}?|[\w.-]+)/.exec(to) ?? [];
    const rest = to.slice(start.length);
    const isSame = /^\$\{?(host|server_name|http_host)\}?$/.test(name) || hosts.includes(name);
    return isSame && /^(:\d+)?(\$|\/?$)/.test(rest);
  };
  const root = scope.here("location").filter(({ args }) => args.at(-1) === "/");
  const returns = [...scope.here("return"), ...root.flatMap((one) => one.all("return"))].map(
    ({ args }) => args.at(-1) ?? "",
  );
  const rewrites = scope.here("rewrite").map(({ args }) => args[1] ?? "");
  const conditions = scope.here("if");
  if ([...returns, ...rewrites].some(isOwn)) return true;
  // As Certbot writes it: each name by a condition, 404 for all others.
  return (
    conditions.length > 0 &&
    conditions.every((one) => one.all("return").some(({ args }) => isOwn(args.at(-1) ?? ""))) &&
    returns.every((one) => one === "404")
  );
}

/** Puts the certificates of servers into a section of TLS. @returns whether one of them speaks HTTP/3 */
function certificates(list: readonly Listening[], tls: Keys): boolean {
  const pairs: { readonly cert_file: string; readonly key_file: string }[] = [];
  const known = new Set<string>();
  for (const { scope, isDefault, listens } of list) {
    if (!listens.some(({ isTls }) => isTls)) continue;
    const cert = scope.value("ssl_certificate");
    const key = scope.value("ssl_certificate_key");
    if (cert === null || key === null || /\$|^data:|^engine:/.test(cert + key)) continue;
    const pair = { cert_file: cert, key_file: key };
    if (!known.has(cert)) pairs[isDefault ? "unshift" : "push"](pair);
    known.add(cert);
    tlsDetails(scope, tls);
  }
  noteOpenServers(list, tls);
  const [first, ...others] = pairs;
  if (first !== undefined) Object.assign(tls, first);
  if (others.length > 0) tls.certificates = others;
  return list.some(
    ({ scope, listens }) => listens.some(({ statement }) => statement?.args.includes("quic")) || scope.isOn("http3"),
  );
}

/** Notes servers without client certificates beside a server with them. */
function noteOpenServers(list: readonly Listening[], tls: Keys): void {
  if (tls.client_auth !== "require") return;
  for (const { scope, listens } of list) {
    if (!listens.some(({ isTls }) => isTls) || scope.one("ssl_verify_client")?.args[0] === "on") continue;
    if (scope.statement !== null)
      scope.ledger.note(
        scope.statement,
        "its clients need a certificate too: what another server asks counts for the whole gateway",
        "set server.tls.client_auth: request, and auth.mtls at the routes of the other server",
      );
  }
}

function tlsDetails(scope: Scope, tls: Keys): void {
  const versions = scope.inherited("ssl_protocols");
  const words = versions.flatMap(({ args }) => args);
  if (words.length > 0) {
    const oldest = words.includes("TLSv1.2") || !words.includes("TLSv1.3") ? "1.2" : "1.3";
    if (tls.min_version !== undefined && tls.min_version !== oldest)
      for (const one of versions)
        scope.ledger.note(
          one,
          "one version counts for the whole gateway, here the newest of them",
          "set server.tls.min_version",
        );
    if (tls.min_version !== "1.3") tls.min_version = oldest;
    if (words.some((word) => /^(TLSv1|TLSv1\.1|SSLv\d)$/.test(word)))
      for (const one of versions)
        scope.ledger.note(one, "TLS before 1.2 is not spoken", "nothing: clients of the last ten years speak 1.2");
    scope.ledger.carry(...versions);
  }
  clientCertificates(scope, tls);
}

/** One authority and one answer to clients without a certificate count for the whole gateway: the strictest. */
function clientCertificates(scope: Scope, tls: Keys): void {
  const authorities = scope.value("ssl_client_certificate");
  const verify = scope.one("ssl_verify_client");
  const mode = verify?.args[0] ?? "off";
  if (authorities === null || (mode !== "on" && mode !== "optional")) return;
  scope.ledger.carry(verify);
  const asked = mode === "on" ? "require" : "request";
  if (tls.client_ca_file !== undefined && (tls.client_ca_file !== authorities || tls.client_auth !== asked))
    scope.ledger.note(
      verify!,
      "one authority counts for the whole gateway, and one answer to clients without a certificate: require, where any server does",
      "set server.tls.client_auth: request, all authorities in client_ca_file, and auth.mtls at the routes",
    );
  tls.client_ca_file ??= authorities;
  if (tls.client_auth !== "require") tls.client_auth = asked;
}

/** Whether a server asks of certificates what the gateway does not: those that it would refuse would come in. */
export function isClosedByTls({ ledger }: Plan, { scope, listens }: Listening, tls: Keys): boolean {
  if (!listens.some(({ isTls }) => isTls)) return false;
  const reject = scope.one("ssl_reject_handshake");
  const closing = reject?.args[0] === "on" ? [reject] : [];
  if ((scope.one("ssl_verify_client")?.args[0] ?? "off") !== "off") {
    const authorities = scope.one("ssl_client_certificate");
    if (authorities === null || authorities.args[0] !== tls.client_ca_file)
      closing.push(scope.one("ssl_verify_client")!);
    for (const name of ["ssl_crl", "ssl_ocsp"]) {
      const one = scope.one(name);
      if (one !== null && one.args[0] !== "off") closing.push(one);
    }
  }
  for (const one of closing)
    ledger.note(
      one,
      "the gateway does not ask the same of certificates: the routes of the server are closed",
      "set auth.mtls at them: docs/authentication.md",
    );
  return closing.length > 0;
}
