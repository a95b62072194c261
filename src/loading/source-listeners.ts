import { ConfiguredFiles } from "../config/configured-file.ts";
import { FaultLog } from "../config/fault-log.ts";
import type { YamlSource } from "../config/yaml-source.ts";
import type { RouteOrigin } from "../routes/route-source.ts";
import type { Sections } from "../settings/sections.ts";
import { listedListeners, listener, type ServerListener } from "../settings/server-listeners.ts";
import type { LeftFile } from "./beside-routes.ts";

/** A listener that a source asks for, as `server.listeners` would have it. */
export interface SourceListener extends RouteOrigin {
  readonly entry: Readonly<Record<string, unknown>>;
}

/**
 * Puts listeners of sources beside those of config.yaml. One with a fault, or at an address that another one has, is left out alone.
 * @param folder from which paths in them count
 */
export function withSourceListeners(
  main: Sections,
  asked: readonly SourceListener[],
  folder: string,
): { readonly main: Sections; readonly left: readonly LeftFile[] } {
  if (asked.length === 0) return { main, left: [] };
  const { server } = main;
  const all: ServerListener[] = [...server.listeners];
  const left: LeftFile[] = [];
  for (const { source, name, entry } of asked) {
    const log = new FaultLog(asItIs(name, entry));
    const spot = { path: ["listeners"], log, files: new ConfiguredFiles(log, folder) };
    const values = log.read(listener, entry, ["listeners", 0], 1);
    const [found] = listedListeners([values], { ...defaultsOf(main), hasIssuer: true }, spot);
    const other = all.find((one) => one.name === found!.name || (one.host === found!.host && one.port === found!.port));
    if (other !== undefined) log.fault([], `its name or address is that of the listener ${other.name}`);
    if (log.faults.length > 0) left.push({ source, name, faults: log.faults, isKept: false });
    else all.push(found!);
  }
  return { main: { ...main, server: { ...server, listeners: all } }, left };
}

function defaultsOf({ server }: Sections) {
  const { hosts, port, tls, http2, http3, proxyProtocol } = server;
  // HTTP/3 opens with the start of the process alone.
  return {
    hosts,
    port,
    tls: { ...tls, redirectHttp: false },
    http2,
    http3: { ...http3, enabled: false },
    proxyProtocol,
  };
}

/** A value that is no file: nothing in it is a variable. */
export function asItIs(name: string, value: unknown): YamlSource {
  const position = { file: name, line: 1, col: 1 };
  return {
    file: name,
    value,
    readable: true,
    faults: [],
    warnings: [],
    hide: (message) => message,
    position: () => position,
    within: () => position,
  };
}
