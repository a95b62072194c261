import { commaList } from "../../../core/comma-list.ts";
import { arrange } from "../arrange.ts";
import { literalValues, plainValues } from "../draft.ts";
import { EFFORT } from "../effort.ts";
import type { Keys } from "../keys.ts";
import type { Note } from "../ledger.ts";
import type { Plan } from "../plan.ts";
import { isRefusal } from "../plan.ts";
import { Statement } from "../statement.ts";
import { convertTraefik } from "./traefik.ts";
import { sectionStatements } from "./traefik-file.ts";
import { parseRule } from "./traefik-rules.ts";

/** Why a container has no URL. */
interface NoUrl {
  readonly label: string;
  readonly reason: string;
  readonly cure: string;
}

/** A container with labels of Traefik. */
interface LabelledContainer {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The host of routes that name none. */
  readonly defaultHost: string;
  urlAt(at: { readonly port: string; readonly scheme: string; readonly network: string }): string | NoUrl;
}

/** The gateway, as far as labels depend on it. */
interface Surroundings {
  /** Names of listeners, which entry points may have. */
  readonly listeners: readonly string[];
  /** Whether clear text leads to https:// anyway. */
  readonly redirectsHttps: boolean;
  /** Whether labels may name servers. */
  readonly isTrusted: boolean;
  /** How names of this source end: `@docker`. */
  readonly provider: string;
}

interface Fault {
  readonly container: string;
  readonly label: string;
  readonly reason: string;
  readonly cure: string;
  readonly route?: string;
}

interface Route {
  readonly name: string;
  readonly containers: readonly string[];
  readonly label: string;
  readonly routes: readonly Keys[];
}

type Kind = "routers" | "services" | "middlewares";

/** A router, a service or a middleware. */
interface Part {
  readonly kind: Kind;
  readonly name: string;
  /** The first started that says it. */
  readonly owner: LabelledContainer;
  readonly containers: LabelledContainer[];
  /** Values by what follows its name. */
  readonly values: ReadonlyMap<string, string>;
}

/** Makes routes of the labels of containers or services, as Traefik's providers read them. docs/providers.md#labels-of-traefik */
export function traefikRoutes(
  containers: readonly LabelledContainer[],
  around: Surroundings,
): { readonly routes: readonly Route[]; readonly faults: readonly Fault[] } {
  return new LabelConversion(around).of(containers);
}

class LabelConversion {
  private readonly around: Surroundings;
  private readonly faults: Fault[] = [];
  private readonly parts: Record<Kind, Map<string, Part>> = {
    routers: new Map(),
    services: new Map(),
    middlewares: new Map(),
  };
  /** URLs of services, and of routers without one. */
  private readonly urls: Map<string, string[]> = new Map();
  /** The service of each router. */
  private readonly serviceOf: Map<string, string> = new Map();
  private readonly listenersOf: Map<string, readonly string[]> = new Map();

  constructor(around: Surroundings) {
    this.around = around;
  }

  of(containers: readonly LabelledContainer[]) {
    for (const container of containers) this.take(container);
    const routers = [...this.parts.routers.values()].filter((router) => this.isReady(router));
    const routes = groupsOf(routers).flatMap((group) => this.convert(group, routers.length > 1));
    return { routes, faults: this.faults };
  }

  /** Takes the labels of a container. */
  private take(container: LabelledContainer): void {
    const own = { routers: new Map(), services: new Map(), middlewares: new Map() } as Record<
      Kind,
      Map<string, Map<string, string>>
    >;
    let isAny = false;
    for (const label of Object.keys(container.labels).sort()) {
      if (!/^traefik\./i.test(label) || /^traefik\.(enable|docker\.(network|lbswarm)|tags?)$/i.test(label)) continue;
      const [, kind, name, rest] =
        /^traefik\.http\.(routers|services|middlewares)\.([^.]{1,200})\.(.+)$/i.exec(label) ?? [];
      if (kind === undefined) {
        this.fault(container, label, "edge has no counterpart of this label", cureOf(label));
        continue;
      }
      isAny = true;
      const of = own[kind.toLowerCase() as Kind];
      const values = of.get(name!) ?? new Map<string, string>();
      of.set(name!, values.set(rest!, container.labels[label]!));
    }
    if (!isAny) return;
    if (own.routers.size === 0) {
      const [only] = own.services.keys();
      own.routers.set(only ?? plainName(container.name), new Map());
    }
    for (const router of own.routers.values())
      if (![...router.keys()].some((key) => key.toLowerCase() === "rule"))
        router.set("rule", `Host(\`${container.defaultHost}\`)`);
    for (const kind of ["middlewares", "services", "routers"] as const)
      for (const [name, values] of own[kind]) this.add(kind, name, values, container);
    const network = valueAt(new Map(Object.entries(container.labels)), "traefik.docker.network");
    for (const [name, values] of own.services) this.addUrl(`service ${name}`, container, values, network);
    for (const [name, values] of own.routers) {
      const named = ownName(valueAt(values, "service"), this.around);
      const services = [...own.services.keys()];
      if (named !== "") this.serviceOf.set(name, named);
      else if (services.length === 1) this.serviceOf.set(name, services[0]!);
      else if (services.length === 0) {
        this.addUrl(`router ${name}`, container, new Map(), network);
        this.serviceOf.set(name, "");
      } else
        this.fault(
          container,
          `traefik.http.routers.${name}.service`,
          `the container has ${services.length} services, and the label is missing`,
          "name the service of the router",
          name,
        );
    }
  }

