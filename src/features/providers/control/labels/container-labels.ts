import { trimmed } from "../../../../core/trimming.ts";
import { type Instance, urlAt } from "./instance.ts";
import { type LabelKeys, newKeys, putAt, routeKeys, takesTargets } from "./label-keys.ts";

/** Settings of a source about labels. */
export interface LabelConfig {
  readonly exposedByDefault: boolean;
  readonly defaultHost: string;
  readonly labels: readonly ("edge" | "traefik")[];
  readonly constraints: readonly string[];
  readonly trusted: boolean;
  /** The network whose addresses are targets; "" for the first. */
  readonly network: string;
}

/** A label that does not count, and what to do about it. */
export interface LabelFault {
  readonly container: string;
  readonly label: string;
  readonly reason: string;
  readonly cure: string;
  /** The route that is left out for it; absent if the rest of it serves. */
  readonly route?: string;
}

/** Routes that labels say. */
export interface LabelRoute {
  readonly name: string;
  /** That of the instances: names are of a scope alone. */
  readonly scope: string;
  /** Names of the containers, the first started first. */
  readonly containers: readonly string[];
  /** What labels of it begin with. */
  readonly label: string;
  /** As routes.yaml would have it. */
  readonly routes: readonly LabelKeys[];
}

/** What all labels of a kind say. */
export interface LabelRoutes {
  readonly routes: readonly LabelRoute[];
  readonly faults: readonly LabelFault[];
}

/** Whether a container has routes by its labels. */
export function isExposed(labels: Readonly<Record<string, string>>, config: LabelConfig): boolean {
  const kinds = kindsOf(config);
  const said = kinds.map((kind) => labels[`${kind}.enable`]?.trim().toLowerCase()).find((value) => value !== undefined);
  const isEnabled = said === undefined ? config.exposedByDefault : said === "true" || said === "1";
  return isEnabled && config.constraints.every((constraint) => meets(labels, constraint));
}

/** Which labels are read. */
export function kindsOf({ labels }: LabelConfig): readonly ("edge" | "traefik")[] {
  return labels.length > 0 ? labels : ["edge", "traefik"];
}

function meets(labels: Readonly<Record<string, string>>, constraint: string): boolean {
  const at = constraint.indexOf("=");
  const name = constraint.slice(0, at);
  return Object.hasOwn(labels, name) && labels[name] === constraint.slice(at + 1);
}

/** The host of routes that name none. */
export function defaultHost({ name }: Instance, { defaultHost: host }: LabelConfig): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9.-]+/g, "-");
  return host.replaceAll("{name}", trimmed(plain, "-."));
}

/** The address of a container for requests; "" if it has none in the wanted network. @param network "" for its first */
function networkAddress({ addresses }: Instance, network: string): string {
  if (network !== "") return addresses[network] ?? addresses.host ?? "";
  const [first = ""] = Object.keys(addresses).sort();
  return addresses[first] ?? "";
}

/** The source of labels, as their routes use it. */
export interface LabelPorts {
  readonly config: LabelConfig;
  /** The section of the settings, for cures: `providers.docker`. */
  readonly section: string;
  /** The URL of an instance for requests, or why there is none. */
  urlOf(instance: Instance, at: { readonly port: string; readonly scheme: string }): string | NoUrl;
}

/** Why an instance has no URL. */
export type NoUrl = Pick<LabelFault, "label" | "reason" | "cure">;

/** One container's part of a route. */
interface Part {
  readonly container: Instance;
  readonly keys: LabelKeys;
  readonly port: string;
  readonly scheme: string;
  readonly faults: readonly LabelFault[];
}

/** The routes that labels `edge.…` say: those of one scope and name are one. @param containers the first started first */
export function edgeRoutes(containers: readonly Instance[], site: LabelPorts): LabelRoutes {
  const { config } = site;
  const parts = new Map<string, Part[]>();
  const faults: LabelFault[] = [];
  const hasOthers = kindsOf(config).includes("traefik");
  for (const container of containers) {
    const own = partsOf(container, faults);
    const isForOthers =
      hasOthers && Object.keys(container.labels).some((label) => /^traefik\.(http|tcp|udp)\./i.test(label));
    if (own.size === 0 && !isForOthers) own.set(defaultName(container), emptyPart(container));
    for (const [name, part] of own) {
      const key = `${name}\0${container.scope}`;
      const known = parts.get(key);
      if (known === undefined) parts.set(key, [part]);
      else known.push(part);
    }
  }
  const routes = [...parts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, all]) => routeOf(key.split("\0", 1)[0]!, all, site, faults) ?? []);
  return { routes, faults };
}

function defaultName({ name }: Instance): string {
  return name.replace(/[^\w-]+/g, "-");
}

function emptyPart(container: Instance): Part {
  const { labels } = container;
  return {
    container,
    keys: newKeys(),
    port: labels["edge.port"] ?? "",
    scheme: labels["edge.scheme"] ?? "",
    faults: [],
  };
}

