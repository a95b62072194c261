/** Handshakes that wait for certificates, a worker. */
const MAX_WAITING_HANDSHAKES = 256;

/** Handshakes of a worker that wait for a certificate to be obtained. docs/acme.md#on-demand */
export class WantedCertificates {
  /** Whether a name may get a certificate. */
  takes: (name: string) => boolean = () => true;
  private readonly ask: (name: string) => void;
  private readonly waiting: Map<string, Set<() => void>> = new Map();
  private count = 0;

  /** @param ask has a certificate obtained: `settled` says that there is one, or that there will be none */
  constructor(ask: (name: string) => void) {
    this.ask = ask;
  }

  /** @param resume called once, later, unless it has left @returns false if the name gets none, or too many wait already */
  wait(name: string, resume: () => void): boolean {
    if (this.count >= MAX_WAITING_HANDSHAKES || !this.takes(name)) return false;
    this.count++;
    const others = this.waiting.get(name);
    if (others !== undefined) others.add(resume);
    else {
      this.waiting.set(name, new Set([resume]));
      this.ask(name);
    }
    return true;
  }

  /** A handshake is over. Its name is still being asked about: `settled` comes all the same. */
  leave(name: string, resume: () => void): void {
    if (this.waiting.get(name)?.delete(resume) === true) this.count--;
  }

  /** What there is for the name is there. */
  settled(name: string): void {
    const found = this.waiting.get(name);
    if (found === undefined) return;
    this.waiting.delete(name);
    this.count -= found.size;
    for (const resume of found) resume();
  }
}
