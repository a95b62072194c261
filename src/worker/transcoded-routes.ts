import { type OriginConfig, usesTls } from "../config/origin.ts";
import { MAX_GRPC_MESSAGE_BYTES } from "../core/limits.ts";
import { AllowedOrigins } from "../features/cors/allowed-origins.ts";
import { type CodecSource, FiledCodec, ReflectedCodec } from "../features/transcode/codec-source.ts";
import { ReflectedSchemas } from "../features/transcode/reflected-schemas.ts";
import { TranscodeHandler } from "../features/transcode/transcode-handler.ts";
import type { TranscodePorts } from "../features/transcode/transcode-services.ts";
import type { TranscodedRouteConfig } from "../features/transcode/transcoded-route.ts";
import { pathFieldsOf } from "../features/transcode/transcoder-resolution.ts";
import type { Exchange, Handler } from "../message/exchange.ts";
import type { GrpcUpstream } from "../message/grpc-upstream.ts";
import { HeaderId } from "../message/header-block.ts";
import { readSchema, type Schema } from "../proto/grpc/schema.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { GrpcOrigin } from "../upstream/grpc-origin.ts";
import type { UpstreamSocketPorts } from "../upstream/origin-socket.ts";
import { readUpstreamTls } from "../upstream/tls-files.ts";
import type { ConfiguredNodes } from "./node-set.ts";
import type { OriginPools } from "./origin-pools.ts";

/** Gives what makes the handlers of the transcoded routes of a configuration. docs/transcoder.md#transcoder */
export function transcodeHandlers(
  config: RuntimeConfig,
  pools: OriginPools,
  context: UpstreamSocketPorts,
  worker: Omit<TranscodePorts, "mayOpenSocket">,
  nodes: Pick<ConfiguredNodes, "drainOf">,
): (route: TranscodedRouteConfig) => Handler {
  const services = { ...worker, mayOpenSocket: socketRule(config) };
  const schemas = readSchemas(config);
  const reflected = new Map<GrpcUpstream, ReflectedSchemas>();
  const origins = new GrpcOrigins(config, context, (key) => nodes.drainOf(key));
  pools.closeWith(origins);
  return (route) => {
    const upstream = origins.originOf(route.upstream);
    const fields = pathFieldsOf(route);
    const codecRoute = { ...route, pathFields: [...fields.values()], json: config.transcoder.json };
    let codecs: CodecSource;
    if (route.descriptorSet !== "") codecs = new FiledCodec(schemas.get(route.descriptorSet)!, codecRoute);
    else {
      const known = reflected.get(upstream) ?? new ReflectedSchemas(upstream, services);
      reflected.set(upstream, known);
      codecs = new ReflectedCodec(known, codecRoute);
    }
    const { httpMethod, grpcMethod, pattern, timeoutMs, takesBytes } = route;
    const maxMessageBytes = config.transcoder.maxBodyBytes || MAX_GRPC_MESSAGE_BYTES;
    const settings = { httpMethod, grpcMethod, pattern, fields, timeoutMs, takesBytes, maxMessageBytes };
    return new TranscodeHandler(settings, upstream, codecs, services);
  };
}

/**
 * Browsers send cookies with the handshake of a WebSocket whichever page asks, and no preflight before it: other sites' pages need to be
 * allowed by `server.cors`, by name if there are cookies. docs/transcoder.md#websockets
 */
function socketRule({ server: { cors } }: RuntimeConfig): (ex: Exchange) => boolean {
  const allowed = new AllowedOrigins(cors.allowedOrigins);
  return ({ request }) => {
    const { headers } = request;
    const at = headers.find(HeaderId.Origin);
    if (at < 0) return true;
    const origin = headers.valueText(at);
    if (headers.find(HeaderId.Origin, at + 1) >= 0) return false;
    if (origin.replace(/^https?:\/\//, "") === request.authority().toLowerCase()) return true;
    if (!cors.enabled) return false;
    const isForAll = cors.allowedOrigins.includes("*") && headers.find(HeaderId.Cookie) < 0;
    return isForAll || allowed.has(origin);
  };
}

/** The configuration has been checked: each of its descriptor sets can be read. */
function readSchemas(config: RuntimeConfig): Map<string, Schema> {
  return new Map(
    config.transcoder.descriptorSets.map(({ file, base64 }) => {
      const schema = readSchema(Buffer.from(base64, "base64"));
      if (typeof schema === "string") throw new Error(`${file} ${schema}`);
      return [file, schema];
    }),
  );
}

/** The gRPC upstreams of one configuration, each with its connections, whatever the number of routes that lead there. */
class GrpcOrigins {
  private readonly config: RuntimeConfig;
  private readonly context: UpstreamSocketPorts;
  private readonly drainOf: (originKey: string) => () => boolean;
  private readonly origins: Map<string, GrpcOrigin> = new Map();

  /** @param drainOf gives what says whether an origin is drained */
  constructor(config: RuntimeConfig, context: UpstreamSocketPorts, drainOf: (originKey: string) => () => boolean) {
    this.drainOf = drainOf;
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
        maxIdleConnections: proxy.transport.maxIdleConns,
        maxResponseFields: proxy.transport.maxResponseFields,
        connectTimeoutMs: proxy.transport.connectTimeoutMs,
        idleTimeoutMs: proxy.transport.idleConnTimeoutMs,
      },
      this.context,
      this.drainOf(origin.originKey),
    );
    this.origins.set(key, made);
    return made;
  }

  /** Closes every connection as soon as it has no call. */
  close(): void {
    for (const origin of this.origins.values()) origin.close();
  }
}
