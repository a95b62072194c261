import { acmeOrders } from "../features/acme/orders.ts";
import { HostTable } from "../message/host-table.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { StreamConfig } from "../routes/streams/stream-config.ts";

/** What becomes of connections for a name: the stream that they go through, or null where their TLS ends here. */
export type NameTable = HostTable<StreamConfig | null>;

/**
 * The names of a configuration whose connections are passed through, beside those that routes and certificates of ACME name: of all that are
 * written the one that says most counts. docs/streams.md#which-names
 * @returns null where none is passed through
 */
export function passedNames(config: RuntimeConfig): NameTable | null {
  const streams = config.streams.filter(({ hosts }) => hosts.length > 0);
  if (streams.length === 0) return null;
  const names: NameTable = new HostTable();
  for (const stream of streams) for (const host of stream.hosts) names.add(host, stream);
  for (const { hosts } of config.routes) for (const host of hosts) names.add(host, null);
  for (const { names: ordered } of acmeOrders(config)) for (const host of ordered) names.add(host, null);
  return names;
}
