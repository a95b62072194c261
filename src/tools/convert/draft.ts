import { dirname, isAbsolute, join, resolve } from "node:path";
import { stringify } from "yaml";
import { trimmedEnd } from "../../core/trimming.ts";
import { arrange } from "./arrange.ts";
import { EFFORT } from "./effort.ts";
import type { Keys } from "./keys.ts";
import type { Note } from "./ledger.ts";
import { networkFrom } from "./networks.ts";
import { hasType, isRefusal, type Plan, type PlannedMap, type PlannedStream, type Rule } from "./plan.ts";
import { shown } from "./statement.ts";

/** A route of the new file, with its comment. */
interface PlannedRoute {
  keys: Keys;
  readonly rule: Rule;
  /** What `edge check` has against it: then it is written as a comment, and this one is in its place. */
  standIn: Keys | null;
  fault: string;
}

/** The entries of routes.yaml as they are written, in their order. */
interface WrittenDraft {
  readonly routes: readonly PlannedRoute[];
  /** They come after the routes. */
  readonly streams: readonly PlannedStream[];
}

/** Both files before they are written: what `edge check` has against them can still be removed. */
export class Draft {
  readonly config: { server: Keys; proxy: Keys };
  readonly routes: PlannedRoute[];
  /** They come after the routes. */
  streams: PlannedStream[];
  maps: readonly PlannedMap[];
  /** Parts of config.yaml that could not stay, as YAML, with the reason. */
  readonly removed: { readonly yaml: string; readonly fault: string }[] = [];
  /** What has been changed in a round. */
  private readonly changed: Map<PlannedRoute, WrittenDraft> = new Map();
  /** Left out, and not yet closed behind. */
  private readonly left: PlannedRoute[] = [];
  /** Routes as text, until they change. */
  private readonly texts: Map<PlannedRoute, string> = new Map();
  private readonly removedKeys: Set<string> = new Set();
  private readonly plan: Plan;

  /** @param file the file that was converted: relative paths count from its folder */
  constructor(plan: Plan, file: string) {
    this.plan = plan;
    const folder = file === "-" ? process.cwd() : dirname(resolve(file));
    this.config = plainValues(plan.config, folder) as Plan["config"];
    const served = plan.rules.filter((rule) => !isRefusedAnyway(rule));
    for (const { origin, methods } of plan.rules.filter(isRefusedAnyway))
      plan.ledger.note(origin, `the gateway always answers ${methods.join(" and ")} with 405`, "nothing");
    this.routes = byListeners(served).flatMap((rules) =>
      arrange(rules).map(({ rule, keys }) => ({
        keys: plainValues(rule.listeners === undefined ? keys : { ...keys, listeners: rule.listeners }, folder) as Keys,
        rule,
        standIn: null,
        fault: "",
      })),
    );
    this.maps = plan.maps;
    this.streams = plan.streams.map(({ origin, keys }) => ({ origin, keys: plainValues(keys, folder) as Keys }));
    const reached = new Set(this.routes.map(({ rule }) => rule.origin));
    for (const { origin } of served)
      if (!reached.has(origin))
        plan.ledger.note(origin, "no request reaches it: rules before it take all of them", "nothing, or remove it");
    hoist(this.routes, this.config.server);
    for (const { keys } of this.routes) nameHost(keys);
    if (byListeners(served).some(hasNestedHosts)) this.config.server.route_order = "path_first";
    for (const route of this.routes) this.noteEndpoints(route);
  }

  /** What the gateway answers itself takes requests from a route. docs/endpoints.md */
  private noteEndpoints({ keys, rule }: PlannedRoute): void {
    if (isRefusal(keys) && keys.regex === undefined) return;
    const prefix = keys.prefix === undefined ? null : String(keys.prefix);
    const taken = OWN_PATHS.filter((one) => (prefix === null ? one === keys.path : isWithin(prefix, one)));
    if (taken.length === 0) return;
    const cure = "choose another path for that route: docs/endpoints.md";
    if (prefix !== "/")
      this.plan.ledger.note(rule.origin, `the gateway answers ${taken.join(", ")} itself, before every route`, cure);
    else
      this.plan.ledger.remark(
        { file: "routes.yaml", line: 0 },
        "the gateway's own endpoints",
        `the gateway answers ${taken.join(", ")} and challenges of ACME itself, before every route`,
        cure,
      );
  }

  /** Takes out a map that `edge check` has something against; the routes that use it have a fault in the next round. */
  takeMap(name: string, reason: string): void {
    for (const { origin } of this.maps.filter((one) => one.name === name))
      this.plan.ledger.note(origin, `the map is left out: ${shown(reason)}`, "write it: docs/routing.md#maps");
    this.maps = this.maps.filter((one) => one.name !== name);
  }

