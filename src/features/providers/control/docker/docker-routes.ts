import { join } from "node:path";
import type { ConfigFault } from "../../../../config/config-fault.ts";
import type { RouteFile } from "../../../../loading/route-folder.ts";
import type { RuntimeConfig } from "../../../../routes/runtime-config.ts";
import type { DockerConfig } from "../../settings.ts";
import type { Container } from "./container.ts";
import {
  containerUrl,
  defaultHost,
  edgeRoutes,
  kindsOf,
  type LabelFault,
  type LabelRoute,
  type LabelRoutes,
} from "./container-labels.ts";

/** Reads labels of Traefik. */
export type TraefikReader = (
  containers: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly defaultHost: string;
    urlAt(at: {
      readonly port: string;
      readonly scheme: string;
      readonly network: string;
    }): ReturnType<typeof containerUrl>;
  }[],
  around: { readonly listeners: readonly string[]; readonly redirectsHttps: boolean; readonly isTrusted: boolean },
) => LabelRoutes;

/** The routes of containers, as lists beside routes.yaml. docs/providers.md#docker-and-podman */
export class DockerRoutes {
  private readonly folder: string;
  private readonly readTraefik: TraefikReader;
  private lists: readonly RouteFile[] = [];
  private labels: ReadonlyMap<string, string> = new Map();
  /** Labels that do not count. */
  faults: readonly LabelFault[] = [];
  /** URLs of all targets. */
  targets: ReadonlySet<string> = new Set();

  /** @param folder from which paths in routes count */
  constructor(folder: string, readTraefik: TraefikReader) {
    this.folder = folder;
    this.readTraefik = readTraefik;
  }

  /** The lists, in the order of the routes' names. A faulty one is left out alone. */
  files(): readonly RouteFile[] {
    return this.lists;
  }

  /** Takes the containers that get requests now. @param containers the first started first */
  use(containers: readonly Container[], docker: DockerConfig, { server }: Pick<RuntimeConfig, "server">): void {
    const kinds = kindsOf(docker);
    const all: LabelRoutes[] = [];
    if (kinds.includes("edge")) all.push(edgeRoutes(containers, docker));
    if (kinds.includes("traefik")) all.push(this.traefikRoutes(containers, docker, server));
    const routes = all.flatMap((one) =>
      one.routes.map((route) => ({ ...route, routes: route.routes.map(withRetries) })),
    );
    this.faults = all.flatMap((one) => one.faults);
    this.labels = new Map(routes.map((one) => [originName(one), one.label]));
    this.targets = new Set(routes.flatMap((one) => one.routes.flatMap(targetsOf)));
    this.lists = routes.map((route) => ({
      source: "docker",
      file: {
        name: originName(route),
        // No file of a folder of routes has this path.
        path: join(this.folder, `docker:${route.label}:${docker.trusted ? "" : "confined"}`),
        bytes: Buffer.from(JSON.stringify(route.routes)),
      },
      hosts: null,
      isLeftOut: true,
      isConfined: !docker.trusted,
      isNeverKept: true,
      isGuest: !docker.trusted,
    }));
  }

  /** Nothing is there any more. */
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

  private traefikRoutes(
    containers: readonly Container[],
    docker: DockerConfig,
    server: RuntimeConfig["server"],
  ): LabelRoutes {
    const hasLabels = (one: Container): boolean => Object.keys(one.labels).some((label) => /^traefik\./i.test(label));
    const labelled = containers.filter(hasLabels).map((container) => ({
      name: container.name,
      labels: container.labels,
      defaultHost: defaultHost(container, docker),
      urlAt: (at: { readonly port: string; readonly scheme: string; readonly network: string }) =>
        containerUrl(container, { ...at, network: at.network || docker.network }),
    }));
    if (labelled.length === 0) return { routes: [], faults: [] };
    return this.readTraefik(labelled, {
      listeners: server.listeners.map(({ name }) => name),
      redirectsHttps: server.tls.redirectHttp || server.listeners.some(({ redirectsHttps }) => redirectsHttps),
      isTrusted: docker.trusted,
    });
  }
}

/**
 * A container may be gone before its engine says so: unless labels say otherwise, a request is tried at each of the others, and an address that
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

/** How a route of containers is called in listings and events. */
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
