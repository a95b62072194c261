import { lookup } from "node:dns/promises";
import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { probeOrigin, probeTarget } from "../control/node-registry.ts";
import { messageOf } from "../core/error-text.ts";
import { ipVersion } from "../core/ip-address.ts";
import { listed } from "../core/number-text.ts";
import { withinMs } from "../core/time-limit.ts";
import { type FoundService, ServiceTargets } from "../features/balance/control/service-targets.ts";
import { logFiles } from "../features/telemetry/control/log-outputs.ts";
import { type NameResolver, threadResolver } from "../net/name-resolver.ts";
import { ROUTE_FORMAT } from "../routes/route-format.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { isExpected } from "../upstream/prober.ts";
import { type NodeInit, NodeList } from "../worker/node-list.ts";

/** One try with its result. */
export interface OnlineFinding {
  readonly kind: "name" | "target" | "file" | "log";
  /** A host name, a target's URL, or a path. */
  readonly name: string;
  readonly ok: boolean;
  /** The addresses, the time, or the reason. */
  readonly found: string;
}

/** Tries names, targets, folders and logs of a configuration, each within a bound. docs/configuration.md#online */
export async function onlineFindings(written: RuntimeConfig): Promise<readonly OnlineFinding[]> {
  const services = new ServiceTargets({ changed: () => {}, onFailure: () => {} });
  await services.use(written, written);
  const config = services.applied(written);
  const found = services.found();
  services.stop();
  const { nodes } = new NodeList(config);
  const resolver = threadResolver(() => {});
  const byTarget = new Map(nodes.map((node) => [node.target.originKey, node] as const));
  const lost = new Set(found.filter(({ failure }) => failure !== "").map(({ name }) => name));
  const all = [...byTarget.values()].filter(({ target }) => !lost.has(target.hostname)).slice(0, MAX_TRIED);
  const names = [...new Set(all.map(({ target }) => target.hostname))].filter(
    (name) => name !== "" && ipVersion(name.replace(/^\[|\]$/g, "")) === 0,
  );
  const left: OnlineFinding[] =
    byTarget.size - lost.size > all.length
      ? [
          {
            kind: "target",
            name: "further targets",
            ok: true,
            found: `${byTarget.size - lost.size - all.length} were not tried`,
          },
        ]
      : [];
  return [
    ...found.map(serviceFinding),
    ...(await inGroups(names, nameFinding)),
    ...(await inGroups(all, (node) => targetFinding(node, config, resolver))),
    ...left,
    ...fileFindings(config),
  ];
}

/** A few at a time, so that a slow try holds up its group alone. */
async function inGroups<T>(all: readonly T[], look: (one: T) => Promise<OnlineFinding>): Promise<OnlineFinding[]> {
  const found: OnlineFinding[] = [];
  for (let at = 0; at < all.length; at += AT_ONCE)
    found.push(...(await Promise.all(all.slice(at, at + AT_ONCE).map(look))));
  return found;
}

function serviceFinding({ name, records, failure }: FoundService): OnlineFinding {
  const servers = records.map(({ host, port }) => `${host}:${port}`);
  return { kind: "name", name, ok: failure === "", found: failure || listed(servers) };
}

async function nameFinding(name: string): Promise<OnlineFinding> {
  try {
    const found = await withinMs(lookup(name, { all: true }), TRY_MS, `no response within ${TRY_MS / 1000} s`);
    return { kind: "name", name, ok: true, found: listed(found.map(({ address }) => address)) };
  } catch (error) {
    const { code = messageOf(error) } = error as { readonly code?: string };
    return { kind: "name", name, ok: false, found: code };
  }
}

async function targetFinding(
  { route, target, isMesh }: NodeInit,
  config: RuntimeConfig,
  resolver: NameResolver,
): Promise<OnlineFinding> {
  const about = { kind: "target", name: target.url } as const;
  if (target.scheme === "udp" || isMesh) return { ...about, ok: true, found: "not tried" };
  const { healthCheck } = route;
  try {
    const origin = probeOrigin(route, target, config.proxy.transport.maxResponseFields);
    const path = healthCheck.enabled ? healthCheck.path : "";
    const outcome = await probeTarget(origin, path, TRY_MS, resolver);
    const { statusCode, latencyMs, error } = outcome;
    if (error !== "") return { ...about, ok: false, found: error };
    const time = `${latencyMs.toFixed(1)} ms`;
    if (!healthCheck.enabled) return { ...about, ok: true, found: `connected in ${time}` };
    const isWell = isExpected(healthCheck, outcome);
    return { ...about, ok: isWell, found: `health check ${path}: ${statusCode} in ${time}` };
  } catch (error) {
    return { ...about, ok: false, found: messageOf(error) };
  }
}

/** Served folders must be readable; folders of edge itself, writable. */
function fileFindings(config: RuntimeConfig): OnlineFinding[] {
  const { server, routes } = config;
  const read = routes.flatMap((route) => ROUTE_FORMAT.types[route.type]!.folderOf?.(route) ?? []);
  const { acme, cache } = server;
  const written = [
    ...(acme.enabled && acme.cacheDir !== "" ? [acme.cacheDir] : []),
    ...(cache.enabled && cache.disk !== null ? [cache.disk.path] : []),
  ];
  return [
    ...[...new Set(read)]
      .filter((path) => path !== "")
      .map((path) => accessFinding("file", path, READABLE, "readable")),
    ...written.map((path) => accessFinding("file", nearest(path), WRITABLE, "writable", path)),
    ...logFiles(config).map(({ file, fault }) => ({
      kind: "log" as const,
      name: file,
      ok: fault === "",
      found: fault === "" ? "writable" : fault,
    })),
  ];
}

function accessFinding(
  kind: OnlineFinding["kind"],
  path: string,
  mode: number,
  good: string,
  name: string = path,
): OnlineFinding {
  try {
    accessSync(path, mode);
    return { kind, name, ok: true, found: good };
  } catch (error) {
    const { code = messageOf(error) } = error as { readonly code?: string };
    return { kind, name, ok: false, found: `${code}: not ${good} for this user` };
  }
}

/** The path, or the nearest folder above it that is there: edge makes the rest. */
function nearest(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    try {
      accessSync(at);
      return at;
    } catch {
      if (dirname(at) === at) return at;
    }
  }
}

/** One finding as a line. */
export function findingLine({ kind, name, ok, found }: OnlineFinding): string {
  return `${ok ? "ok    " : "failed"} ${kind} ${name}: ${found}`;
}

const READABLE = constants.R_OK | constants.X_OK;
const WRITABLE = constants.W_OK | constants.X_OK;
const TRY_MS = 3000;
const AT_ONCE = 32;
const MAX_TRIED = 1000;
