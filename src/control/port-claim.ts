import { closeSync, existsSync, openSync, readFileSync, readlinkSync, readSync } from "node:fs";
import { ipVersion } from "../core/ip-address.ts";
import { type ErrorName, StartError } from "../help/error-guide.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { ListenAddress } from "../routes/streams/stream-config.ts";
import {
  isSameAddress,
  type ListenerName,
  type ListenerPlace,
  type ListeningSocket,
  listenersOf,
  udpAddressesOf,
} from "../worker/listeners.ts";
import type { FromWorker } from "../worker/messages.ts";

/**
 * Makes sure that no other process listens: the workers share the port among themselves (SO_REUSEPORT), and would share it
 * with another gateway of the same user in silence. Linux is asked who listens, because trying it out would open the port
 * for a moment and lose the connections of that moment.
 * @param port 0 lets the system choose
 * @returns the port
 * @throws Error with a message that names the address and the cure
 */
export function claimPort(host: string, port: number): number {
  const sockets = port === 0 ? null : listeningSockets();
  if (sockets === null) return claimByListening(host, port);
  if (sockets.some((one) => one.port === port && overlaps(one.address, host)))
    throw listenError(host, port, "EADDRINUSE");
  return port;
}

/**
 * Claims the port of every listener that has no socket yet.
 * @returns the ports, of listeners with sockets that of the first, whatever the configuration says
 * @throws as claimPort
 */
export function claimPorts(
  places: readonly ListenerPlace[],
  inherited: readonly ListeningSocket[],
): Map<ListenerName, number> {
  return new Map(
    tcpOf(places).map(({ name, host, port }) => {
      const socket = inherited.find((one) => one.name === name);
      return [name, socket === undefined ? claimPort(host, port) : (portOf(socket.fd) ?? port)];
    }),
  );
}

/**
 * Makes sure that no other process has the UDP ports of streams, which workers share as they do those of TCP.
 * @param before those that are this gateway's already
 * @throws as claimPort
 */
export function claimUdp(addresses: readonly ListenAddress[], before: readonly ListenAddress[]): void {
  const added = addresses.filter((at) => !before.some((one) => one.host === at.host && one.port === at.port));
  const bound = added.length === 0 ? null : boundUdp();
  for (const { host, port } of added)
    if (bound?.some((one) => one.port === port && overlaps(one.address, host)))
      throw listenError(`UDP ${host}`, port, "EADDRINUSE");
}

/** All bound UDP sockets; null if the kernel does not tell. */
function boundUdp(): Pick<OpenPort, "address" | "port">[] | null {
  try {
    return ["/proc/net/udp", "/proc/net/udp6"]
      .filter((path) => existsSync(path))
      .flatMap((path) => readFileSync(path, "latin1").trim().split("\n").slice(1))
      .map((line) => {
        const [address = "", port = "0"] = (line.trim().split(/\s+/)[1] ?? "").split(":");
        return { address, port: Number.parseInt(port, 16) };
      });
  } catch {
    return null;
  }
}

/** The port at which a socket of this process listens; undefined if the kernel does not tell. */
function portOf(fd: number): number | undefined {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
    return listeningSockets()?.find((one) => one.inode === inode)?.port;
  } catch {
    return undefined;
  }
}

/**
 * The ports of a new configuration: listeners that stay where they are keep theirs, and a port of our own may go from one to
 * another.
 * @param before where the listeners are, as the configuration wrote it
 * @param ports what came of that
 * @throws as claimPort
 */
export function moveClaims(
  places: readonly ListenerPlace[],
  before: readonly ListenerPlace[],
  ports: ReadonlyMap<ListenerName, number>,
): Map<ListenerName, number> {
  const own = [...ports.values()];
  return new Map(
    tcpOf(places).map((place) => {
      const there = before.find((one) => isSameAddress(one, place));
      if (there !== undefined) return [place.name, ports.get(there.name)!];
      return [place.name, own.includes(place.port) ? place.port : claimPort(place.host, place.port)];
    }),
  );
}

/** Those with a port: UNIX sockets are bound by the control thread. */
function tcpOf(places: readonly ListenerPlace[]): ListenerPlace[] {
  return places.filter(({ isUnix }) => !isUnix);
}

