import { below, type GoObject, type GoValue } from "./go-literal.ts";

/** A request for a router that Traefik makes of an Ingress, and what Traefik would do with it. */
export interface Probe {
  readonly router: string;
  readonly host: string;
  readonly path: string;
  readonly fields: readonly string[];
  readonly wanted: Wanted;
}

/** What comes of a request. */
export interface Wanted {
  readonly status: number;
  readonly location: string;
  /** The endpoints, one of which gets the request; none for a response of the gateway's own. */
  readonly servers: readonly string[];
  /** What the endpoint sees. */
  readonly path: string;
  readonly host: string;
  readonly prefix: string;
  /** Fields of the response. */
  readonly response: Readonly<Record<string, string>>;
}

/** The requests for a case of TestLoadIngresses: one for each router of the entry point for clear text. */
export function probesOf(test: GoObject): Probe[] {
  const http = below(test, "expected", "HTTP");
  const routers = (below(http, "Routers") ?? {}) as GoObject;
  return Object.entries(routers)
    .filter(([, router]) => String(below(router, "EntryPoints")).includes("http") && below(router, "TLS") === undefined)
    .flatMap(([name, router]) => probe(name, router, http));
}

/** The client's address is loopback. */
const CLIENT = /^(127\.|0\.0\.0\.0\/0)/;
const STATUS: Readonly<Record<string, number>> = {
  MovedPermanently: 301,
  Found: 302,
  MultipleChoices: 300,
  TemporaryRedirect: 307,
  PermanentRedirect: 308,
};

function probe(router: string, value: GoValue, http: GoValue | undefined): Probe[] {
  const rule = String(below(value, "Rule") ?? "");
  const hosts = [...rule.matchAll(/Host\((?:"([^"]+)"|`([^`]+)`)\)/g)].map((found) =>
    (found[1] ?? found[2]!).replace(/^\*/, "any"),
  );
  const wildcard = /HostRegexp\([`"]\^\[a-zA-Z0-9-\]\+(\S+?)\$[`"]\)/.exec(rule)?.[1];
  if (wildcard !== undefined) hosts.push(`any${wildcard.replaceAll("\\", "")}`);
  const path = pathOf(rule);
  const header = /(?<!!)Header\("([^"]+)", "([^"]+)"\)/.exec(rule);
  const pattern = /HeaderRegexp\("([^"]+)", "([^"]+)"\)/.exec(rule);
  const fields: string[] = [];
  if (header !== null) fields.push(`${header[1]}: ${header[2]}`);
  else if (pattern?.[1] === "Cookie")
    fields.push(`Cookie: ${/\)([^()]+)\(/.exec(pattern[2]!.replaceAll("\\\\", ""))?.[1] ?? ""}`);
  else if (pattern != null) fields.push(`${pattern[1]}: ${pattern[2]!.replace("(.*)", "1")}`);
  const names = below(value, "Middlewares");
  const middlewares = (Array.isArray(names) ? names : []).flatMap((name): GoObject[] => {
    const found = below(http, "Middlewares", String(name));
    return found === undefined ? [] : [found as GoObject];
  });
  if (middlewares.some((one) => below(one, "Headers", "AccessControlAllowOriginList") !== undefined))
    fields.push("Origin: http://page.test");
  const service = String(below(value, "Service"));
  return (hosts.length === 0 ? ["no-other.test"] : hosts).map((host) => ({
    router,
    host,
    path,
    fields,
    wanted: wantedOf(host, path, middlewares, serversOf(http, service)),
  }));
}

function pathOf(rule: string): string {
  const [, expression] = /PathRegexp\([`"]\(\?i\)\^([^`"]+)[`"]\)/.exec(rule) ?? [];
  if (expression === undefined) return /Path(?:Prefix)?\([`"]([^`"]+)[`"]\)/.exec(rule)?.[1] ?? "/";
  return expression.replaceAll("(.*)", "x").replaceAll("(/.+)", "/x").replaceAll("(/|$)", "/").replaceAll(/[()]/g, "");
}

function serversOf(http: GoValue | undefined, name: string): string[] {
  const service = below(http, "Services", name);
  const parts = below(service, "Weighted", "Services");
  if (Array.isArray(parts))
    return parts
      .filter((part: GoValue) => below(part, "Weight") !== 0)
      .flatMap((part: GoValue) => serversOf(http, String(below(part, "Name"))));
  const servers = below(service, "LoadBalancer", "Servers");
  return Array.isArray(servers) ? servers.map((server: GoValue) => String(below(server, "URL"))) : [];
}

function wantedOf(host: string, path: string, middlewares: readonly GoObject[], servers: readonly string[]): Wanted {
  const own = (status: number, location = ""): Wanted => ({
    ...{ status, location, servers: [], path: "", host: "", prefix: "", response: {} },
  });
  let seen = { path, host, prefix: "" };
  const response: Record<string, string> = {};
  for (const one of middlewares) {
    const networks = below(one, "IPAllowList", "SourceRange");
    if (Array.isArray(networks) && !networks.some((network: GoValue) => CLIENT.test(String(network)))) return own(403);
    if (one.BasicAuth !== undefined) return own(401);
    const authority = below(one, "Snippet", "Auth", "Address");
    if (authority !== undefined) return { ...own(200), servers: [String(authority)] };
    if (one.RedirectScheme !== undefined) return own(308, `https://${host}${path}`);
    const appRoot = below(one, "AppRoot", "Path");
    if (appRoot !== undefined && path === "/") return own(302, String(appRoot));
    const redirect = below(one, "RedirectRegex");
    if (redirect !== undefined) {
      const location = `http://${host}${path}`.replace(expressionOf(redirect), String(below(redirect, "Replacement")));
      return own(statusOf(below(redirect, "StatusCode")), location);
    }
    const rewrite = below(one, "RewriteTarget");
    if (rewrite !== undefined) {
      const expression = expressionOf(rewrite);
      const prefix = String(below(rewrite, "XForwardedPrefix") ?? "");
      const found = expression.exec(path)?.[0] ?? "";
      seen = {
        ...seen,
        path: path.replace(expression, String(below(rewrite, "Replacement"))),
        prefix: prefix === "" ? "" : found.replace(expression, prefix),
      };
    }
    const vhost = below(one, "UpstreamVHost", "VHost");
    if (vhost !== undefined) seen = { ...seen, host: String(vhost) };
    Object.assign(response, below(one, "Headers", "CustomResponseHeaders") ?? {});
    const origins = below(one, "Headers", "AccessControlAllowOriginList");
    if (Array.isArray(origins)) response["access-control-allow-origin"] = String(origins[0]);
  }
  return servers.length === 0 ? own(503) : { status: 200, location: "", servers, ...seen, response };
}

function expressionOf(value: GoValue): RegExp {
  return new RegExp(String(below(value, "Regex")));
}

function statusOf(value: GoValue | undefined): number {
  return typeof value === "number" ? value : (STATUS[/http\.Status(\w+)/.exec(String(value))?.[1] ?? ""] ?? 302);
}
