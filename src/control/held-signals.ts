/** What ends a process unless it asks for it. ALRM means nothing here, and must not end it either. */
const HELD = ["SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM"] as const;
/** What ends the gateway, in order from its first line on. */
const ENDS = ["SIGTERM", "SIGINT"] as const;

/** Commands whose process becomes the gateway. */
const GATEWAYS = ["serve", "file-server", "reverse-proxy", "respond"];

/** Whether a command runs the gateway in its own process. */
export function runsGateway(command = ""): boolean {
  return GATEWAYS.includes(command);
}

type HeldSignal = (typeof HELD)[number] | (typeof ENDS)[number];

/** What signals do. */
type Reactions = Readonly<Partial<Record<HeldSignal, () => void>>>;

/**
 * Signals that do not end the process from the moment this is made, which is the first that the program does; and of the gateway also those
 * that end it, which has nothing to finish then and ends with 0. docs/security.md#environment
 */
export class HeldSignals {
  private readonly arrived = new Set<HeldSignal>();
  private reactions: Reactions = {};

  /** @param isGateway whether the process is to be the gateway, and no tool */
  constructor(isGateway: boolean) {
    for (const name of HELD) this.hold(name, () => this.arrived.add(name));
    for (const name of isGateway ? ENDS : []) this.hold(name, () => process.exit(0));
  }

  /** Says what they do from now on, and does it at once for those that have come. */
  react(wanted: Reactions): void {
    this.reactions = wanted;
    for (const name of HELD) {
      if (this.arrived.delete(name)) wanted[name]?.();
    }
  }

  /** @param otherwise what happens while no reaction is known */
  private hold(name: HeldSignal, otherwise: () => void): void {
    process.on(name, () => (this.reactions[name] ?? otherwise)());
  }
}