  /** Takes out what `edge check` has against a route: a key that can go, or the whole route, which is closed then. */
  takeFromRoute(written: WrittenDraft, path: string, reason: string): void {
    const map = /^maps\.([\w-]+)/.exec(path)?.[1];
    if (map !== undefined) return this.takeMap(map, reason);
    const parts = /^routes\[(\d+)\]\.?(.*)$/.exec(path);
    const place = Number(parts?.[1] ?? -1);
    const route = written.routes[place];
    if (route === undefined) return this.takeStream(written.streams[place - written.routes.length], path, reason);
    // Further faults of a route that has been changed in this round come again if they are still there.
    if (this.changed.get(route) === written) return;
    this.changed.set(route, written);
    this.texts.delete(route);
    const [key = "", ...rest] = (parts![2] ?? "").split(/\.|\[/);
    if (route.fault === "" && DROPPABLE.has(key) && key in route.keys) {
      if (key === "headers" && rest.length >= 3) dropField(route.keys, rest);
      else delete route.keys[key];
      this.plan.ledger.note(
        route.rule.origin,
        `${path.replace(/^routes\[\d+\]\./, "")} is left out: ${shown(reason)}`,
        "see the key in edge help routes",
      );
      return;
    }
    const isSecond = route.fault !== "";
    if (!isSecond) {
      route.fault = shown(reason);
      this.plan.ledger.note(
        route.rule.origin,
        `the route is a comment: ${route.fault}`,
        "remove the # signs when it is in order, and the route in its place",
      );
    }
    route.standIn = isSecond || PLACE_KEYS.includes(key) ? null : standInOf(route.keys);
    if (route.standIn === null && CONDITION_KEYS.includes(key)) this.left.push(route);
  }

  /** Closes the routes that would get the requests of all that are left out: whom these kept out must not come in by another one. */
  private closeBehind(): void {
    const places = new Map<string, PlannedRoute>();
    const holders = new Map<string, PlannedRoute>();
    for (const left of this.left.splice(0)) {
      const place = placeOf(left.keys);
      places.set(place, left);
      for (const holder of holdersOf(place)) holders.set(holder, left);
    }
    if (places.size === 0) return;
    for (const route of this.routes) {
      if (route.fault !== "" || isRefusal(route.keys)) continue;
      const place = placeOf(route.keys);
      const left = holders.get(place) ?? places.get(holdersOf(place).find((one) => places.has(one)) ?? "");
      if (left !== undefined) this.close(route, left);
    }
  }

  private close(route: PlannedRoute, left: PlannedRoute): void {
    route.fault = `the route of ${left.rule.title} is left out, and this one would get its requests`;
    route.standIn = { ...standInOf(route.keys), ...conditionsOf(route.keys) };
    this.texts.delete(route);
    this.plan.ledger.note(
      route.rule.origin,
      "it is closed: a route that is left out would have taken requests that it gets",
      "put the route that is left out in order first",
    );
  }

  /** Takes a stream out: nothing can be in its place. */
  private takeStream(stream: PlannedStream | undefined, path: string, reason: string): void {
    if (stream === undefined) throw new Error(`${path}: ${reason}`);
    this.streams = this.streams.filter((one) => one !== stream);
    this.plan.ledger.note(stream.origin, `the stream is left out: ${shown(reason)}`, "write it: docs/streams.md");
  }

  /** Takes a section or a key of one out of config.yaml. */
  takeFromConfig(path: string, reason: string): void {
    const [, listed] = /^server\.listeners\[(\d+)\]/.exec(path) ?? [];
    if (listed !== undefined) return this.takeListener(Number(listed), reason);
    const [root = "", key = ""] = path.split(/\.|\[/);
    const keys = (this.config as Record<string, Keys>)[root];
    if (this.removedKeys.has(`${root}.${key}`)) return;
    const known = keys !== undefined && key in keys ? key : Object.keys(keys ?? {}).at(-1);
    if (keys === undefined || known === undefined) throw new Error(`${path}: ${reason}`);
    this.removed.push({ yaml: yamlOf({ [root]: { [known]: keys[known] } }), fault: shown(reason) });
    delete keys[known];
    this.removedKeys.add(`${root}.${known}`);
    this.plan.ledger.remark(
      { file: "config.yaml", line: 0 },
      `${root}.${known}`,
      `the section is a comment: ${shown(reason)}`,
      "remove the # signs when it is in order",
    );
  }

  /** Takes an address out, and its name out of the routes of several; a route of it alone has a fault in the next round. */
  private takeListener(at: number, reason: string): void {
    const entry = (this.config.server.listeners as (Keys | null)[])[at];
    if (entry == null) return;
    (this.config.server.listeners as (Keys | null)[])[at] = null;
    this.removed.push({ yaml: yamlOf({ server: { listeners: [entry] } }), fault: shown(reason) });
    for (const route of this.routes) {
      const { listeners } = route.keys;
      if (!Array.isArray(listeners) || listeners.length < 2 || !listeners.includes(entry.name)) continue;
      route.keys.listeners = listeners.filter((name) => name !== entry.name);
      this.texts.delete(route);
    }
    this.plan.ledger.remark(
      { file: "config.yaml", line: 0 },
      `server.listeners ${String(entry.address)}`,
      `the address is a comment: ${shown(reason)}`,
      "remove the # signs when it is in order, and those of its routes",
    );
  }

  /** config.yaml. */
  configText(): string {
    const { server, proxy } = this.config;
    if (Array.isArray(server.listeners)) {
      server.listeners = server.listeners.filter((one) => one !== null);
      if ((server.listeners as Keys[]).length === 0) delete server.listeners;
    }
    const parts: string[] = [`# Made by edge convert from ${this.plan.product}; edge help config shows every key.`];
    parts.push(...this.generalNotes());
    for (const { yaml, fault } of this.removed)
      parts.push(commented(`${fault}; without the # signs:\n${yaml.trimEnd()}`));
    const sections: Keys = {};
    if (Object.keys(server).length > 0) sections.server = server;
    if (Object.keys(proxy).length > 0) sections.proxy = proxy;
    parts.push(Object.keys(sections).length === 0 ? "{}" : yamlOf(sections));
    return `${parts.join("\n")}\n...\n`;
  }

  /** routes.yaml, with the table of all notes at its end. */
  routesText(): string {
    this.closeBehind();
    const parts: string[] = [`# Made by edge convert from ${this.plan.product}; edge help routes shows every key.`];
    if (this.maps.length > 0)
      parts.push(yamlOf({ maps: Object.fromEntries(this.maps.map(({ name, keys }) => [name, keys])) }), "");
    if (this.routes.length + this.streams.length === 0) parts.push("routes: []");
    else parts.push("routes:");
    const said = new Set<object>();
    for (const route of this.routes) parts.push("", this.routeText(route, said));
    for (const stream of this.streams) parts.push("", this.streamText(stream, said));
    parts.push("", this.table());
    return `${parts.join("\n")}\n...\n`;
  }

  /** Where faults of the file that is written now belong: by the places of its entries. */
  written(): WrittenDraft {
    return {
      routes: this.routes.filter((route) => route.fault === "" || route.standIn !== null),
      streams: this.streams,
    };
  }

  private routeText(route: PlannedRoute, said: Set<object>): string {
    const lines = [`# ${shown(route.rule.title)}`, ...this.notesAt(route.rule, said).map(noteLine)];
    return [...lines.map((line) => `  ${line}`.trimEnd()), this.entryText(route)]
      .filter((one) => one !== "")
      .join("\n");
  }

  /** The YAML of a route, made once. */
  private entryText(route: PlannedRoute): string {
    const known = this.texts.get(route);
    if (known !== undefined) return known;
    const { fault, keys, standIn } = route;
    const parts: string[] = [];
    if (fault !== "") parts.push(commented(`${fault}. The route without the # signs:\n${yamlOf([keys])}`));
    const written = fault === "" ? keys : standIn;
    if (written !== null) parts.push(yamlOf([written]));
    const text = indented(parts.join("\n"));
    EFFORT.take(STEPS_A_ROUTE + text.length / CHARS_A_STEP);
    this.texts.set(route, text);
    return text;
  }

  private streamText({ origin, keys }: PlannedStream, said: Set<object>): string {
    const lines = [
      `# ${origin.text}, line ${origin.line}`,
      ...this.notesAt({ origin, scopes: [] }, said).map(noteLine),
    ];
    return `${indented(lines.join("\n"))}\n${indented(yamlOf([keys]))}`;
  }

  /** The notes of an entry that have not been said. @param said directives of which they have, and blocks; added to */
  private notesAt({ origin, scopes }: Pick<Rule, "origin" | "scopes">, said: Set<object>): Note[] {
    const block = origin.block ?? [];
    EFFORT.take(1 + scopes.length);
    const fresh = [origin, ...scopes, ...(said.has(block) ? [] : block)].filter((one) => !said.has(one));
    for (const one of [...fresh, block]) said.add(one);
    return [...new Set(fresh)].flatMap((one) => this.plan.ledger.notesOf(one));
  }

  /** Notes that no route shows. */
  private generalNotes(): string[] {
    const said = new Set<object>();
    const atRoutes = new Set([
      ...this.routes.flatMap(({ rule }) => this.notesAt(rule, said)),
      ...this.streams.flatMap(({ origin }) => this.notesAt({ origin, scopes: [] }, said)),
    ]);
    return this.plan.ledger
      .notes()
      .filter((note) => !atRoutes.has(note))
      .map(noteLine);
  }

  /** All notes: file and line, directive, why, what to do. */
  private table(): string {
    const notes = this.plan.ledger.notes();
    if (notes.length === 0) return "# Everything has been carried over.";
    const rows = notes.map((note) => [place(note), note.directive, note.why, note.cure]);
    const head = ["place", "directive", "why", "what to do"];
    const lines = [head, ...rows].map(
      (cells) => `# | ${cells.map((cell) => shown(cell).replaceAll("|", "¦")).join(" | ")} |`,
    );
    return [`# Not carried over, or different (${notes.length}):`, "#", ...lines].join("\n");
  }
}

/** Rules that count at the same listeners: no request is for two of these lists. */
function byListeners(rules: readonly Rule[]): readonly (readonly Rule[])[] {
  return [...Map.groupBy(rules, ({ listeners = [] }) => listeners.join()).values()];
}

/** What the gateway answers itself. docs/endpoints.md */
const OWN_PATHS: readonly string[] = ["/health", "/api/status", "/metrics", "/internal"];

/** Methods that no route may name: docs/routing.md#methods */
function isRefusedAnyway({ methods }: Rule): boolean {
  return methods.length > 0 && methods.every((one) => one === "TRACE" || one === "CONNECT");
}

/** A route that keeps the place of a faulty one. */
function standInOf(keys: Keys): Keys {
  const place = PLACE_KEYS.filter((key) => key in keys).map((key) => [key, keys[key]] as const);
  return { type: "respond", ...Object.fromEntries(place), status: 503 };
}

/** A literal Host for the origin has a key of its own; a response has no origin. */
function nameHost(keys: Keys): void {
  const edits = (keys.headers as Keys | undefined)?.request as Keys | undefined;
  const fields = edits?.set as Keys | undefined;
  const name = Object.keys(fields ?? {}).find((one) => one.toLowerCase() === "host");
  if (edits === undefined || fields === undefined || name === undefined) return;
  const value = String(fields[name]);
  const isNamed = /^[a-z0-9.-]+(:\d+)?$/i.test(value);
  // Other values are left out with a note of their own.
  const isForwarded = hasType(keys, "upstream");
  if (isForwarded && !isNamed) return;
  if (isForwarded) keys.host_header = value;
  const { [name]: _host, ...others } = fields;
  const { set: _set, ...rest } = edits;
  const request = Object.keys(others).length > 0 ? { ...rest, set: others } : rest;
  const { request: _request, ...headers } = keys.headers as Keys;
  const kept = Object.keys(request).length > 0 ? { ...headers, request } : headers;
  if (Object.keys(kept).length > 0) keys.headers = kept;
  else delete keys.headers;
}

/** Takes one field out of `headers`. @param path below the key, such as request, set, X-Team */
function dropField(keys: Keys, [direction, operation, ...name]: readonly string[]): void {
  const edits = (keys.headers as Keys)[direction!] as Keys;
  const fields = edits[operation!] as Keys;
  const known = withoutIndex(name.join("."));
  if (Array.isArray(fields) || !(known in fields)) delete edits[operation!];
  else delete fields[known];
}

/** A name without the place in a list that is behind it: `X-Team[0]`. */
function withoutIndex(name: string): string {
  if (!name.endsWith("]")) return name;
  const digits = name.slice(0, -1);
  const rest = trimmedEnd(digits, "0123456789");
  if (rest === digits) return name;
  return rest.endsWith("[") ? rest.slice(0, -1) : rest;
}

/** The path or prefix of a route, behind its listeners. */
function placeOf(keys: Keys): string {
  return `${Array.isArray(keys.listeners) ? keys.listeners.join() : ""}${String(keys.path ?? keys.prefix)}`;
}

/** All prefixes that hold a place, and the place. */
function holdersOf(place: string): string[] {
  const root = place.indexOf("/");
  const found = [place, place.slice(0, root + 1)];
  for (let at = place.indexOf("/", root + 1); at >= 0; at = place.indexOf("/", at + 1)) found.push(place.slice(0, at));
  return found;
}

/** Whether a path is one of those of a prefix. */
function isWithin(prefix: string, path: string): boolean {
  return prefix === "/" || path === prefix || path.startsWith(`${prefix}/`);
}

function conditionsOf(keys: Keys): Keys {
  return Object.fromEntries(CONDITION_KEYS.filter((key) => key in keys).map((key) => [key, keys[key]]));
}

/** Keys that let requests through to other routes. */
const CONDITION_KEYS: readonly string[] = ["match", "regex"];
const PLACE_KEYS: readonly string[] = ["prefix", "path", "host", "listeners", "methods", "match", "regex"];
/** Keys without which a route does the same for fewer comforts; no rule about who may come in is one of them. */
const DROPPABLE: ReadonlySet<string> = new Set([
  "cache_control",
  "compression",
  "errors",
  "headers",
  "timeouts",
  "load_balancing",
  "circuit_breaker",
  "health_check",
  "cache",
  "max_body_bytes",
  "mirror",
  "retries",
  "rewrite_location",
  "rewrite_cookies",
  "browse",
]);

/** Relative names of files and folders count from the folder of the file that was converted; networks have nothing beyond their prefix. */
export function plainValues(value: unknown, folder: string, key = ""): unknown {
  EFFORT.take(1);
  if (Array.isArray(value)) return value.map((one) => plainValues(one, folder, key));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, plainValues(one, folder, key === "errors" ? "errors" : name)]),
    );
  if (typeof value === "string" && NETWORK_KEYS.has(key)) return networkFrom(value);
  if (typeof value !== "string" || value === "" || isAbsolute(value)) return value;
  return FILE_KEYS.has(key) ? join(folder, value) : value;
}

