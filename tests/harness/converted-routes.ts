import { holdsHost } from "../../src/tools/convert/arrange.ts";
import { holdsNetwork } from "../../src/tools/convert/networks.ts";

/** A route as routes.yaml has it. */
export interface Route {
  readonly type: string;
  readonly prefix?: string;
  readonly path?: string;
  readonly host?: string | readonly string[];
  readonly methods?: readonly string[];
  readonly match?: {
    readonly client_ip?: readonly string[];
    readonly header?: Readonly<Record<string, string | boolean>>;
  };
  readonly regex?: string;
  readonly status?: number;
  readonly body?: string;
  readonly listeners?: readonly string[];
  readonly auth?: object;
  readonly ip_rules?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
}

/** A request without credentials. */
export interface Call {
  readonly host: string;
  readonly path: string;
  readonly method: string;
  readonly address: string;
  /** Fields by name; an empty one is not sent. */
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * The route that takes a call, told by the words of docs/routing.md rather than by the gateway's own router; null where the client is
 * refused.
 */
export function routed(routes: readonly Route[], call: Call): Route | null {
  const fitting = routes.filter((one) => fitsPlace(one, call)).sort((a, b) => rank(b) - rank(a));
  const taken = fitting.find((one) => fitsMatch(one, call));
  if (taken === undefined) return null;
  // Of one path and host, a route that lacks the method leaves the request to the others.
  const same = fitting.filter((one) => rank(one) === rank(taken) || Math.floor(rank(one)) === Math.floor(rank(taken)));
  const able = same.find((one) => fitsMatch(one, call) && (one.methods?.includes(call.method) ?? true));
  return able !== undefined && letsIn(able, call) ? able : null;
}

function letsIn({ type, status = 200, auth, ip_rules: rules = {} }: Route, { address }: Call): boolean {
  if (auth !== undefined || (type === "respond" && status >= 400)) return false;
  if (rules.deny?.some((one) => holdsNetwork(one, address)) === true) return false;
  return rules.allow?.some((one) => holdsNetwork(one, address)) ?? true;
}

function fitsPlace({ path, prefix = "", host }: Route, call: Call): boolean {
  const hosts = host === undefined ? [""] : [host].flat();
  if (!hosts.some((one) => holdsHost(one, call.host))) return false;
  if (path !== undefined) return path === call.path;
  return prefix === "/" || call.path === prefix || call.path.startsWith(`${prefix}/`);
}

/** By path, then by host, then those with `match`. */
function rank({ path, prefix = "", host, match, regex }: Route): number {
  const place = path === undefined ? prefix.length : 1000;
  const name = host === undefined ? 0 : [host].flat().some((one) => one.startsWith("*.")) ? 1 : 2;
  return place * 10 + name + (match === undefined && regex === undefined ? 0 : 0.5);
}

function fitsMatch({ match = {}, regex }: Route, { path, address, fields }: Call): boolean {
  if (regex !== undefined && !fitsRegex(regex, path)) return false;
  if (match.client_ip?.some((one) => holdsNetwork(one, address)) === false) return false;
  return Object.entries(match.header ?? {}).every(([name, wanted]) => {
    const value = Object.entries(fields).find(([own]) => own.toLowerCase() === name.toLowerCase())?.[1] ?? "";
    return typeof wanted === "boolean" ? (value !== "") === wanted : value !== "" && fitsValue(wanted, value);
  });
}

/** docs/routing.md: text between slashes is an expression. */
function fitsValue(wanted: string, value: string): boolean {
  const [, expression] = /^\/(.*)\/e?$/.exec(wanted) ?? [];
  return expression === undefined ? value === wanted : new RegExp(expression).test(value);
}

function fitsRegex(regex: string, path: string): boolean {
  const plain = regex.replace(/^\(\?i\)/, "");
  return new RegExp(plain, plain === regex ? "" : "i").test(path);
}
