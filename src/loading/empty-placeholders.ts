import type { KeyPath } from "../config/config-fault.ts";
import type { FaultLog } from "../config/fault-log.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { Sections } from "../settings/sections.ts";
import { demandOf, LOOPBACK } from "../settings/server-settings.ts";

/** A file as it is written: a value, and where in the file it is. */
export interface WrittenPlace {
  readonly value: unknown;
  readonly path: KeyPath;
  readonly log: FaultLog;
}

/**
 * Warns of placeholders that no request has a value for with these settings: `{geo.country}` without a database, `{auth.user}` on a route
 * without `auth`, `{tls.subject}` if no certificate is asked for. docs/placeholders.md
 * @param routes at their places in the file; null at those of other entries
 */
export function noteEmptyPlaceholders(
  config: Pick<Sections, "server" | "internalApi">,
  routes: readonly (RouteConfig | null)[],
  files: { readonly server: WrittenPlace; readonly routes: WrittenPlace | null },
): void {
  const { server, internalApi } = config;
  const isAsked = [server, internalApi, ...routes].some((one) => one?.auth.enabled === true);
  note(files.server, (name) => whyEmpty(name, server, isAsked, "nothing has auth"));
  if (files.routes === null || !Array.isArray(files.routes.value)) return;
  for (const [i, value] of files.routes.value.entries()) {
    const route = routes[i];
    if (route === undefined || route === null) continue;
    const { path, log } = files.routes;
    note({ value, path: [...path, i], log }, (name) =>
      whyEmpty(name, server, route.auth.enabled, "this route has no auth"),
    );
  }
}

/** Warns of users who sign in over clear text. docs/authentication.md#openid-connect */
export function noteClearSignIn(
  { server }: Pick<Sections, "server">,
  routes: readonly (RouteConfig | null)[],
  files: { readonly server: WrittenPlace; readonly routes: WrittenPlace | null },
): void {
  if (server.tls.enabled || server.trustedProxies.length > 0 || server.hosts.every((host) => LOOPBACK.test(host)))
    return;
  if (hasSignIn(server.auth)) files.server.log.warn(["server", "auth"], CLEAR_SIGN_IN);
  for (const [i, route] of routes.entries()) {
    if (route === null || files.routes === null) continue;
    const { auth } = route;
    if (auth.scope === "route" && hasSignIn(auth))
      files.routes.log.warn([...files.routes.path, i, "auth"], CLEAR_SIGN_IN);
  }
}

function hasSignIn({ methods }: Pick<RouteConfig["auth"], "methods">): boolean {
  return methods.some(({ key }) => key === "oidc");
}

/** Why a placeholder is always empty; "" if it is not, and for those that this is not about. */
function whyEmpty(name: string, server: Sections["server"], hasAuth: boolean, without: string): string {
  const { geo, tls } = server;
  if (name.startsWith("auth.")) return hasAuth ? "" : without;
  if (name === "geo.country") return geo.countryDb === "" ? "server.geo has no country_db" : "";
  if (name === "geo.asn") return geo.asnDb === "" ? "server.geo has no asn_db" : "";
  if (name === "agent.name") return server.agents.enabled ? "" : "server.agents is off";
  if (!name.startsWith("tls.")) return "";
  if (!tls.enabled) return "server.tls is off";
  return name === "tls.subject" && demandOf(server).clientAuth === "none" ? "server.tls has no client_auth" : "";
}

/** Notes the placeholders of all texts in a value. */
function note({ value, path, log }: WrittenPlace, whyOf: (name: string) => string): void {
  if (typeof value === "string") {
    const names = new Set(Array.from(value.matchAll(USES), ([, name]) => name ?? ""));
    for (const name of names) {
      const why = name === "" ? "" : whyOf(name);
      if (why !== "") log.warn(path, `{${name}} is always empty: ${why}`);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value))
      note({ value: inner, path: [...path, Array.isArray(value) ? Number(key) : key], log }, whyOf);
  }
}

/** Two braces are a brace. */
const USES = /\{\{|\{((?:auth|geo|tls)\.[\w!#$%&'*+.^`|~-]+)\}/g;
const CLEAR_SIGN_IN =
  "users sign in over clear text, where their sessions can be read on the way: switch server.tls on, or name the proxy at which TLS ends in " +
  "server.trusted_proxies";
