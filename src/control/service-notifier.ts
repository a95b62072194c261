/**
 * Notifies systemd of the service's state, where it asked for that (`Type=notify`). The protocol wants a Unix datagram
 * socket, which the runtime does not offer, so the tool that comes with systemd sends the message. sd_notify(3).
 */
export class ServiceNotifier {
  private readonly isThere: boolean;
  private readonly watchdogMs: number;

  constructor(env: Record<string, string | undefined>) {
    this.isThere = (env.NOTIFY_SOCKET ?? "") !== "" && Bun.which("systemd-notify") !== null;
    const isOurs = env.WATCHDOG_PID === undefined || Number(env.WATCHDOG_PID) === process.pid;
    this.watchdogMs = isOurs ? Math.floor(Number(env.WATCHDOG_USEC ?? "0") / 1000) : 0;
  }

  /**
   * The gateway serves; from now on the watchdog is fed at half its interval, for as long as all is well.
   * @param isWell whether the workers move
   */
  ready(isWell: () => boolean): void {
    this.send([`--pid=${process.pid}`, "--ready"]);
    if (this.watchdogMs === 0) return;
    setInterval(() => {
      if (isWell()) this.send(["WATCHDOG=1"]);
    }, this.watchdogMs / 2);
  }

  /** The configuration is being read again; `reloaded` follows, whatever came of it. */
  reloading(): void {
    this.send(["RELOADING=1"]);
  }

  reloaded(): void {
    this.send(["--ready"]);
  }

  stopping(): void {
    this.send(["STOPPING=1"]);
  }

  private send(words: readonly string[]): void {
    if (!this.isThere) return;
    Bun.spawn({ cmd: ["systemd-notify", ...words], stdio: ["ignore", "ignore", "ignore"] }).unref();
  }
}
