import { type ObjectRoutes, type RouteInput, refOf } from "../objects.ts";
import type { AttachedRoute } from "./attachment.ts";
import type { BackendResolver, ResolvedBackend } from "./backend-refs.ts";
import type { TranslatedRules } from "./http-rules.ts";
import type { JudgedListener } from "./listeners.ts";

/** Addresses of a stream: `10.91.0.1:5432` each. */
type ListenAddresses = (listener: JudgedListener) => readonly string[];

/** Makes streams of a TLSRoute, a TCPRoute or a UDPRoute: of their rules, the first that has backends counts. */
export function translatedStreams(
  { route, attachments }: AttachedRoute,
  backends: BackendResolver,
  addressesOf: ListenAddresses,
  namesOf: ListenAddresses,
  taken: Set<string>,
): TranslatedRules {
  const { kind, metadata } = route;
  const rules = route.spec?.rules ?? [];
  const refs = rules.flatMap(({ backendRefs = [] }) => backendRefs);
  const protocol = kind === "UDPRoute" ? "UDP" : "TCP";
  const gateways = [
    ...new Set(
      attachments.map(({ listener: { gateway } }) => `${gateway.metadata.namespace}/${gateway.metadata.name}`),
    ),
  ];
  const found = refs.map((ref) => backends.resolve(route, ref, gateways, protocol));
  const bad = found.find(({ reason }) => reason !== "");
  const usable = targetsOf(found);
  // Without one, connections are closed at once.
  const targets = usable.length > 0 ? usable : [{ url: "127.0.0.1:9", weight: 0 }];
  const streams: RouteInput[] = [];
  for (const { listener, hosts } of attachments) {
    if (!listener.isServed) continue;
    if (kind === "TLSRoute") streams.push(...byName(hosts, namesOf(listener), targets, listener, taken));
    else streams.push(...byAddress(addressesOf(listener), protocol, targets, taken));
  }
  const groups: ObjectRoutes[] =
    streams.length === 0
      ? []
      : [
          {
            ...{ name: `${kind} ${metadata.namespace}/${metadata.name}`, object: refOf(route) },
            ...{ routes: [], streams },
          },
        ];
  return { groups, reason: bad?.reason ?? "", message: bad?.message ?? "" };
}

function byName(
  hosts: readonly string[],
  listeners: readonly string[],
  targets: readonly object[],
  { shape }: JudgedListener,
  taken: Set<string>,
): RouteInput[] {
  const free = hosts.filter((host) => claimed(`${listeners.join(" ")} ${host}`, taken));
  const named = free.map((host) => (host === "" ? "*" : host));
  return named.length === 0
    ? []
    : [{ type: "tls_passthrough", hosts: named, listeners, targets, ...(isOpened(shape) ? { terminate: true } : {}) }];
}

function isOpened({ tls }: JudgedListener["shape"]): boolean {
  return tls?.mode !== "Passthrough";
}

function byAddress(
  addresses: readonly string[],
  protocol: "TCP" | "UDP",
  targets: readonly object[],
  taken: Set<string>,
): RouteInput[] {
  const free = addresses.filter((one) => claimed(`${protocol} ${one}`, taken));
  if (free.length === 0) return [];
  return [{ type: protocol === "UDP" ? "udp" : "tcp", listen: free, targets }];
}

/** Of two routes for the same connections the older one has them. */
function claimed(place: string, taken: Set<string>): boolean {
  if (taken.has(place)) return false;
  taken.add(place);
  return true;
}

function targetsOf(found: readonly ResolvedBackend[]): object[] {
  const weights = new Map<string, number>();
  for (const { addresses, weight, reason } of found)
    if (reason === "" && weight > 0)
      for (const address of addresses)
        weights.set(address, (weights.get(address) ?? 0) + (weight * 840) / addresses.length);
  const isEven = new Set(weights.values()).size === 1;
  return [...weights].map(([url, weight]) => ({ url, ...(isEven ? {} : { weight: Math.max(1, Math.round(weight)) }) }));
}
