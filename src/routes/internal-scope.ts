import type { InternalScope } from "../features/tls/internal-names.ts";
import { sitesIn } from "../settings/server-listeners.ts";
import { hasInternalTls } from "./route-config.ts";
import type { RuntimeConfig } from "./runtime-config.ts";

/** Which names the local authority signs: with `tls: internal` of the server or a listener all, else those of routes that say so; null for none. */
export function internalScope({ server, routes }: RuntimeConfig): InternalScope | null {
  const isWhole = sitesIn(server).some(({ isInternal }) => isInternal);
  const signed = isWhole ? routes : routes.filter(hasInternalTls);
  if (!isWhole && signed.length === 0) return null;
  return { isWhole, hosts: signed.flatMap(({ hosts }) => hosts) };
}
