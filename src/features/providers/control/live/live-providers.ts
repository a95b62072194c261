import type { ControlService } from "../../../../core/control-service.ts";
import type { EventWriter } from "../../../../core/event-row.ts";
import { SECRET_VALUES } from "../../../../core/secret-values.ts";
import type { RouteFile } from "../../../../loading/route-folder.ts";
import { upstreamRoutes } from "../../../../routes/route-config.ts";
import type { RuntimeConfig } from "../../../../routes/runtime-config.ts";
import type { PROVIDER_EVENTS } from "../../events.ts";
import type { AnyLiveSource } from "./live-source.ts";

/** The gateway, as these sources use it. */
export interface LivePorts {
  /** Takes up changes of the sources, without reading config.yaml and routes.yaml again. */
  reload(): Promise<unknown>;
  /** Targets of these URLs get no new requests, whatever the configuration says. */
  withhold(urls: ReadonlySet<string>): void;
  readonly event: EventWriter<typeof PROVIDER_EVENTS>;
}

/** The sources that change by themselves, in a gateway that serves. docs/providers.md */
export class LiveProviders implements ControlService<RuntimeConfig> {
  private readonly all: readonly LiveProvider[];

  constructor(sources: readonly AnyLiveSource[], ports: LivePorts) {
    const withhold = (): void => ports.withhold(new Set(this.all.flatMap(({ withheld }) => [...withheld])));
    this.all = sources.map((source) => new LiveProvider(source, { ...ports, withhold }));
  }

  use(config: RuntimeConfig): void {
    for (const one of this.all) one.use(config);
  }

  stop(): void {
    for (const one of this.all) one.stop();
  }
}

/** One of them. */
class LiveProvider {
  /** Targets in use that are gone from the source. */
  withheld: ReadonlySet<string> = new Set();
  private readonly source: AnyLiveSource;
  private readonly ports: Omit<LivePorts, "withhold"> & { withhold(): void };
  /** Targets that the configuration in use has. */
  private inUse: ReadonlySet<string> = new Set();
  /** Targets that other sources name, too: none goes because it has gone here. */
  private others: ReadonlySet<string> = new Set();
  private isOn = false;
  private isTaking = false;
  private isWanted = false;
  private isDue = false;
  private isAway = false;
  private said: ReadonlySet<string> = new Set();
  private restUntilMs = 0;
  private rest: Timer | undefined;

  constructor(source: AnyLiveSource, ports: Omit<LivePorts, "withhold"> & { withhold(): void }) {
    this.source = source;
    this.ports = ports;
    source.onChange(() => this.onChange());
  }

  use(config: RuntimeConfig): void {
    const isOn = this.source.isOn(config);
    if (!isOn && !this.isOn) return;
    this.isOn = isOn;
    const others = upstreamRoutes(config.routes).filter((route) => route.source !== this.source.source);
    this.others = new Set(others.flatMap(({ targets }) => targets.flatMap(({ url, originKey }) => [url, originKey])));
    void this.source.use(config);
    this.onChange();
  }

  stop(): void {
    clearTimeout(this.rest);
    this.source.stop();
  }

  /**
   * Changes of one turn of the event loop are one. While many items come, reading all of them again at each would take all time: a reading is
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
    const before = this.source.files();
    this.source.read();
    // At once: a target that is gone gets no new request, however long a configuration takes.
    this.withhold();
    this.report();
    const after = this.source.files();
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
      const { targets } = this.source;
      // Until it is in use everywhere, both may get requests.
      this.inUse = new Set([...this.inUse, ...targets]);
      await this.ports.reload();
      this.inUse = targets;
      this.withhold();
    }
  }

  private withhold(): void {
    const { targets } = this.source;
    if (this.inUse.size === 0) this.inUse = targets;
    this.withheld = new Set([...this.inUse].filter((url) => !targets.has(url) && !this.others.has(url)));
    this.ports.withhold();
  }

  private report(): void {
    const { source, ports } = this;
    const said = new Set<string>();
    const once = (line: object, write: () => void): void => {
      const key = JSON.stringify(line);
      if (said.has(key)) return;
      said.add(key);
      if (!this.said.has(key)) write();
    };
    for (const fault of source.faults.slice(0, MAX_FAULTS)) {
      const fields = { source: source.source, ...fault };
      once(fields, () => ports.event("label_ignored", fields));
    }
    const name = source.place;
    const error = SECRET_VALUES.masked(source.failure);
    const { count } = source;
    // One line for the time that it is away, however many ways it has of not being there.
    if (error !== "" && !this.isAway)
      ports.event("provider_unavailable", { source: source.source, name, error, kept: count });
    else if (error === "" && this.isAway)
      ports.event("provider_available", { source: source.source, name, containers: count });
    this.isAway = error !== "";
    this.said = said;
  }
}

function isSameList({ file: { path, bytes } }: RouteFile, { file: other }: RouteFile): boolean {
  return path === other.path && Buffer.compare(bytes!, other.bytes!) === 0;
}

const MAX_FAULTS = 1000;
const LONGEST_REST_MS = 1000;
