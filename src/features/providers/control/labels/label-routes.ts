import { join } from "node:path";
import type { ConfigFault } from "../../../../config/config-fault.ts";
import type { RouteFile } from "../../../../loading/route-folder.ts";
import type { RouteSource } from "../../../../routes/route-source.ts";
import type { RuntimeConfig } from "../../../../routes/runtime-config.ts";
import type { LiveLists } from "../live/source-kind.ts";
import {
  containerUrl,
  defaultHost,
  edgeRoutes,
  kindsOf,
  type LabelConfig,
  type LabelFault,
  type LabelPorts,
  type LabelRoute,
  type LabelRoutes,
  type NoUrl,
} from "./container-labels.ts";
import type { Instance } from "./instance.ts";

/** Reads labels of Traefik. */
export type TraefikReader = (
  containers: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly defaultHost: string;
    urlAt(at: { readonly port: string; readonly scheme: string; readonly network: string }): string | NoUrl;
  }[],
  around: {
    readonly listeners: readonly string[];
    readonly redirectsHttps: boolean;
    readonly isTrusted: boolean;
    readonly provider: string;
  },
) => Pick<LabelRoutes, "faults"> & { readonly routes: readonly Omit<LabelRoute, "scope">[] };

/** A source whose routes are labels. */
interface LabelSource<Config extends LabelConfig> {
  readonly source: RouteSource;
  /** From which paths in routes count. */
  readonly folder: string;
  readonly readTraefik: TraefikReader;
  /** How Traefik calls it: `@docker`. */
  readonly provider: string;
  /** Why no request goes to an address; "" if requests may. */
  refusedAddress?(address: string, config: Config): string;
  /** The hosts that the routes of an instance of this scope may have; null for all. */
  hostsOf?(scope: string, config: Config): readonly string[] | null;
}

/** The routes of labels, as lists beside routes.yaml. docs/providers.md#docker-and-podman */
export class LabelLists<Config extends LabelConfig> implements LiveLists<Config, Instance> {
  private readonly from: LabelSource<Config>;
  private lists: readonly RouteFile[] = [];
  private labels: ReadonlyMap<string, string> = new Map();
  faults: readonly LabelFault[] = [];
  targets: ReadonlySet<string> = new Set();

  constructor(from: LabelSource<Config>) {
    this.from = from;
  }

  /** The lists, in the order of the routes' names. A faulty one is left out alone. */
  files(): readonly RouteFile[] {
    return this.lists;
  }

  /** Takes the instances that get requests now. @param instances the first started first */
  use(instances: readonly Instance[], config: Config, { server }: Pick<RuntimeConfig, "server">): void {
    const kinds = kindsOf(config);
    const all: LabelRoutes[] = [];
    if (kinds.includes("edge")) all.push(edgeRoutes(instances, this.siteOf(config)));
    if (kinds.includes("traefik")) all.push(...this.traefikRoutes(instances, config, server));
    const routes = all.flatMap((one) =>
      one.routes.map((route) => ({ ...route, routes: route.routes.map(withRetries) })),
    );
    const { source, folder, hostsOf } = this.from;
    this.faults = all.flatMap((one) => one.faults);
    this.labels = new Map(routes.map((one) => [originName(one), one.label]));
    this.targets = new Set(routes.flatMap((one) => one.routes.flatMap(targetsOf)));
    this.lists = routes.map((route) => ({
      source,
      file: {
        name: originName(route),
        // No file of a folder of routes has this path.
        path: join(
          folder,
          `${source}:${encodeURIComponent(route.scope)}:${route.label}:${config.trusted ? "" : "confined"}`,
        ),
        bytes: Buffer.from(JSON.stringify(route.routes)),
      },
      hosts: hostsOf?.(route.scope, config) ?? null,
      isLeftOut: true,
      isConfined: !config.trusted,
      isNeverKept: true,
      isGuest: !config.trusted,
    }));
  }

  clear(): void {
    this.lists = [];
    this.faults = [];
    this.targets = new Set();
  }

