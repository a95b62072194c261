import { type Keys, type Plan, section } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";

/** Where a server listens. */
export interface Listen {
  readonly statement: Statement | null;
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly isDefault: boolean;
}

/** A server with its names. */
export interface Listening {
  readonly scope: Scope;
  readonly listens: readonly Listen[];
  readonly hosts: readonly string[];
  /** It takes the requests for names that no server has. */
  isDefault: boolean;
}

/** Reads `listen` and `server_name` of all servers. */
export function listenersOf(servers: readonly Scope[]): Listening[] {
  const list = servers.map(
    (scope): Listening => ({ scope, listens: listensOf(scope), hosts: hostsOf(scope), isDefault: false }),
  );
  const tls = list.filter(({ listens }) => listens.some(({ isTls }) => isTls));
  for (const group of [tls.length > 0 ? tls : list]) {
    const chosen = group.find(({ listens }) => listens.some(({ isDefault }) => isDefault)) ?? group[0];
    if (chosen !== undefined) chosen.isDefault = true;
  }
  return list;
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
    host: isPort ? "" : (parts?.[1] ?? "").replace(/^(\*|\[::\]|0\.0\.0\.0)$/, ""),
    port: isPort ? Number(address) : address.startsWith("unix:") ? 0 : Number(parts?.[2] ?? 80),
    isTls: hasTls || options.includes("ssl") || options.includes("quic"),
    isDefault: options.includes("default_server") || options.includes("default"),
  };
}

function hostsOf(scope: Scope): string[] {
  const hosts: string[] = [];
  for (const statement of scope.here("server_name")) {
    scope.ledger.carry(statement);
    for (const name of statement.args) {
      if (name === "_" || name === "" || name === '""') continue;
      if (name.startsWith("~") || /\*$/.test(name) || /\$/.test(name)) {
        scope.ledger.note(
          statement,
          `the name ${name} is no plain name`,
          "write names, or *. and a name, at host of the routes",
        );
      } else if (name.startsWith(".")) hosts.push(name.slice(1), `*${name}`);
      else hosts.push(name.toLowerCase());
    }
  }
  return [...new Set(hosts)];
}

/** Makes ports and certificates of what servers listen on. @returns the servers that do nothing but lead to TLS */
export function convertListeners(
  plan: Plan,
  list: readonly Listening[],
): { readonly redirected: ReadonlySet<Listening> } {
  const all = list.flatMap(({ listens }) => listens);
  const { server } = plan.config;
  const clear = chosenPort(
    all.filter(({ isTls, port }) => !isTls && port > 0),
    80,
  );
  const tls = chosenPort(
    all.filter(({ isTls, port }) => isTls && port > 0),
    443,
  );
  const hosts = new Set(all.filter(({ port }) => port > 0).map(({ host }) => host));
  const [host = ""] = hosts;
  if (hosts.size === 1 && host !== "") server.host = host.replace(/^\[|\]$/g, "");
  server.port = clear ?? (tls === null ? 80 : "off");
  for (const one of all) judgeListen(plan, one, clear, tls);
  const redirected = new Set<Listening>();
  if (tls === null) return { redirected };
  section(server, "tls").port = tls;
  certificates(plan, list);
  for (const one of list) if (leadsToTls(one)) redirected.add(one);
  const isPlain = list.every(
    (one) => redirected.has(one) || one.listens.every(({ isTls }) => isTls) || redirectsInside(one),
  );
  if (isPlain && clear !== null) {
    section(server, "tls").redirect_http = true;
    for (const one of redirected) noteRedirect(plan, one);
  } else {
    for (const one of redirected)
      for (const statement of one.scope.children)
        if (statement.name !== "listen" && statement.name !== "server_name")
          plan.ledger.noteWhole(
            statement,
            "routes do not go by the port: other servers of the same port are served in clear text",
            "set server.tls.redirect_http: true, where all of them may lead to TLS",
          );
  }
  return { redirected };
}

function noteRedirect({ ledger }: Plan, { scope }: Listening): void {
  for (const statement of scope.children) {
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

/** `if ($scheme = http) { return … }`, and redirects of Certbot: the server's clear text leads to TLS. */
function redirectsInside({ scope }: Listening): boolean {
  const found = scope
    .here("if")
    .find(
      (one) =>
        /^\(\s*\$(scheme\s*=\s*"?http"?|https\s*=\s*"")\s*\)$/.test(one.args.join(" ")) &&
        one.all("return").some(({ args }) => /^https:/.test(args[1] ?? "")),
    );
  if (found === undefined) return false;
  scope.ledger.carry(found, ...found.all("return"));
  return true;
}

function chosenPort(listens: readonly Listen[], usual: number): number | null {
  const ports = listens.map(({ port }) => port);
  if (ports.length === 0) return null;
  return ports.includes(usual) ? usual : ports[0]!;
}

function judgeListen(
  { ledger }: Plan,
  { statement, port, isTls }: Listen,
  clear: number | null,
  tls: number | null,
): void {
  if (statement === null) return;
  if (statement.args.includes("proxy_protocol"))
    ledger.note(statement, "PROXY protocol comes from named senders", "set server.proxy_protocol with trusted");
  if (port === 0) ledger.note(statement, "clients are served by TCP", "let them come by a port");
  else if (port !== (isTls ? tls : clear))
    ledger.note(
      statement,
      `there is one port for clear text and one for TLS, here ${clear ?? "none"} and ${tls ?? "none"}`,
      "serve it by these, or start a second gateway",
    );
  else ledger.carry(statement);
  if (statement.args.includes("quic")) ledger.carry(statement);
}

/** Whether a server that has no TLS does nothing but send clients to https. */
function leadsToTls({ scope, listens, hosts }: Listening): boolean {
  if (listens.some(({ isTls }) => isTls)) return false;
  const isOwn = (to: string): boolean => {
    const [, name = "", rest = ""] = /^https:\/\/(\$\{?\w+\}?|[\w.-]+)(.*)$/.exec(to) ?? [];
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

function certificates(plan: Plan, list: readonly Listening[]): void {
  const pairs: { readonly cert_file: string; readonly key_file: string }[] = [];
  const { ledger } = plan;
  const tls = section(plan.config.server, "tls");
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
  if (
    list.some(
      ({ scope, listens }) => listens.some(({ statement }) => statement?.args.includes("quic")) || scope.isOn("http3"),
    )
  )
    plan.config.server.http3 = { enabled: true };
  void ledger;
}

/** Servers that ask no client for a certificate, beside one that does. */
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
