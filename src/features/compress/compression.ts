import type { Handler } from "../../message/exchange.ts";
import { PreparedHandler } from "../../message/prepared-handler.ts";
import { Codecs } from "./codecs.ts";
import { CompressingSink } from "./compressing-sink.ts";
import { type CompressionPolicy, compressionPolicy } from "./compression-policy.ts";
import type { CompressionPorts } from "./compression-services.ts";
import { ContentCodingPhase, negotiatedCoding } from "./content-coding-phase.ts";
import { FixedForms } from "./fixed-forms.ts";
import { PackedFiles } from "./packed-files.ts";
import type { CompressionConfig } from "./settings.ts";

/** Longest body that waits until all of it is compressed, so that the cache can store it. */
const MAX_HELD_COMPRESSION_BYTES = 4 * 1024 * 1024;

/** Settings of the server that compression reads. */
interface ServerCompression {
  readonly compression: CompressionConfig;
  readonly cache: { readonly maxPayloadBytes: number };
}

/** Settings of a route that it reads. */
export interface RouteCompression {
  readonly compression: CompressionConfig & { readonly isOwn: boolean };
  readonly cache: { readonly enabled: boolean };
}

/** What compression needs of its worker. */
interface OwnPorts extends Omit<CompressionPorts, "codecs" | "packed"> {
  readonly counters: ConstructorParameters<typeof Codecs>[1];
}

/** Puts compression around the handlers of one configuration, where their routes have it. docs/compression.md */
export class Compression {
  private readonly policies: Policies;
  private readonly services: CompressionPorts;

  constructor(server: ServerCompression, { counters, ...ports }: OwnPorts) {
    this.policies = new Policies(server);
    this.services = { ...ports, codecs: new Codecs(ports.turn, counters), packed: new PackedFiles() };
  }

  /** The handler of a route of routes.yaml. */
  wrap(handler: Handler, route: RouteCompression): Handler {
    return this.compressing(handler, this.policies.of(route));
  }

  /** The handler of a transcoded route. */
  wrapTranscoded(handler: Handler): Handler {
    return this.compressing(handler, this.policies.ofTranscoded);
  }

  private compressing(handler: Handler, policy: CompressionPolicy | null): Handler {
    if (policy === null) return handler;
    const { services } = this;
    const ports = { policy, services, fixed: new FixedForms(policy, services.codecs) };
    return new PreparedHandler(handler, (ex) => {
      ex.sink = new CompressingSink(ex.sink, negotiatedCoding(ex.request), ports);
    });
  }
}

/**
 * The phase that settles how responses are encoded; null if none is compressed.
 * @param routes by their numbers; null if a route is never compressed
 */
export function contentCodingPhase(
  server: ServerCompression,
  routes: readonly (RouteCompression | "transcoded" | null)[],
): ContentCodingPhase | null {
  const policies = new Policies(server);
  const byIndex = routes.map((route) => {
    if (route === null) return null;
    return route === "transcoded" ? policies.ofTranscoded : policies.of(route);
  });
  return byIndex.some((policy) => policy !== null) ? new ContentCodingPhase(byIndex) : null;
}

/** What routes say of compression: those without settings of their own share what the server says. */
class Policies {
  readonly ofTranscoded: CompressionPolicy | null;
  private readonly stored: CompressionPolicy | null;
  private readonly storedBytes: number;

  constructor({ cache, compression }: ServerCompression) {
    const isOn = compression.enabled && compression.encodings.length > 0;
    this.storedBytes = Math.min(cache.maxPayloadBytes, MAX_HELD_COMPRESSION_BYTES);
    this.ofTranscoded = isOn ? compressionPolicy(compression, 0) : null;
    this.stored = isOn ? compressionPolicy(compression, this.storedBytes) : null;
  }

  of({ compression, cache }: RouteCompression): CompressionPolicy | null {
    if (!compression.isOwn) return cache.enabled ? this.stored : this.ofTranscoded;
    if (!compression.enabled || compression.encodings.length === 0) return null;
    return compressionPolicy(compression, cache.enabled ? this.storedBytes : 0);
  }
}
