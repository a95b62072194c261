import { type LostSecret, SecretFiles } from "../config/secret-file.ts";
import { type ConfigRequest, type ConfigResult, filesDigest, type GivenFiles, loadConfig } from "./load-config.ts";

/**
 * Reads the same files again and again, for a gateway that is asked to reload: a file that was there before must be there
 * again, and one that has ended with YAML's document end must end so again. docs/operations.md#configuration-files
 */
export class RepeatedLoad {
  private request: ConfigRequest;
  private readonly secrets: SecretFiles = new SecretFiles();

  constructor(request: ConfigRequest) {
    this.request = { ...request, secrets: this.secrets };
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
    const result = loadConfig(given === undefined ? this.request : { ...this.request, given });
    if (!result.ok) return result;
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
    return loadConfig(this.request);
  }

  /** Reads files as they were at an earlier time, and remembers nothing. */
  earlier(given: GivenFiles): ConfigResult {
    const { endedFiles: _, ...request } = this.request;
    return loadConfig({ ...request, given });
  }

  /** Tells whether the files were changed. */
  digest(): string {
    return filesDigest(this.request);
  }
}