  private add(kind: Kind, name: string, values: ReadonlyMap<string, string>, container: LabelledContainer): void {
    const known = this.parts[kind].get(name);
    if (known === undefined) {
      this.parts[kind].set(name, { kind, name, owner: container, containers: [container], values });
      return;
    }
    known.containers.push(container);
    const said = (one: ReadonlyMap<string, string>): string =>
      JSON.stringify(
        [...one].filter(([path]) => !SERVER.test(path)).map(([path, value]) => [path.toLowerCase(), value]),
      );
    if (said(known.values) !== said(values))
      this.fault(
        container,
        `traefik.http.${kind}.${name}`,
        `${known.owner.name} says otherwise, and was started first: that counts`,
        "give both the same labels, or another name",
      );
  }

  private addUrl(
    key: string,
    container: LabelledContainer,
    values: ReadonlyMap<string, string>,
    network: string,
  ): void {
    const label = `traefik.http.services.${key.replace(/^\w+ /, "")}.loadbalancer.server`;
    const written = valueAt(values, "loadbalancer.server.url");
    if (written !== "" && !this.around.isTrusted) {
      this.fault(container, `${label}.url`, "the containers of a service are its servers", "use server.port");
      return;
    }
    const at = {
      port: valueAt(values, "loadbalancer.server.port"),
      scheme: valueAt(values, "loadbalancer.server.scheme"),
      network,
    };
    const url = written === "" ? container.urlAt(at) : written;
    const urls = this.urls.get(key) ?? [];
    if (typeof url === "string") this.urls.set(key, [...new Set([...urls, url])]);
    else {
      const { label: what, reason, cure } = url;
      this.fault(
        container,
        what === "network" ? "network" : `${label}.${what}`,
        reason,
        cure.replace(/edge\.\w+/, `${label}.${what}`),
      );
    }
  }

  /** Whether a router has a place and a service. */
  private isReady({ name, owner, values }: Part): boolean {
    const service = this.serviceOf.get(name);
    if (service === undefined) return false;
    const label = `traefik.http.routers.${name}`;
    const isOwn = service.endsWith("@internal");
    const key = service === "" ? `router ${name}` : `service ${service}`;
    if (!isOwn && !this.urls.has(key)) {
      const others = this.parts.services.has(service) || service === "";
      if (!others) this.fault(owner, `${label}.service`, `no container has the service ${service}`, "name one", name);
      return false;
    }
    const points = commaList(valueAt(values, "entrypoints"));
    const known = points.filter((one) => this.around.listeners.includes(one));
    if (points.length === 0 || (known.length === 0 && points.some((one) => USUAL.test(one)))) return true;
    if (known.length === 0) {
      this.fault(
        owner,
        `${label}.entrypoints`,
        `no listener has the name ${points[0]}: the route must not be at others`,
        "add it to server.listeners",
        name,
      );
      return false;
    }
    this.listenersOf.set(name, known);
    return true;
  }

