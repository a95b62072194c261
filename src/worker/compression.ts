import { Codecs } from "../features/compress/codecs.ts";
import { CompressingHandler } from "../features/compress/compressing-handler.ts";
import { type CompressionPolicy, compressionPolicy } from "../features/compress/compression-policy.ts";
import type { CompressionPorts } from "../features/compress/compression-services.ts";
import { ContentCodingPhase } from "../features/compress/content-coding-phase.ts";
import { PackedFiles } from "../features/compress/packed-files.ts";
import type { Handler, Route } from "../message/exchange.ts";
import { IDLE_PORTS } from "../message/idle-ports.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { settingsByIndex, transcodedRoutes } from "./routing.ts";
import type { RuntimePorts } from "./runtime-inputs.ts";

/** Longest body that is held until all of it is compressed, so that the cache can store it. */
const MAX_HELD_COMPRESSION_BYTES = 4 * 1024 * 1024;

/** Puts compression around the handlers of one configuration, where their routes have it. docs/compression.md */
export class Compression {
  private readonly policies: Policies;
  private readonly services: CompressionPorts;

  constructor(config: RuntimeConfig, { services, counters }: Pick<RuntimePorts, "services" | "counters">) {
    this.policies = new Policies(config);
    this.services = {
      codecs: new Codecs(services.turn, counters),
      packed: new PackedFiles(),
      wheel: services.wheel,
      turn: services.turn,
      idle: IDLE_PORTS,
      inTurn: (work) => services.inTurn(work),
      onException: (error) => services.upstream.onException(error),
    };
  }

  /** The handler of a route of routes.yaml. */
  wrap(handler: Handler, route: RouteConfig): Handler {
    return this.compressing(handler, this.policies.of(route));
  }

  /** The handler of a transcoded route. */
  wrapTranscoded(handler: Handler): Handler {
    return this.compressing(handler, this.policies.ofTranscoded);
  }

  private compressing(handler: Handler, policy: CompressionPolicy | null): Handler {
    return policy === null ? handler : new CompressingHandler(handler, policy, this.services);
  }
}

/** The phase that settles how responses are encoded; null where none is compressed. */
export function contentCodingPhase(config: RuntimeConfig, routes: readonly Route[]): ContentCodingPhase | null {
  const policies = new Policies(config);
  // The transcoded ones come right before those of routes.yaml.
  const own = routes.length - config.routes.length;
  const firstTranscoded = own - transcodedRoutes(config).length;
  const byIndex = settingsByIndex(config, routes).map((settings, index) => {
    if (settings !== null) return policies.of(settings);
    return index >= firstTranscoded ? policies.ofTranscoded : null;
  });
  return byIndex.some((policy) => policy !== null) ? new ContentCodingPhase(byIndex) : null;
}

/** What routes say of compression: those without settings of their own share what the server says. */
class Policies {
  readonly ofTranscoded: CompressionPolicy | null;
  private readonly stored: CompressionPolicy | null;
  private readonly storedBytes: number;

  constructor({ server: { cache, compression } }: RuntimeConfig) {
    const isOn = compression.enabled && compression.encodings.length > 0;
    this.storedBytes = Math.min(cache.maxPayloadBytes, MAX_HELD_COMPRESSION_BYTES);
    this.ofTranscoded = isOn ? compressionPolicy(compression, 0) : null;
    this.stored = isOn ? compressionPolicy(compression, this.storedBytes) : null;
  }

  of({ compression, cache }: RouteConfig): CompressionPolicy | null {
    if (!compression.isOwn) return cache.enabled ? this.stored : this.ofTranscoded;
    if (!compression.enabled || compression.encodings.length === 0) return null;
    return compressionPolicy(compression, cache.enabled ? this.storedBytes : 0);
  }
}
