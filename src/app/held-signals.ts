/** What ends a process unless it asks for it. ALRM means nothing here, and must not end it either. */
const HELD = ["SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM"] as const;

type HeldSignal = (typeof HELD)[number];

/**
 * Signals that do not end the process from the moment this is made, which is the first that the program does.
 * docs/security.md#environment
 */
export class HeldSignals {
  private readonly arrived = new Set<HeldSignal>();
  private reactions: Readonly<Partial<Record<HeldSignal, () => void>>> = {};

  constructor() {
    for (const name of HELD) {
      process.on(name, () => {
        const react = this.reactions[name];
        if (react === undefined) this.arrived.add(name);
        else react();
      });
    }
  }

  /** Says what they do from now on, and does it at once for those that have come. */
  react(wanted: Readonly<Partial<Record<HeldSignal, () => void>>>): void {
    this.reactions = wanted;
    for (const name of HELD) {
      if (this.arrived.delete(name)) wanted[name]?.();
    }
  }
}
