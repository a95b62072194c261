import { usesTls } from "../config/origin.ts";
import type { OriginConfig } from "../config/route-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { GrpcOrigin } from "../upstream/grpc-origin.ts";
import type { UpstreamContext } from "../upstream/origin-socket.ts";
import { readUpstreamTls } from "../upstream/tls-files.ts";

/** The gRPC upstreams of one configuration, each with its connections, whatever the number of routes that lead there. */
export class GrpcOrigins {
  private readonly config: RuntimeConfig;
  private readonly context: UpstreamContext;
  private readonly origins: Map<string, GrpcOrigin> = new Map();

  constructor(config: RuntimeConfig, context: UpstreamContext) {
    this.config = config;
    this.context = context;
  }

  /** The upstream at an origin, made now if it is new. */
  originOf(origin: OriginConfig): GrpcOrigin {
    const key = origin.originKey + origin.basePath;
    const known = this.origins.get(key);
    if (known !== undefined) return known;
    const { transcoder, proxy } = this.config;
    const made = new GrpcOrigin(
      {
        ...origin,
        tls: usesTls(origin.scheme) ? readUpstreamTls(transcoder.tls, origin.hostname) : null,
        connectTimeoutMs: proxy.transport.connectTimeoutMs,
        idleTimeoutMs: proxy.transport.idleConnTimeoutMs,
      },
      this.context,
    );
    this.origins.set(key, made);
    return made;
  }

  /** Closes every connection as soon as it has no call. */
  close(): void {
    for (const origin of this.origins.values()) origin.close();
  }
}
