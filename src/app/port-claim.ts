/**
 * Makes sure that nobody else listens: the workers share the port among themselves (SO_REUSEPORT), and would share it
 * with another gateway in silence.
 * @param port 0 lets the system choose
 * @returns the port
 * @throws Error with the code EADDRINUSE, EACCES … and a message that names the address
 */
export function claimPort(host: string, port: number): number {
  try {
    const probe = Bun.listen({ hostname: host, port, socket: { data(): void {} } });
    const claimed = probe.port;
    probe.stop(true);
    return claimed;
  } catch (error) {
    const code = (error as { code?: string }).code ?? "EUNKNOWN";
    throw new Error(`cannot listen on ${host}:${port}: ${code}${HINTS[code] ?? ""}`);
  }
}

const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: " (another process listens there; stop it or choose another server.port)",
  EACCES: " (ports below 1024 need a privilege; choose another server.port or grant CAP_NET_BIND_SERVICE)",
  EADDRNOTAVAIL: " (this machine has no such address; see server.host)",
};
