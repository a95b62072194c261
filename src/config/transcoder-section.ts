import type { TranscoderValues } from "./config-schema.ts";
import type { ConfiguredFiles } from "./configured-file.ts";
import type { FaultLog } from "./fault-log.ts";
import type { TranscoderConfig } from "./mesh-config.ts";
import { resolveUpstreamTls } from "./upstream-resolution.ts";

/**
 * `transcoder:`. Spec, "`transcoder`"; decisions §11. What reads descriptors is loaded only where there are routes: the
 * library for it takes 30 ms and 6 MB in each thread, which a gateway without gRPC shall not pay.
 */
export function resolveTranscoder(values: TranscoderValues, log: FaultLog, files: ConfiguredFiles): TranscoderConfig {
  const tls = resolveUpstreamTls(values.tls, ["transcoder", "tls"], "gRPC upstreams", log, files);
  if (values.routes.length > 0 || values.auto || values.descriptor_set !== "") {
    const { resolveRoutes } = require("./transcoder-resolution.ts") as typeof import("./transcoder-resolution.ts");
    return resolveRoutes(values, tls, log, files);
  }
  return {
    enabled: values.enabled,
    maxBodyBytes: values.max_body_bytes,
    auto: false,
    descriptorSet: "",
    upstreamUrl: values.upstream_url,
    tls,
    routes: [],
    descriptorSets: [],
  };
}
