import type { ControlService } from "../../../../core/control-service.ts";
import type { EventWriter } from "../../../../core/event-row.ts";
import { SECRET_VALUES } from "../../../../core/secret-values.ts";
import type { RouteFile } from "../../../../loading/route-folder.ts";
import type { RuntimeConfig } from "../../../../routes/runtime-config.ts";
import type { PROVIDER_EVENTS } from "../../events.ts";
import type { DockerConfig } from "../../settings.ts";
import type { Container } from "./container.ts";
import { isExposed } from "./container-labels.ts";
import type { DockerRoutes } from "./docker-routes.ts";
import { Engine } from "./engine.ts";
import { EngineWatch } from "./engine-watch.ts";

/** Where containers outlive the process. */
interface KeptParts {
  read<T>(part: string): T | null;
  write(part: string, value: object): boolean;
  remove(part: string): void;
}

/** The gateway, as containers use it. */
export interface DockerPorts {
  /** Takes up changes of the sources, without reading config.yaml and routes.yaml again. */
  reload(): Promise<unknown>;
  /** Targets of these URLs get no new requests, whatever the configuration says. */
  withhold(urls: ReadonlySet<string>): void;
  readonly event: EventWriter<typeof PROVIDER_EVENTS>;
}

/**
 * Containers of Docker and Podman as a source of routes. It begins before the gateway, so that its first configuration has their routes.
 * docs/providers.md#docker-and-podman
 */
export class DockerSource {
  readonly routes: DockerRoutes;
  private readonly state: KeptParts;
  private watch: EngineWatch | null = null;
  private docker: DockerConfig | null = null;
  private site: Pick<RuntimeConfig, "server"> | null = null;
  private changed: () => void = () => {};
  /** Why the engine is away; "" if it is not. */
  failure = "";
  private ready: PromiseWithResolvers<void> = Promise.withResolvers();
  private keepTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(routes: DockerRoutes, state: KeptParts) {
    this.routes = routes;
    this.state = state;
  }

  /** Calls this at each change of containers, and of whether the engine is there. */
  onChange(changed: () => void): void {
    this.changed = changed;
  }

  get endpoint(): string {
    return this.docker?.endpoint ?? "";
  }

  get containers(): readonly Container[] {
    return this.watch?.containers ?? [];
  }

  /** Begins with a configuration, or goes on with it. @returns once the containers are known, or are not to be had soon */
  async use(config: RuntimeConfig): Promise<void> {
    const { docker } = config.providers;
    const isSame = Bun.deepEquals(docker, this.docker);
    const isOther = docker?.endpoint !== this.docker?.endpoint;
    this.docker = docker;
    this.site = config;
    if (docker === null) return this.end();
    if (isOther) {
      this.watch?.stop();
      this.ready = Promise.withResolvers();
      this.watch = this.begin(docker.endpoint);
    }
    if (isOther || !isSame) {
      // Which containers are wanted may be another question by now.
      if (!isOther) this.restart(docker.endpoint);
      this.read();
    }
    await Promise.race([this.ready.promise, new Promise((resolve) => setTimeout(resolve, FIRST_WAIT_MS).unref())]);
  }

  stop(): void {
    this.watch?.stop();
    if (this.keepTimer !== null) this.keep();
  }

  /** Makes routes of the containers anew. */
  read(): void {
    if (this.docker !== null && this.site !== null) this.routes.use(this.containers, this.docker, this.site);
  }

  private end(): void {
    this.watch?.stop();
    this.watch = null;
    this.failure = "";
    this.routes.clear();
    this.state.remove(PART);
  }

  private restart(endpoint: string): void {
    const before = this.containers;
    this.watch?.stop();
    this.watch = this.begin(endpoint, before);
  }

  private begin(endpoint: string, before?: readonly Container[]): EngineWatch {
    const kept = before ?? this.keptContainers(endpoint);
    const ports = {
      isWanted: (labels: Readonly<Record<string, string>>) => this.docker !== null && isExposed(labels, this.docker),
      changed: () => this.onContainers(watch),
      failed: (reason: string) => this.onEngine(watch, reason),
      caughtUp: () => this.onEngine(watch, ""),
    };
    const watch: EngineWatch = new EngineWatch(
      new Engine(endpoint),
      ports,
      kept.filter(({ labels }) => ports.isWanted(labels)),
    );
    void watch.run();
    return watch;
  }

  private onContainers(watch: EngineWatch): void {
    if (watch !== this.watch) return;
    this.changed();
    this.keepTimer ??= setTimeout(() => this.keep(), KEEP_MS);
    this.keepTimer.unref();
  }

  private onEngine(watch: EngineWatch, failure: string): void {
    if (watch !== this.watch) return;
    this.failure = failure;
    if (failure === "") this.ready.resolve();
    this.changed();
  }

