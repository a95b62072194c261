import { MAX_LISTENERS } from "../../core/limits.ts";
import { isLoopbackAddress } from "./access.ts";
import { type Keys, sectionAt } from "./keys.ts";
import type { PlannedStream } from "./plan.ts";

/** Where the other gateway listens. */
export interface ListenPlace {
  /** "" for all addresses; `unix:/path` for a socket, whose port is 0. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** Whether two places are one. */
export function isSameListen(a: ListenPlace, b: ListenPlace): boolean {
  return a.host === b.host && a.port === b.port && a.isTls === b.isTls;
}

/**
 * The places that `server.listeners` can have together. Of two that share a port the wider is kept, else the first, unless each names an
 * address of its own: the system gives a connection to the address that fits best, the gateway has one socket for each port.
 * @returns null if there are too many, or a pass-through by name needs the port of server.tls
 */
export function openPlaces<P extends ListenPlace>(
  places: readonly P[],
  streams: readonly PlannedStream[],
): readonly P[] | null {
  if (streams.some(({ keys }) => keys.listen === undefined)) return null;
  const kept: P[] = [];
  for (const one of places.toSorted((a, b) => Number(a.host !== "") - Number(b.host !== "")))
    if (!kept.some((known) => isSameListen(known, one) || clashes(known, one))) kept.push(one);
  return kept.length > MAX_LISTENERS ? null : kept.sort((a, b) => places.indexOf(a) - places.indexOf(b));
}

function clashes(a: ListenPlace, b: ListenPlace): boolean {
  if (a.port !== b.port) return false;
  if (a.port === 0) return a.host === b.host;
  return a.host === b.host || a.host === "" || b.host === "";
}

/** All but the places of this machine alone at a port that others reach as well: rules about addresses keep those apart. */
export function withoutLocal<P extends ListenPlace>(places: readonly P[]): P[] {
  return places.filter(
    (one) =>
      !isLoopbackAddress(one.host) ||
      !places.some((wide) => wide.host === "" && isSameListen(wide, { ...one, host: "" })),
  );
}

/** As `server.listeners` writes an address. */
export function listenAddress({ host, port }: ListenPlace): string {
  return port === 0 ? host : `${host}:${port}`;
}

/** A name for a listener, which no other place has. */
export function listenPlaceName({ host, port, isTls }: ListenPlace): string {
  const parts = [isTls ? "https" : "http", host.replace(/^unix:/, ""), port === 0 ? "" : String(port)];
  return parts
    .flatMap((part) => part.split(/[^a-z0-9]/i))
    .filter((part) => part !== "")
    .join("-")
    .slice(0, MAX_NAME);
}

/** Entries of `server.listeners`: those with TLS like the first of them have that of `server.tls`. */
export class ListenerEntries {
  readonly keys: Keys[] = [];
  /** What `server.tls` is to be; null without TLS. */
  tls: Keys | null = null;
  private readonly names: Set<string> = new Set();

  /** @param tls the terms of handshakes there @returns its name */
  add(place: ListenPlace, tls: Keys, more: Keys = {}): string {
    const wanted = listenPlaceName(place);
    let name = wanted;
    for (let i = 2; this.names.has(name); i++) name = `${wanted.slice(0, MAX_NAME - 4)}-${i}`;
    this.names.add(name);
    if (place.isTls) this.tls ??= tls;
    const secure = { tls: Bun.deepEquals(tls, this.tls) || { ...NO_TERMS, ...tls } };
    this.keys.push({
      name,
      address: listenAddress(place),
      ...(place.isTls ? secure : { redirect_https: false }),
      ...more,
    });
    return name;
  }
}

/** Leads what comes to listeners in clear text to TLS, at the usual port, whichever the gateway itself listens at. */
export function redirectAt(server: Keys, names: readonly string[]): void {
  for (const one of server.listeners as Keys[]) if (names.includes(String(one.name))) one.redirect_https = true;
  sectionAt(server, "tls").redirect_port = USUAL_TLS_PORT;
}

const USUAL_TLS_PORT = 443;
/** What a listener does not ask of clients, whatever another one does. */
const NO_TERMS: Keys = { client_auth: "none", min_version: "1.2" };
const MAX_NAME = 64;
