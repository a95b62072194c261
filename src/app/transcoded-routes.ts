import type { TranscodedRouteConfig } from "../config/mesh-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { pathFieldsOf } from "../config/transcoder-resolution.ts";
import { isFixedPattern } from "../core/path-pattern.ts";
import { type CodecSource, FiledCodec, ReflectedCodec } from "../features/transcode/codec-source.ts";
import { ReflectedSchemas } from "../features/transcode/reflected-schemas.ts";
import { TranscodeHandler, type TranscodeServices } from "../features/transcode/transcode-handler.ts";
import type { GrpcUpstream } from "../message/grpc-upstream.ts";
import { type RouteInit, RouteKind } from "../message/route.ts";
import { readSchema, type Schema } from "../proto/grpc/schema.ts";
import type { UpstreamContext } from "../upstream/upstream-context.ts";
import { CHUNKED_MODES } from "./chunked-modes.ts";
import { GrpcOrigins } from "./grpc-origins.ts";
import type { OriginPools } from "./origin-pools.ts";

/** Makes the transcoded routes of a configuration. docs/transcoder.md#routes */
export function transcodedRoutes(
  config: RuntimeConfig,
  pools: OriginPools,
  context: UpstreamContext,
  services: TranscodeServices,
): RouteInit[] {
  const schemas = readSchemas(config);
  const reflected = new Map<GrpcUpstream, ReflectedSchemas>();
  const origins = new GrpcOrigins(config, context);
  pools.closeWith(origins);
  return config.transcoder.routes.map((route) => {
    const upstream = origins.originOf(route.upstream);
    const fields = pathFieldsOf(route);
    const codecRoute = { ...route, pathFields: [...fields.values()] };
    let codecs: CodecSource;
    if (route.descriptorSet !== "") codecs = new FiledCodec(schemas.get(route.descriptorSet)!, codecRoute);
    else {
      const known = reflected.get(upstream) ?? new ReflectedSchemas(upstream, services);
      reflected.set(upstream, known);
      codecs = new ReflectedCodec(known, codecRoute);
    }
    const settings = { grpcMethod: route.grpcMethod, pattern: route.pattern, fields, timeoutMs: route.timeoutMs };
    return routeInit(route, config, new TranscodeHandler(settings, upstream, codecs, services));
  });
}

function routeInit(route: TranscodedRouteConfig, config: RuntimeConfig, handler: TranscodeHandler): RouteInit {
  return {
    kind: RouteKind.Transcoded,
    label: route.httpPath,
    path: route.httpPath,
    exact: true,
    ...(isFixedPattern(route.pattern) ? {} : { pattern: route.pattern }),
    methods: [route.httpMethod],
    hosts: [],
    stripPrefix: false,
    chunkedMode: CHUNKED_MODES[config.server.inboundChunkedMode],
    maxBodyBytes: config.transcoder.maxBodyBytes,
    bodyLimitKey: "transcoder.max_body_bytes",
    handler,
    dropsTrailers: config.server.requestTrailers === "drop",
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
