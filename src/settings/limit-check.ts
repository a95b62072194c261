import type { FaultLog } from "../config/fault-log.ts";
import { formatSize } from "../config/size.ts";
import { checkStorage } from "../features/acme/storage-settings.ts";
import { asksClients } from "../features/bots/settings.ts";
import { checkReach } from "../features/fleet/settings.ts";
import { limitsIn } from "../features/limit/settings.ts";
import { warnOfSpool } from "./proxy-settings.ts";
import type { Sections } from "./sections.ts";

/** Less than this a client, and ordinary requests meet the limit. */
const SMALL_SHARE_BYTES = 65_536;

/** Warns of limits of config.yaml that contradict each other. docs/security.md#resources-of-one-client */
export function checkLimits(config: Sections, log: FaultLog): void {
  const { server, proxy, transcoder, cluster } = config;
  const { maxBufferedBytes, maxBufferedShare, inboundChunkedMode } = proxy.transport;
  const shareBytes = maxBufferedBytes * maxBufferedShare;
  if (inboundChunkedMode === "normalize") {
    warnOfSpool(server.maxBodyBytes, proxy, ["server", "max_body_bytes"], log);
  }
  for (const limit of limitsIn(server.rateLimit)) checkReach(limit, cluster, { path: ["server", "rate_limit"], log });
  checkStorage(server.acme, cluster, log);
  if (shareBytes < SMALL_SHARE_BYTES) {
    const found = formatSize(Math.floor(shareBytes));
    const message = `leaves one client address ${found} of max_buffered_bytes: buffered bodies beyond that get 503`;
    log.warn(["proxy", "transport", "max_buffered_share"], message);
  }
  if (transcoder.enabled && transcoder.maxBodyBytes > shareBytes) {
    const message = "is above what proxy.transport.max_buffered_share gives one client: larger bodies get 503";
    log.warn(["transcoder", "max_body_bytes"], message);
  }
  if (
    transcoder.enabled &&
    transcoder.routes.length > 0 &&
    asksClients(server.bots) &&
    server.bots.challenge === "all"
  ) {
    const message = "all: transcoded routes are for programs too, which cannot solve a task and get 403";
    log.warn(["server", "bots", "challenge"], message);
  }
  if (server.maxConnections > 0 && server.maxConnectionsPerIp > server.maxConnections) {
    log.warn(["server", "max_connections_per_ip"], "has no effect: it is above server.max_connections");
  }
}