  private keep(): void {
    if (this.keepTimer !== null) clearTimeout(this.keepTimer);
    this.keepTimer = null;
    this.state.write(PART, { endpoint: this.endpoint, containers: this.containers });
  }

  private keptContainers(endpoint: string): readonly Container[] {
    const kept = this.state.read<{ readonly endpoint: string; readonly containers: readonly Container[] }>(PART);
    return kept?.endpoint === endpoint && Array.isArray(kept.containers) ? kept.containers.filter(isContainer) : [];
  }
}

/** The source in a gateway that serves. */
export class DockerProvider implements ControlService<RuntimeConfig> {
  private readonly source: DockerSource;
  private readonly ports: DockerPorts;
  /** Targets that the configuration in use has. */
  private inUse: ReadonlySet<string> = new Set();
  private isTaking = false;
  private isWanted = false;
  private isDue = false;
  private isAway = false;
  private said: ReadonlySet<string> = new Set();
  private restUntilMs = 0;
  private rest: Timer | undefined;

  constructor(source: DockerSource, ports: DockerPorts) {
    this.source = source;
    this.ports = ports;
    source.onChange(() => this.onChange());
  }

  use(config: RuntimeConfig): void {
    void this.source.use(config);
    this.onChange();
  }

  stop(): void {
    clearTimeout(this.rest);
    this.source.stop();
  }

  /**
   * Changes of one turn of the event loop are one. While many containers come, reading all of them again at each would take all time: a reading is
   * followed by a rest of three times its length, in which changes gather.
   */
  private onChange(): void {
    if (this.isDue) return;
    this.isDue = true;
    const restMs = this.restUntilMs - performance.now();
    if (restMs < 1) queueMicrotask(() => this.readAgain());
    else this.rest = setTimeout(() => this.readAgain(), restMs);
  }

  private readAgain(): void {
    this.isDue = false;
    const beginMs = performance.now();
    this.takeUp();
    const endMs = performance.now();
    this.restUntilMs = endMs + Math.min((endMs - beginMs) * 3, LONGEST_REST_MS);
  }

  private takeUp(): void {
    const before = this.source.routes.files();
    this.source.read();
    // At once: a target that is gone gets no new request, however long a configuration takes.
    this.withhold();
    this.report();
    const after = this.source.routes.files();
    const isSame = before.length === after.length && before.every((one, i) => isSameList(one, after[i]!));
    if (!isSame) this.take();
  }

  private take(): void {
    this.isWanted = true;
    if (this.isTaking) return;
    this.isTaking = true;
    void this.takeAll().finally(() => {
      this.isTaking = false;
    });
  }

  private async takeAll(): Promise<void> {
    while (this.isWanted) {
      this.isWanted = false;
      const { targets } = this.source.routes;
      // Until it is in use everywhere, both may get requests.
      this.inUse = new Set([...this.inUse, ...targets]);
      await this.ports.reload();
      this.inUse = targets;
      this.withhold();
    }
  }

  private withhold(): void {
    const { targets } = this.source.routes;
    if (this.inUse.size === 0) this.inUse = targets;
    this.ports.withhold(new Set([...this.inUse].filter((url) => !targets.has(url))));
  }

  private report(): void {
    const { source, ports } = this;
    const said = new Set<string>();
    const once = (line: object, write: () => void): void => {
      const key = JSON.stringify(line);
      said.add(key);
      if (!this.said.has(key)) write();
    };
    for (const fault of source.routes.faults.slice(0, MAX_FAULTS)) {
      const fields = { source: "docker", ...fault };
      once(fields, () => ports.event("label_ignored", fields));
    }
    const name = source.endpoint;
    const error = SECRET_VALUES.masked(source.failure);
    const containers = source.containers.length;
    // One line for the time that it is away, however many ways it has of not being there.
    if (error !== "" && !this.isAway)
      ports.event("provider_unavailable", { source: "docker", name, error, kept: containers });
    else if (error === "" && this.isAway) ports.event("provider_available", { source: "docker", name, containers });
    this.isAway = error !== "";
    this.said = said;
  }
}

function isSameList({ file: { path, bytes } }: RouteFile, { file: other }: RouteFile): boolean {
  return path === other.path && Buffer.compare(bytes!, other.bytes!) === 0;
}

function isContainer(one: unknown): one is Container {
  const { id, name, since, labels, addresses, ports } = (one ?? {}) as Partial<Container>;
  const isMap = (value: unknown): boolean => typeof value === "object" && value !== null;
  return (
    [id, name, since].every((text) => typeof text === "string") &&
    isMap(labels) &&
    isMap(addresses) &&
    Array.isArray(ports)
  );
}

/** The part of the state folder. */
const PART = "docker-containers";
const KEEP_MS = 1000;
/** So long a start waits for the engine. */
const FIRST_WAIT_MS = 2000;
const MAX_FAULTS = 1000;
const LONGEST_REST_MS = 1000;