  /** The routes of routers of the same hosts. @param hasOthers whether a router that is left out must keep its place */
  private convert(group: readonly Part[], hasOthers: boolean): Route[] {
    const tree = this.treeOf(group);
    let plan: Plan;
    let arranged: ReturnType<typeof arrange>;
    try {
      EFFORT.begin(
        "labels",
        group.reduce((sum, { values }) => sum + [...values].join().length, 0),
      );
      plan = convertTraefik(sectionStatements(tree, "labels"));
      arranged = arrange(plan.rules);
    } catch (error) {
      for (const { name, owner } of group)
        this.fault(owner, `traefik.http.routers.${name}.rule`, (error as Error).message, "write a simpler rule", name);
      return [];
    }
    const shut = new Set(plan.rules.filter(({ keys }) => isShut(keys)).map(({ origin }) => origin.name));
    this.noteAll(plan, group, shut);
    const redirects = (plan.config.server.tls as Keys | undefined)?.redirect_http === true;
    return group.flatMap((router): Route[] => {
      const { name, owner, containers } = router;
      const label = `traefik.http.routers.${name}`;
      const own = arranged.filter(({ rule }) => rule.origin.name === name);
      if (own.length === 0 && redirects && !this.around.redirectsHttps)
        this.fault(owner, label, "clear text leads to https:// by a setting", "set server.tls.redirect_http: true");
      const isOut = shut.has(name);
      // Its requests must not fall to another route, which lacks the guard.
      if (own.length === 0 || (isOut && !hasOthers)) return [];
      const listeners = this.listenersOf.get(name);
      const routes = own.map(({ keys }) => ({
        ...(isOut ? closedPlace(keys) : (plainValues(literalValues(keys), "") as Keys)),
        ...(listeners === undefined ? {} : { listeners }),
      }));
      return [{ name, label, containers: containers.map((one) => one.name), routes }];
    });
  }

  /** The sections of a dynamic configuration for these routers, with all that they name. */
  private treeOf(group: readonly Part[]): Keys {
    const tree: Record<Kind, Keys> = { routers: {}, services: {}, middlewares: {} };
    const middleware = (name: string, depth: number): void => {
      const part = this.parts.middlewares.get(name);
      if (part === undefined || Object.hasOwn(tree.middlewares, name) || depth > 8) return;
      tree.middlewares[name] = sections(part.values);
      for (const [path, value] of part.values)
        if (/^chain\.middlewares$/i.test(path))
          for (const one of commaList(value)) middleware(localName(one, this.around), depth + 1);
    };
    for (const { name, values } of group) {
      const named = this.serviceOf.get(name)!;
      const service = named === "" ? `${name}-of-router` : named;
      const middlewares = commaList(valueAt(values, "middlewares")).map((name) => localName(name, this.around));
      for (const one of middlewares) middleware(one, 0);
      const own = [...values].filter(([path]) => !/^(service|middlewares|entrypoints)$/i.test(path));
      tree.routers[name] = {
        ...sections(new Map(own)),
        service,
        ...(middlewares.length > 0 ? { middlewares } : {}),
      };
      const urls = this.urls.get(named === "" ? `router ${name}` : `service ${named}`) ?? [];
      const part = this.parts.services.get(named);
      const of = part === undefined ? {} : sections(new Map([...part.values].filter(([path]) => !SERVER.test(path))));
      const balancer = Object.keys(of).find((key) => key.toLowerCase() === "loadbalancer");
      const { [balancer ?? ""]: known = {}, ...others } = of;
      if (urls.length > 0)
        tree.services[service] = {
          ...others,
          loadBalancer: { ...(known as Keys), servers: urls.map((url) => ({ url })) },
        };
    }
    return { http: tree };
  }

  /** One fault for each container and label that is not carried over as it is. */
  private noteAll(plan: Plan, group: readonly Part[], shut: ReadonlySet<string>): void {
    const said = new Set<string>();
    const told = new Set<string>();
    for (const note of plan.ledger.notes()) {
      const path = pathOf(note);
      const [, kind, name] = path;
      // A label below one that is not carried over goes with it.
      if (path.length < 3 || note.why.startsWith("belongs to ")) continue;
      const part = this.parts[kind as Kind]?.get(name ?? "") ?? group[0]!;
      const label = ["traefik", ...path].join(".");
      const key = `${part.owner.name} ${label}`;
      if (said.has(key)) continue;
      said.add(key);
      const route =
        kind === "routers" || /closed/.test(note.why)
          ? [...shut].find((one) => kind !== "routers" || one === name)
          : undefined;
      if (route !== undefined) told.add(route);
      this.fault(part.owner, label, note.why, note.cure, route);
    }
    for (const { name, owner } of group)
      if (shut.has(name) && !told.has(name))
        this.fault(owner, `traefik.http.routers.${name}`, "it is not carried over as a whole", "write a route", name);
  }

  private fault(container: LabelledContainer, label: string, reason: string, cure: string, route?: string): void {
    this.faults.push({
      container: container.name,
      label: label.slice(0, MAX_LABEL_CHARS),
      reason,
      cure,
      ...(route === undefined ? {} : { route }),
    });
  }
}

/** Whether the converter has closed a route. */
function isShut(keys: Keys): boolean {
  return isRefusal(keys) && keys.status === 503;
}

