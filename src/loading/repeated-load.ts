import { type LostSecret, SecretFiles } from "../config/secret-file.ts";
import { RouteMemory } from "./beside-routes.ts";
import {
  type BesideFiles,
  type ConfigRequest,
  type ConfigResult,
  filesDigest,
  type GivenFiles,
  loadConfig,
} from "./load-config.ts";
import type { RouteFile } from "./route-folder.ts";
import type { SourceListener } from "./source-listeners.ts";

/** The lists of a source beside files, at each reading. */
export interface SourceLists {
  readonly files: readonly RouteFile[];
  readonly listeners: readonly SourceListener[];
}

/**
 * Reads the same files again and again, for a gateway that is asked to reload: a file that was there before must be there
 * again, and one that has ended with YAML's document end must end so again. docs/operations.md#configuration-files
 */
export class RepeatedLoad {
  private request: ConfigRequest;
  private readonly secrets: SecretFiles = new SecretFiles();
  private readonly memory: RouteMemory = new RouteMemory();
  /** The lists beside routes.yaml at their last reading for a gateway. */
  beside: BesideFiles = { left: [], shadowed: [], folders: [], stamp: "" };

  /** Lists of routes of other sources than files. */
  others: () => readonly RouteFile[] = () => [];

  /** The lists and listeners of a cluster. */
  sources: SourceLists = { files: [], listeners: [] };

  constructor(request: ConfigRequest) {
    this.request = { ...request, secrets: this.secrets, memory: this.memory };
  }

  /** Secrets whose files were gone when they were read since the last call: their last values stay. */
  takeLostSecrets(): readonly LostSecret[] {
    return this.secrets.takeLost();
  }

  /**
   * Reads the files; what they were is remembered where all is in order. Faults as loadConfig.
   * @param given what was read already, in place of files
   */
  load(given?: GivenFiles): ConfigResult {
    const request = { ...this.request, ...this.sourced() };
    const result = loadConfig(given === undefined ? request : { ...request, given });
    if (!result.ok) return result;
    this.beside = result.beside;
    const { names, ended } = result.sources;
    const known = this.request.endedFiles ?? new Set();
    this.request = {
      ...this.request,
      configPath: names.config,
      routesPath: names.routes,
      endedFiles: new Set([...known, ...ended]),
    };
    return result;
  }

  /** Reads the files and remembers nothing. */
  tried(): ConfigResult {
    const { memory: _, ...request } = this.request;
    return loadConfig({ ...request, ...this.sourced() });
  }

  /** Reads as `again` would with other lists of routes, which are not taken. */
  candidate(given: GivenFiles, others: readonly RouteFile[]): ConfigResult {
    const { endedFiles: _, ...request } = this.request;
    return loadConfig({ ...request, given, ...this.sourced(others), isPartial: true });
  }

  /** Reads files as they were at an earlier time, and remembers nothing. */
  earlier(given: GivenFiles): ConfigResult {
    return this.besides(given, false);
  }

  /** Reads the lists beside routes.yaml that have changed, with both files as they serve. @param given the files */
  again(given: GivenFiles): ConfigResult {
    return this.besides(given, true);
  }

  private besides(given: GivenFiles, isPartial: boolean): ConfigResult {
    const { endedFiles: _, ...request } = this.request;
    const result = loadConfig({ ...request, given, ...this.sourced(), isPartial });
    if (result.ok) this.beside = result.beside;
    return result;
  }

  private sourced(others = this.others()): Pick<ConfigRequest, "routeFiles" | "listeners"> {
    const { files, listeners } = this.sources;
    return { routeFiles: files.length === 0 ? others : [...others, ...files], listeners };
  }

  /** Tells whether the files were changed. */
  digest(): string {
    return filesDigest(this.request);
  }
}
