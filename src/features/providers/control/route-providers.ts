import { join } from "node:path";
import type { ConfigFault } from "../../../config/config-fault.ts";
import type { ControlService } from "../../../core/control-service.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import type { BesideFiles } from "../../../loading/load-config.ts";
import { routeFolder } from "../../../loading/route-folder.ts";
import { FileWatch } from "../../../net/file-watch.ts";
import type { RouteOrigin } from "../../../routes/route-source.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { PROVIDER_EVENTS } from "../events.ts";
import type { DirectoryConfig } from "../settings.ts";

/** The gateway, as the sources of routes use it. */
export interface ProviderPorts {
  /** The result of the last reading of their lists. */
  beside(): BesideFiles;
  /** Takes up changes of the sources, without reading config.yaml and routes.yaml again. */
  reload(): Promise<unknown>;
  /** One line of a fault of a list. */
  shownFault(list: RouteOrigin, fault: ConfigFault): string;
  readonly event: EventWriter<typeof PROVIDER_EVENTS>;
}

/** Milliseconds of quiet before edge takes a change up, and the longest wait for quiet. */
const QUIET_MS = 60;
const LONGEST_MS = 300;

/**
 * The sources of routes beside routes.yaml. edge reads their lists with both files, checks all as a whole, and all workers take them up, or none.
 * docs/providers.md
 */
export class RouteProviders implements ControlService<RuntimeConfig> {
  private readonly ports: ProviderPorts;
  private readonly watch: FileWatch = new FileWatch(() => this.look(), QUIET_MS, LONGEST_MS);
  private directory: DirectoryConfig | null = null;
  private stamp = "";
  private isReading = false;
  /** Events of the log that still hold. */
  private said: ReadonlySet<string> = new Set();

  constructor(ports: ProviderPorts) {
    this.ports = ports;
  }

  use({ providers }: RuntimeConfig): void {
    const { directory } = providers;
    this.directory = directory.path === "" || !directory.watch ? null : directory;
    this.watch.use(this.directory === null ? [] : this.ports.beside().folders.map((folder) => join(folder, "*")));
    this.stamp = this.ports.beside().stamp;
    this.report();
  }

  useTargets(): void {
    this.stamp = this.ports.beside().stamp;
    this.report();
  }

  stop(): void {
    this.watch.stop();
  }

  private look(): void {
    const stamp = this.directory === null ? this.stamp : routeFolder(this.directory).stamp;
    if (stamp === this.stamp || this.isReading) return;
    this.stamp = stamp;
    this.isReading = true;
    void this.ports.reload().finally(() => {
      this.isReading = false;
      // Changes of the meantime.
      this.look();
    });
  }

  private report(): void {
    const { left, shadowed } = this.ports.beside();
    const said = new Set<string>();
    const once = (line: object, write: () => void): void => {
      const key = JSON.stringify(line);
      said.add(key);
      if (!this.said.has(key)) write();
    };
    for (const { faults, isKept, ...list } of left) {
      const shown = faults.slice(0, MAX_FAULTS).map((fault) => this.ports.shownFault(list, fault));
      const fields = { source: list.source, name: list.name, faults: shown, kept: isKept };
      once(fields, () => this.ports.event("route_invalid", fields));
    }
    for (const { source, name, route, hosts, by } of shadowed.slice(0, MAX_SHADOWED)) {
      const fields = { source, name, route, hosts, by_source: by.source, by_name: by.name };
      once(fields, () => this.ports.event("route_shadowed", fields));
    }
    this.said = said;
  }
}

/** So many faults of a file are written, and so many shadowed routes. */
const MAX_FAULTS = 10;
const MAX_SHADOWED = 1000;