/** A place at which nothing is. */
function closedPlace(keys: Keys): Keys {
  const place = PLACE_KEYS.filter((key) => key in keys).map((key) => [key, keys[key]] as const);
  return { type: "respond", ...Object.fromEntries(place), status: 404 };
}

const PLACE_KEYS = ["prefix", "path", "host", "methods", "match", "regex"];

/** Routers that a request may be for at the same time: those of the same hosts. */
function groupsOf(routers: readonly Part[]): Part[][] {
  const groups = new Map<string, Part[]>();
  const named = new Map<string, string>();
  const rank = ({ values }: Part): number => Number(valueAt(values, "priority")) || valueAt(values, "rule").length;
  for (const router of [...routers].sort((a, b) => rank(b) - rank(a))) {
    EFFORT.begin("labels", valueAt(router.values, "rule").length);
    let hosts: readonly string[];
    try {
      hosts = parseRule(valueAt(router.values, "rule")).any.flatMap((one) =>
        one.hosts.length === 0 ? [""] : one.hosts.map((host) => (host.startsWith("*.") ? "" : host)),
      );
    } catch {
      hosts = [""];
    }
    const keys = [...new Set(hosts.length === 0 ? [""] : hosts)];
    const home = keys.map((host) => named.get(host)).find((one) => one !== undefined) ?? keys[0]!;
    const group = groups.get(home) ?? [];
    groups.set(home, group);
    group.push(router);
    for (const host of keys) {
      const other = named.get(host);
      named.set(host, home);
      if (other === undefined || other === home) continue;
      group.push(...(groups.get(other) ?? []));
      groups.delete(other);
      for (const [one, at] of named) if (at === other) named.set(one, home);
    }
  }
  return [...groups.values()];
}

/** The value at a path in any letter case; "" if there is none. */
function valueAt(values: ReadonlyMap<string, string>, path: string): string {
  for (const [name, value] of values) if (name.toLowerCase() === path) return value.trim();
  return "";
}

/** A name without the end that names of this source may have. */
function ownName(name: string, { provider }: Surroundings): string {
  const end = `@${provider}`;
  return name.toLowerCase().endsWith(end) ? name.slice(0, -end.length) : name;
}

/** Names of other providers are no names here. */
function localName(name: string, around: Surroundings): string {
  const plain = ownName(name, around);
  return plain.includes("@") ? `${plain.replaceAll("@", " of provider ")}.` : plain;
}

function plainName(name: string): string {
  return name.replace(/[^\w-]+/g, "-");
}

/** Sections of dotted names. */
function sections(values: ReadonlyMap<string, string>): Keys {
  const made: Keys = {};
  for (const [path, value] of values) {
    const names = path.split(/\.|(?=\[\d{1,3}\])/).slice(0, MAX_DEPTH);
    let at = made;
    names.forEach((name, i) => {
      const isLast = i === names.length - 1;
      const known = Object.hasOwn(at, name) ? at[name] : undefined;
      if (isLast) {
        const isList = LISTS.test(name);
        Object.defineProperty(at, name, {
          value: typeof known === "object" ? known : isList ? commaList(value) : value,
          enumerable: true,
          writable: true,
          configurable: true,
        });
        return;
      }
      if (typeof known !== "object")
        Object.defineProperty(at, name, { value: {}, enumerable: true, writable: true, configurable: true });
      at = at[name] as Keys;
    });
  }
  // `tls: true` has no keys of its own.
  for (const [name, value] of Object.entries(made))
    if (/^(tls|compress|retry|grpcweb|contenttype|chain)$/i.test(name) && value === "true") made[name] = {};
    else if (/^tls$/i.test(name) && value === "false") delete made[name];
  return made;
}

/** The names from the top to the subject of a note. */
function pathOf({ place }: Note): string[] {
  const names: string[] = [];
  for (let at = place instanceof Statement ? place : null; at !== null; at = at.parent) names.unshift(at.name);
  return names.slice(0, MAX_DEPTH).filter((name) => name !== "-");
}

function cureOf(label: string): string {
  if (/^traefik\.(tcp|udp)\./i.test(label)) return "write a stream in routes.yaml: docs/streams.md";
  return "take it away, or write a route";
}

const USUAL = /^(web|websecure|http|https|web-?secure)$/i;
const SERVER = /^loadbalancer\.server\./i;
const LISTS =
  /^(users|sourcerange|prefixes|authrequestheaders|authresponseheaders|addauthcookiestoresponse|encodings|excludedips|allowedhosts|middlewares|entrypoints|accesscontrolallow(headers|methods|originlist))$/i;
const MAX_DEPTH = 12;
const MAX_LABEL_CHARS = 200;