/** The parts of routes that a container says, by their names. */
function partsOf(container: Instance, faults: LabelFault[]): Map<string, Part> {
  const parts = new Map<string, Part>();
  const { name: container_, labels } = container;
  for (const label of Object.keys(labels).sort()) {
    if (!label.startsWith("edge.") || OWN.has(label)) continue;
    const [, name, path] = /^edge\.routes\.([\w-]{1,128})\.(.+)$/.exec(label) ?? [];
    const fault = (reason: string, cure: string): LabelFault => ({
      container: container_,
      label: label.slice(0, 200),
      reason,
      cure,
    });
    if (name === undefined || path === undefined) {
      faults.push(fault("edge has no such label", "write edge.enable, edge.port, or edge.routes.NAME.KEY=value"));
      continue;
    }
    const part = parts.get(name) ?? emptyPart(container);
    const value = labels[label]!;
    if (value.length > MAX_LABEL) {
      const long = fault(`longer than ${MAX_LABEL} characters`, "put the route into routes.yaml");
      parts.set(name, { ...part, faults: [...part.faults, { ...long, route: name }] });
      continue;
    }
    if (path === "port" || path === "scheme") parts.set(name, { ...part, [path]: value });
    else {
      const reason = putAt(part.keys, path, value);
      const more = reason === "" ? [] : [{ ...fault(reason, "write each key once"), route: name }];
      parts.set(name, { ...part, faults: [...part.faults, ...more] });
    }
  }
  return parts;
}

const MAX_LABEL = 16_384;
/** Keys that send requests to servers. */
const TARGET_KEYS = ["target", "targets", "canary", "mirror"];
const OWN: ReadonlySet<string> = new Set(["edge.enable", "edge.port", "edge.scheme"]);

/** A route of all containers that name it. The labels of the one that was started first count. */
function routeOf(name: string, parts: readonly Part[], site: LabelPorts, faults: LabelFault[]): LabelRoute | null {
  const { config, section } = site;
  // Others may say no more than their ports.
  const first = parts.find(({ keys }) => Object.keys(keys).length > 0) ?? parts[0]!;
  const label = `edge.routes.${name}`;
  for (const part of parts) noteOther(label, part, first, faults);
  const type = typeof first.keys.type === "string" ? first.keys.type.trim() : "upstream";
  const broken = [...first.faults];
  if (!config.trusted)
    for (const key of TARGET_KEYS)
      if (key in first.keys)
        broken.push({
          container: first.container.name,
          label: `${label}.${key}`,
          reason: "the containers of a route are its targets",
          cure: `use edge.port, or set ${section}.trusted`,
          route: name,
        });
  if (broken.length > 0) {
    faults.push(...broken);
    return null;
  }
  const keys = routeKeys(first.keys, type);
  keys.type = type;
  if (!("prefix" in keys) && !("path" in keys) && !("regex" in keys)) keys.prefix = "/";
  if (!("host" in keys) && !("hosts" in keys))
    keys.host = [...new Set(parts.map(({ container }) => defaultHost(container, config)))];
  if (takesTargets(type) && !("target" in keys) && !("targets" in keys)) {
    const targets = parts.flatMap((part) => targetOf(part, label, site, faults) ?? []);
    if (targets.length === 0) return null;
    keys.targets = [...new Set(targets)].map((url) => ({ url }));
  }
  const names = [...new Set(parts.map(({ container }) => container.name))];
  return { name, label, scope: first.container.scope, containers: names, routes: [keys] };
}

/** Names a label of a later container that differs. */
function noteOther(label: string, { container, keys }: Part, first: Part, faults: LabelFault[]): void {
  if (Object.keys(keys).length === 0 || Bun.deepEquals(keys, first.keys)) return;
  const names = new Set([...Object.keys(keys), ...Object.keys(first.keys)]);
  const [other = ""] = [...names].filter((key) => !Bun.deepEquals(keys[key], first.keys[key])).sort();
  faults.push({
    container: container.name,
    label: `${label}.${other}`,
    reason: `${first.container.name} has the same route, says otherwise, and was started first: that counts`,
    cure: "give both the same labels, or the route another name",
  });
}

function targetOf(part: Part, label: string, site: LabelPorts, faults: LabelFault[]): string | null {
  const { container, port, scheme } = part;
  const url = site.urlOf(container, { port, scheme });
  if (typeof url === "string") return url;
  faults.push({ container: container.name, ...url, label: url.label === "port" ? `${label}.port` : url.label });
  return null;
}

/** The URL of a container for requests, or why there is none. @param at its port and scheme as labels say them */
export function containerUrl(
  container: Instance,
  at: { readonly port: string; readonly scheme: string; readonly network: string },
): string | NoUrl {
  const address = networkAddress(container, at.network);
  if (address === "")
    return {
      label: "network",
      reason: at.network === "" ? "it has no address" : `it is not in the network ${at.network}`,
      cure: "connect it to the network of providers.docker.network: it gets no requests",
    };
  const written = at.port.trim();
  const port = written === "" ? (container.ports[0] ?? 0) : Number(written);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    return {
      label: "port",
      reason: written === "" ? "the container names no port" : "expected a port from 1 to 65535",
      cure: "set edge.port: it gets no requests",
    };
  const scheme = at.scheme.trim() || "http";
  if (!/^(http|https|h2c|h2|fastcgi|uwsgi|scgi)$/.test(scheme))
    return {
      label: "scheme",
      reason: "expected http, https, h2c, h2, fastcgi, uwsgi or scgi",
      cure: "set edge.scheme: it gets no requests",
    };
  return urlAt(scheme, address, port);
}