const NETWORK_KEYS: ReadonlySet<string> = new Set(["allow", "deny", "client_ip", "trusted_proxies"]);
/** What it takes to write a route, and how many of its characters cost as much as a comparison. */
const STEPS_A_ROUTE = 50;
const CHARS_A_STEP = 4;
const FILE_KEYS: ReadonlySet<string> = new Set([
  "dir",
  "cert_file",
  "key_file",
  "ca_file",
  "client_ca_file",
  "users_file",
  "file",
  "errors",
]);

/** Whether a request may be for several hosts of the rules, whose routes are in the order of their paths (arrange.ts). */
function hasNestedHosts(rules: readonly Rule[]): boolean {
  const isNamed = rules.some(({ hosts }) => hosts.length > 0);
  return isNamed && rules.some(({ hosts }) => hosts.length === 0 || hosts.some((host) => host.startsWith("*.")));
}

/** Puts settings that all routes share at the server. */
function hoist(routes: readonly PlannedRoute[], server: Keys): void {
  for (const [key, fits] of HOISTED) {
    // What only refuses says nothing of it.
    const concerned = routes.filter(
      ({ keys }) => fits.includes(String(keys.type)) && (key in keys || !isRefusal(keys)),
    );
    const values = new Set(concerned.map(({ keys }) => JSON.stringify(keys[key])));
    if (concerned.length === 0 || values.size !== 1 || values.has(undefined as never)) continue;
    server[key] ??= concerned[0]!.keys[key];
    if (JSON.stringify(server[key]) !== [...values][0]) continue;
    for (const { keys } of routes) delete keys[key];
  }
}

const HOISTED: readonly (readonly [string, readonly string[]])[] = [
  ["compression", ["upstream", "static", "respond"]],
  ["max_body_bytes", ["upstream"]],
  ["errors", ["upstream", "static", "respond"]],
];

/** YAML of a value; `${` is written so that it names no variable. */
function yamlOf(value: unknown): string {
  const plain = literalValues(value);
  // The runtime's writer takes a twentieth of the time, but writes texts of several lines on one.
  if (!JSON.stringify(plain).includes("\\n")) return Bun.YAML.stringify(plain, null, 2).trimEnd();
  return stringify(plain, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd();
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}

/** A value in which no text names a variable. */
export function literalValues(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("${", () => "$${");
  if (Array.isArray(value)) return value.map(literalValues);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, literalValues(one)]));
}

function commented(text: string): string {
  return text
    .split("\n")
    .map((line) => `# ${line}`.trimEnd())
    .join("\n");
}

function place({ place: at }: Note): string {
  return at.line === 0 ? shown(at.file) : `${shown(at.file)}:${at.line}`;
}

/** A note as a comment at what it is about. */
function noteLine(note: Note): string {
  return `# ! ${place(note)}: ${note.directive}: ${note.why}. ${capital(note.cure)}.`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
