import { expression } from "../config/expression-kind.ts";
import { foreignAdvice } from "../config/foreign-names.ts";
import { hostPattern } from "../config/host-kinds.ts";
import { exactPath, pathPrefix } from "../config/http-syntax.ts";
import { list, type Piece } from "../config/piece.ts";
import { below, block, type Rows, type Values } from "../config/row.ts";
import { text } from "../config/scalars.ts";
import { series } from "../core/number-text.ts";
import { FOREIGN_ROUTE_KEYS } from "./foreign-route-keys.ts";
import { ROUTE_FORMAT } from "./route-format.ts";
import type { OptionValues } from "./route-spot.ts";
import type { RouteSyntax, StreamSyntax } from "./route-syntax.ts";

const place = {
  type: { type: text("a type of route"), absent: "", doc: "the kind of route; each has keys of its own" },
  prefix: { type: pathPrefix(), absent: "", doc: "this path and all below it" },
  path: { type: exactPath(), absent: "", doc: "this exact path" },
  regex: {
    type: expression(),
    absent: "",
    example: "^/api/v(\\d+)/",
    doc: "only paths that fit; asked before prefixes, in the order of the file; its groups are {match.1} and so on",
  },
  host: {
    type: list(hostPattern(), "host names", true),
    field: "hosts",
    doc: "the hosts of the route; *.example.com for all names below",
  },
  hosts: {
    type: list(hostPattern(), "host names", true),
    field: "",
    example: ["example.com", "*.example.com"],
    doc: "the same as host; you may write both",
  },
} as const satisfies Rows;

/** Where a route is: keys of routes of every type. docs/routing.md#which-route-wins */
export const routePlace = block(place, {
  finish({ prefix, path, regex, hosts: first }, values, spot) {
    const more = place.hosts.type.resolve!(values.hosts, below(spot, "hosts"));
    const isByRegex = regex !== "" && prefix === "" && path === "";
    return {
      hosts: more.length === 0 ? first : [...new Set([...first, ...more])],
      prefix: isByRegex ? "/" : prefix,
      isByRegex,
    };
  },
  list: ({ isByRegex }, { prefix, ...lines }) => (isByRegex ? lines : { prefix, ...lines }),
});

/** What an entry gives, as far as all types have it in common. */
export type EntryValues = Values<typeof place> & OptionValues;

/** The schemas of the types of routes and of streams, each made when a route first has the type. */
export class RouteSchemas {
  /** The words at `type`. */
  readonly names: readonly string[];
  /** All keys that a route of any type may have, for telling a slip from a misplaced key. */
  readonly keys: readonly string[];
  /** The types of routes and of streams. */
  readonly kinds: Readonly<Record<string, RouteSyntax | StreamSyntax>>;
  private readonly made: Map<string, Piece<EntryValues>> = new Map();
  private static all: RouteSchemas | null = null;

  /** The same for all lists of routes. */
  static get shared(): RouteSchemas {
    RouteSchemas.all ??= new RouteSchemas();
    return RouteSchemas.all;
  }

  private constructor() {
    const { types, options, streams } = ROUTE_FORMAT;
    this.kinds = { ...types, ...streams };
    this.names = Object.keys(this.kinds);
    const own = Object.values(this.kinds).map(({ keys }) => keys.rows);
    this.keys = [...new Set([place, options.rows, ...own].flatMap(Object.keys))];
  }

  /** What an entry of this type may say. */
  of(name: string): Piece<EntryValues> {
    const schema = this.made.get(name) ?? this.make(name);
    this.made.set(name, schema);
    return schema;
  }

  private make(name: string): Piece<EntryValues> {
    const { keys, sentence } = this.kinds[name]!;
    const shared = name in ROUTE_FORMAT.streams ? { type: place.type } : { ...place, ...ROUTE_FORMAT.options.rows };
    const rows: Rows = { ...shared, ...keys.rows };
    const cures = this.keys
      .filter((key) => !(key in rows))
      .map((key) => [key, `is for ${this.ownersOf(key)}; ${sentence}`] as const);
    return block(rows, {
      misplaced: new Map([...cures, ...foreignAdvice(FOREIGN_ROUTE_KEYS)]),
      manual: "edge help routes",
    }) as unknown as Piece<EntryValues>;
  }

  private ownersOf(key: string): string {
    const owners = this.names.filter((name) => key in this.kinds[name]!.keys.rows);
    return owners.length === 0 ? "routes that answer requests" : `type: ${series(owners, "or")}`;
  }
}
