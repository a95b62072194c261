import type { KeyPath } from "../config/config-fault.ts";
import type { FaultLog } from "../config/fault-log.ts";
import { MAX_STREAMS } from "../core/limits.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { StreamConfig } from "../routes/streams/stream-config.ts";
import type { Sections } from "../settings/sections.ts";

/** Entries of routes.yaml, each at its place there: null if it is of the other kind, or could not be read. */
export interface PlacedEntries {
  readonly routes: readonly (RouteConfig | null)[];
  readonly streams: readonly (StreamConfig | null)[];
}

/**
 * Notes what contradicts itself between streams, routes and listeners. docs/streams.md#which-names
 * @param base the path of the list in the file
 */
export function checkStreams(
  main: Pick<Sections, "server">,
  { routes, streams }: PlacedEntries,
  base: KeyPath,
  log: FaultLog,
): void {
  if (streams.filter((stream) => stream !== null).length > MAX_STREAMS)
    log.fault(base, `has more than ${MAX_STREAMS} streams`);
  checkNames(main, { routes, streams }, base, log);
}

/** A name is passed through, or its TLS ends here, and by one entry alone. */
function checkNames(
  { server }: Pick<Sections, "server">,
  { routes, streams }: PlacedEntries,
  base: KeyPath,
  log: FaultLog,
): void {
  const passed = new Map<string, StreamConfig>();
  const routed = new Map<string, RouteConfig>();
  for (const route of routes) for (const host of route?.hosts ?? []) if (!routed.has(host)) routed.set(host, route!);
  const ordered = new Set(server.acme.enabled ? server.acme.orders.flatMap(({ names }) => names) : []);
  for (const [i, stream] of streams.entries()) {
    if (stream === null || stream.type !== "tls_passthrough") continue;
    if (!server.tls.enabled && stream.listeners.length === 0)
      log.warn([...base, i, "type"], "takes no connection while server.tls is off");
    if (stream.listeners.length > 0) {
      const unknown = stream.listeners.filter((name) => !server.listeners.some((one) => one.name === name && one.tls));
      for (const name of unknown)
        log.fault([...base, i, "listeners"], `no TLS listener has the name ${JSON.stringify(name)}`);
      continue;
    }
    for (const [k, host] of stream.hosts.entries()) {
      const at = [...base, i, "hosts", k];
      const earlier = passed.get(host);
      const route = routed.get(host);
      if (earlier !== undefined)
        log.fault(at, `${host} is passed through in line ${earlier.position.line} already: remove one`, true);
      else if (route !== undefined)
        log.fault(
          at,
          `${host} is passed through unopened, and the route in line ${route.position.line} answers for it: remove it from one of them`,
          true,
        );
      else if (ordered.has(host))
        log.fault(
          at,
          `${host} is passed through unopened, and server.acme obtains a certificate for it: remove it from one of them`,
          true,
        );
      passed.set(host, stream);
    }
  }
}
