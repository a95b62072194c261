import { acmeOrders } from "../../features/acme/orders.ts";
import { HostTable } from "../../message/host-table.ts";
import type { RuntimeConfig } from "../runtime-config.ts";
import type { StreamConfig } from "./stream-config.ts";

/** What becomes of connections for a name: the stream that they go through, or null where their TLS ends here. */
export type NameTable = HostTable<StreamConfig | null>;

/**
 * The names of a configuration whose connections are passed through, beside those that routes and certificates of ACME name: of all that are
 * written the one that says most counts. docs/streams.md#which-names
 * @param listener whose connections they are; null for what holds at every one
 * @returns null if none is passed through
 */
export function passedNames(config: RuntimeConfig, listener: string | null = null): NameTable | null {
  const isThere = ({ listeners }: { readonly listeners: readonly string[] }) =>
    listeners.length === 0 || (listener !== null && listeners.includes(listener));
  const streams = config.streams.filter((stream) => stream.hosts.length > 0 && isThere(stream));
  if (streams.length === 0) return null;
  const names: NameTable = new HostTable();
  for (const stream of streams) for (const host of stream.hosts) names.add(host, stream);
  for (const { hosts } of config.routes.filter((route) => listener === null || isThere(route)))
    for (const host of hosts) names.add(host, null);
  for (const { names: ordered } of acmeOrders(config)) for (const host of ordered) names.add(host, null);
  return names;
}
