import { FOREIGN_ROUTE_KEYS } from "./foreign-names.ts";
import { exactPath, headerName, headerValue, pathPrefix } from "./http-syntax.ts";
import { type Entries, list, oneOf, or, orElse, type Piece, pairs, type Section, section, switchOr } from "./piece.ts";
import { ipRules, rateLimit } from "./policy-settings.ts";
import type { RouteSyntaxes } from "./route-syntax.ts";
import { chunkedMode, duration, flag, size, text } from "./scalars.ts";

const headerEdits = section({
  set: pairs(headerValues(), "Name: value"),
  add: pairs(headerValues(), "Name: value"),
  remove: list(headerName(), "header names", true),
});

/** The keys of routes of every type. */
const shared = {
  type: orElse(text("a type of route"), ""),
  prefix: orElse(pathPrefix(), ""),
  path: orElse(exactPath(), ""),
  host: list(text("a host name"), "host names", true),
  inbound_chunked_mode: or(chunkedMode(), ""),
  max_body_bytes: or(size(0), 0),
  // Absent or `true` follows the server, `false` keeps this route's answers out of the cache.
  cache: switchOr(
    section({ enabled: or(flag(), true), default_ttl: orElse(duration(0, Number.MAX_SAFE_INTEGER), null) }),
  ),
  // Absent takes the server's; the resolution asks the raw entry.
  rate_limit: rateLimit,
  ip_rules: ipRules,
  headers: section({ request: headerEdits, response: headerEdits }),
} satisfies Entries;

/** What an entry of routes.yaml gives at the keys of every route. */
export type SharedValues = Section<typeof shared>;

/** The schemas of the types of routes, each made when a route first has the type. */
export class RouteSchemas {
  /** The words at `type`. */
  readonly names: readonly string[];
  /** All keys that a route of any type may have, for telling a slip from a misplaced key. */
  readonly keys: readonly string[];
  private readonly types: RouteSyntaxes;
  private readonly made: Map<string, Piece<SharedValues>> = new Map();

  constructor(types: RouteSyntaxes) {
    this.types = types;
    this.names = Object.keys(types);
    this.keys = [...new Set([shared, ...Object.values(types).map(({ keys }) => keys)].flatMap(Object.keys))];
  }

  /** What an entry of this type may say. */
  of(name: string): Piece<SharedValues> {
    const schema = this.made.get(name) ?? this.make(name);
    this.made.set(name, schema);
    return schema;
  }

  private make(name: string): Piece<SharedValues> {
    const { keys, sentence } = this.types[name]!;
    const misplaced = this.keys.filter((key) => !(key in shared) && !(key in keys));
    const cures = misplaced.map((key) => [key, `is for type: ${this.ownersOf(key)}; ${sentence}`] as const);
    return section({ ...shared, ...keys }, {}, new Map([...FOREIGN_ROUTE_KEYS, ...cures]), ROUTE_MANUAL);
  }

  private ownersOf(key: string): string {
    return oneOf(this.names.filter((name) => key in this.types[name]!.keys));
  }
}

/** One value, or a list of them for a header that is sent several times. */
function headerValues(): Piece<string[]> {
  return list(headerValue(), "values", true);
}

const ROUTE_MANUAL = { manual: "edge help routes" };