/** What to tell an operator where a worker cannot start. @param config with the ports that the system has chosen */
export function workerFailure(config: RuntimeConfig, why: Extract<FromWorker, { kind: "failed" }>): Error {
  const { host, http3 } = config.server;
  if (why.listener === "udp") {
    const [first] = udpAddressesOf(config);
    return listenError(`UDP ${first!.host}`, first!.port, why.code || why.message);
  }
  const place = listenersOf(config).find(({ name }) => name === why.listener) ?? { host, port: http3.port };
  // Bun has no code for a name that cannot be looked up.
  const isUnknown = why.code === "" && why.message.startsWith("Failed to listen") && ipVersion(place.host) === 0;
  if (isUnknown) return listenError(place.host, place.port, "ENOTFOUND");
  if (why.code === "") return new StartError(why.message, "start-failed");
  return listenError(place.host, place.port, why.code);
}

/** What to tell an operator whose address cannot be had. */
function listenError(host: string, port: number, code: string): StartError {
  const { guide, hint } = LISTEN_ERRORS[code] ?? { guide: "cannot-listen", hint: "" };
  return new StartError(`cannot listen on ${host}:${port}: ${code}${hint}`, guide);
}

function claimByListening(host: string, port: number): number {
  try {
    const probe = Bun.listen({ hostname: host, port, socket: { data(): void {} } });
    const claimed = probe.port;
    probe.stop(true);
    return claimed;
  } catch (error) {
    throw listenError(host, port, (error as { code?: string }).code ?? "EUNKNOWN");
  }
}

interface OpenPort {
  /** Hexadecimal, as the kernel writes it. */
  readonly address: string;
  readonly port: number;
  readonly inode: string;
}

/** All listening TCP sockets, proc(5); null if the kernel does not tell. */
function listeningSockets(): OpenPort[] | null {
  try {
    // Without IPv6 the second is not there.
    return ["/proc/net/tcp", "/proc/net/tcp6"].filter((path, i) => i === 0 || existsSync(path)).flatMap(listeningIn);
  } catch {
    return null;
  }
}

/** The kernel lists those that listen before all others, which may be a hundred thousand and take it long. */
function listeningIn(path: string): OpenPort[] {
  const file = openSync(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(PROC_READ_BYTES);
    const found: OpenPort[] = [];
    let rest = "";
    for (;;) {
      const length = readSync(file, chunk);
      const lines = (rest + chunk.latin1Slice(0, length)).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const [number, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
        if (number === "sl") continue;
        if (state !== LISTENING) return found;
        const [address = "", port = "0"] = local.split(":");
        found.push({ address, port: Number.parseInt(port, 16), inode });
      }
      if (length === 0) return found;
    }
  } finally {
    closeSync(file);
  }
}

/** Whether a socket at this address takes connections for `host`; if it is not certain, it does. */
function overlaps(address: string, host: string): boolean {
  if (/^0+$/.test(address) || ipVersion(host) !== 4 || host === "0.0.0.0") return true;
  const wanted = host
    .split(".")
    .reverse()
    .map((octet) => Number(octet).toString(16).padStart(2, "0"))
    .join("")
    .toUpperCase();
  return address.length === IPV4_DIGITS ? address === wanted : address.endsWith(wanted);
}

const PROC_READ_BYTES = 65_536;
/** TCP_LISTEN. */
const LISTENING = "0A";
const IPV4_DIGITS = 8;

/** What a code of the system means for a listener. */
const LISTEN_ERRORS: Readonly<Record<string, { readonly guide: ErrorName; readonly hint: string }>> = {
  EADDRINUSE: { guide: "port-in-use", hint: " (another process listens there; stop it or choose another port)" },
  EACCES: {
    guide: "port-privilege",
    hint: " (ports below 1024 need a privilege; choose another port or grant CAP_NET_BIND_SERVICE)",
  },
  ENOTFOUND: { guide: "unknown-host", hint: " (no such host name; an address such as 0.0.0.0 needs no looking up)" },
  EADDRNOTAVAIL: { guide: "no-such-address", hint: " (this machine has no such address)" },
};