  /** A fault of a list, with the label that it is about. */
  shownFault(name: string, fault: ConfigFault): string {
    const [, key = ""] = /^routes\[\d+\]\.?(.*)$/.exec(fault.path) ?? [];
    const label = this.labels.get(name) ?? "";
    // Keys of Traefik are others than the route's.
    const place = label.startsWith("edge.") && key !== "" ? `${label}.${key}` : label;
    return `${name}: ${place}: ${fault.message}`;
  }

  private siteOf(config: Config): LabelPorts {
    const { network } = config;
    return {
      config,
      section: `providers.${this.from.source}`,
      urlOf: (instance, at) => this.urlOf(instance, { ...at, network }, config),
    };
  }

  private urlOf(
    instance: Instance,
    at: { readonly port: string; readonly scheme: string; readonly network: string },
    config: Config,
  ): string | NoUrl {
    for (const address of Object.values(instance.addresses)) {
      const reason = this.from.refusedAddress?.(address, config) ?? "";
      if (reason !== "")
        return {
          label: "address",
          reason,
          cure: `register another address, or set providers.${this.from.source}.trusted`,
        };
    }
    return containerUrl(instance, at);
  }

  private traefikRoutes(
    instances: readonly Instance[],
    config: Config,
    server: RuntimeConfig["server"],
  ): readonly LabelRoutes[] {
    const scopes = new Map<string, Instance[]>();
    for (const one of instances) {
      if (!Object.keys(one.labels).some((label) => /^traefik\./i.test(label))) continue;
      const known = scopes.get(one.scope);
      if (known === undefined) scopes.set(one.scope, [one]);
      else known.push(one);
    }
    return [...scopes].map(([scope, group]) => {
      const labelled = group.map((instance) => ({
        name: instance.name,
        labels: instance.labels,
        defaultHost: defaultHost(instance, config),
        urlAt: (at: { readonly port: string; readonly scheme: string; readonly network: string }) =>
          this.urlOf(instance, { ...at, network: at.network || config.network }, config),
      }));
      const { routes, faults } = this.from.readTraefik(labelled, {
        listeners: server.listeners.map(({ name }) => name),
        redirectsHttps: server.tls.redirectHttp || server.listeners.some(({ redirectsHttps }) => redirectsHttps),
        isTrusted: config.trusted,
        provider: this.from.provider,
      });
      const named = routes.map((one) => ({ ...one, scope, containers: [...new Set(one.containers)] }));
      return { routes: named, faults };
    });
  }
}

/**
 * An instance may be gone before its source says so: unless labels say otherwise, a request is tried at each of the others, and an address that
 * answers nothing is given up soon.
 */
function withRetries(keys: LabelRoute["routes"][number]): LabelRoute["routes"][number] {
  const { targets, retries, timeouts = {} } = keys;
  if (!Array.isArray(targets) || targets.length < 2) return keys;
  const isSection = typeof timeouts === "object" && timeouts !== null && !Array.isArray(timeouts);
  return {
    ...keys,
    ...(retries === undefined ? { retries: { attempts: Math.min(MAX_ATTEMPTS, targets.length - 1) } } : {}),
    ...(isSection ? { timeouts: { connect: CONNECT_LIMIT, ...timeouts } } : {}),
  };
}

/** How a route of labels is called in listings and events. */
function originName({ name, containers }: LabelRoute): string {
  const shown = containers.slice(0, MAX_NAMED).join(", ");
  return `${name} (${containers.length > MAX_NAMED ? `${shown} and ${containers.length - MAX_NAMED} more` : shown})`;
}

function targetsOf({ target, targets }: Readonly<Record<string, unknown>>): readonly string[] {
  const list = Array.isArray(targets) ? targets : target === undefined ? [] : [target];
  return list.map((one) =>
    typeof one === "object" && one !== null ? String((one as { url?: unknown }).url) : String(one),
  );
}

const MAX_NAMED = 3;
const CONNECT_LIMIT = "500ms";
/** As many as `retries.attempts` takes. */
const MAX_ATTEMPTS = 10;
