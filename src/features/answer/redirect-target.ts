import type { Exchange } from "../../message/exchange.ts";
import { Template, templateOf } from "../../proto/template/template.ts";

/**
 * Where a redirect leads: `to` of routes.yaml. Scheme and authority are literal, but for the request's host, so that nothing in a
 * request can lead to another server. docs/answers.md#redirects
 */
export class RedirectTarget {
  private readonly parts: TargetParts;
  /** The whole target, if it is the same for all requests; else "". */
  readonly constant: string;
  /** Whether the target ends with the query of the request: what is in front of an empty one goes, too. */
  private readonly endsWithQuery: boolean;

  /** @param to a template in which `redirectFault` finds no fault */
  constructor(to: string) {
    this.parts = partsOf(templateOf(to));
    const { origin, tail } = this.parts;
    this.endsWithQuery = tail.uses.at(-1)?.name === "query" && tail.literals.at(-1) === "";
    this.constant = origin.isLiteral && tail.isLiteral ? joined(origin.literals[0]!, tail.literals[0]!) : "";
  }

  /** The value of Location for a request; "" if the request names no host that can be in one. */
  locationOf(ex: Exchange): string {
    const { origin, tail } = this.parts;
    const start = origin.render(ex, "url");
    if (!origin.isLiteral && !ORIGIN.test(start)) return "";
    const to = joined(start, tail.render(ex, "url"));
    return this.endsWithQuery && /[?&]$/.test(to) ? to.slice(0, -1) : to;
  }
}

/**
 * Names the fault in a redirect's `to`, with the cure, or "".
 * @param namesHosts whether the route takes requests for certain hosts alone
 */
export function redirectFault(to: Template, namesHosts: boolean): string {
  const first = to.literals[0]!;
  if (first === "" && !PATHS.has(to.uses[0]?.name ?? "")) return `begins with a value of the request: ${BEGINNINGS}`;
  if (first === "" || /^\/(?![/\\])/.test(first)) return "";
  if (first.startsWith("/")) return "names a server without a scheme: write https: before it, or a single slash";
  if (!SCHEME.test(first)) return `has no scheme: ${BEGINNINGS}`;
  const { origin } = partsOf(to);
  const other = origin.uses.find(({ name }) => name !== "host" && name !== WILDCARD && !name.startsWith("map."));
  if (other !== undefined) {
    return `has {${other.name}} in the name of the server, which must be literal: put a "/" before it, or write the name`;
  }
  if (origin.uses.some(({ name }, i) => name === WILDCARD && !NAME_BEHIND.test(origin.literals[i + 1]!))) {
    return "has {host.1}, which any client can choose, without a server's name behind it: write one, such as {host.1}.example.com";
  }
  if (origin.uses.some(({ name }) => !name.startsWith("map.")) && !namesHosts) {
    return "has {host} as its server, which any client can choose: name the route's hosts, such as host: [example.com]";
  }
  const text = origin.literals.join(PROBE_HOST);
  if (text.includes("$"))
    return 'has a "$" in the name of the server: values of the request are in braces, such as {uri}';
  return ORIGIN.test(text) && URL.canParse(text) ? "" : `has no server after its scheme: ${BEGINNINGS}`;
}

/** Scheme and authority of a target, and all after them. */
interface TargetParts {
  /** Empty if the target is a path of the authority that was asked. */
  readonly origin: Template;
  readonly tail: Template;
}

function partsOf(to: Template): TargetParts {
  const { literals, uses } = to;
  const schemeChars = SCHEME.exec(literals[0]!)?.[0].length ?? -1;
  if (schemeChars < 0) return { origin: new Template([""], []), tail: to };
  let index = 0;
  let at = authorityEnd(literals[0]!, schemeChars);
  // A path begins with a slash: it ends the authority.
  while (at === literals[index]!.length && index < uses.length && !PATHS.has(uses[index]!.name)) {
    index++;
    at = authorityEnd(literals[index]!, 0);
  }
  const last = literals[index]!;
  return {
    origin: new Template([...literals.slice(0, index), last.slice(0, at)], uses.slice(0, index)),
    tail: new Template([last.slice(at), ...literals.slice(index + 1)], uses.slice(index)),
  };
}

/** Where the authority ends in a literal part of it. RFC 3986 §3.2; a backslash is a slash to browsers. */
function authorityEnd(literal: string, from: number): number {
  const end = literal.slice(from).search(/[/\\?#]/);
  return end < 0 ? literal.length : from + end;
}

/** Two slashes at the beginning of a path would name another server, backslashes too. */
function joined(origin: string, tail: string): string {
  if (origin === "") return `/${tail.replace(/^[/\\]+/, "")}`;
  return tail === "" || /^[/?#]/.test(tail) ? origin + tail : `${origin}/${tail}`;
}

const SCHEME = /^https?:\/\//i;
const WILDCARD = "host.1";
/** At least two labels behind a star's part: it cannot make another's server of the name. */
const NAME_BEHIND = /^\.[\w-]+\.[\w.-]*\w(?::\d+)?$/;
const ORIGIN = /^https?:\/\/(?:[\w-][\w.-]*|\[[\da-f:.]+\])(?::\d+)?$/i;
const PATHS: ReadonlySet<string> = new Set(["path", "rest", "uri"]);
/** In the place of {host}, at the beginning of a label, within or after one. */
const PROBE_HOST = "a.test";
const BEGINNINGS =
  "write a scheme and a server, such as https://www.example.com{uri}, or a path that begins with a slash, {path}, {rest} or {uri}";
