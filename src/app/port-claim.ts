import { readFileSync } from "node:fs";
import { isIP } from "node:net";

/**
 * Makes sure that nobody else listens: the workers share the port among themselves (SO_REUSEPORT), and would share it
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

/** What to tell an operator whose address cannot be had. */
export function listenError(host: string, port: number, code: string): Error {
  return new Error(`cannot listen on ${host}:${port}: ${code}${HINTS[code] ?? ""}`);
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

interface ListeningSocket {
  /** Hexadecimal, as the kernel writes it. */
  readonly address: string;
  readonly port: number;
}

/** All listening TCP sockets, proc(5); null where the kernel does not tell. */
function listeningSockets(): ListeningSocket[] | null {
  try {
    return ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((path) =>
      readFileSync(path, "latin1")
        .split("\n")
        .map((line) => line.trim().split(/\s+/))
        .filter((fields) => fields[3] === LISTENING)
        .map((fields) => {
          const [address = "", port = "0"] = fields[1]!.split(":");
          return { address, port: Number.parseInt(port, 16) };
        }),
    );
  } catch {
    return null;
  }
}

/** Whether a socket at this address takes connections for `host`; where it is not certain, it does. */
function overlaps(address: string, host: string): boolean {
  if (/^0+$/.test(address) || isIP(host) !== 4 || host === "0.0.0.0") return true;
  const wanted = host
    .split(".")
    .reverse()
    .map((octet) => Number(octet).toString(16).padStart(2, "0"))
    .join("")
    .toUpperCase();
  return address.length === IPV4_DIGITS ? address === wanted : address.endsWith(wanted);
}

/** TCP_LISTEN. */
const LISTENING = "0A";
const IPV4_DIGITS = 8;

const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: " (another process listens there; stop it or choose another server.port)",
  EACCES: " (ports below 1024 need a privilege; choose another server.port or grant CAP_NET_BIND_SERVICE)",
  EADDRNOTAVAIL: " (this machine has no such address; see server.host)",
};
