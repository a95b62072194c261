import { type Attack, attacksOn } from "../../src/tools/loadgen/attack-catalogue.ts";

/** How a request is answered: with a status, or otherwise. */
export type Conduct = number | "reset" | "close" | "silence" | "garbage";

/** What a gateway under load does wrong. Without any of it, it refuses what it should and serves the rest. */
export interface Flaws {
  /** By the id of an attack, such as `ADV-03`. */
  readonly attacks?: Readonly<Record<string, Conduct>>;
  /** To every attack that is not named. */
  readonly everyAttack?: Conduct;
  /** Every n-th benign request. */
  readonly benign?: { readonly every: number; readonly conduct: Conduct };
  /** Milliseconds until a benign answer. */
  readonly delayMs?: number;
}

/** Something that answers like a gateway, right or wrong as the test wants it. */
export class BrokenGateway {
  benignRequests = 0;
  readonly attacksSeen = new Map<string, number>();
  private readonly listener: Bun.TCPSocketListener<Connection>;
  private readonly attacks: readonly Attack[];

  constructor(private readonly flaws: Flaws = {}) {
    this.listener = Bun.listen<Connection>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (socket) => {
          socket.data = { received: Buffer.alloc(0) };
        },
        data: (socket, chunk) => this.receive(socket, chunk),
        error: () => {},
      },
    });
    this.attacks = attacksOn("/health", `127.0.0.1:${this.port}`);
  }

  get port(): number {
    return this.listener.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/health`;
  }

  stop(): void {
    this.listener.stop(true);
  }

  private receive(socket: Client, chunk: Uint8Array): void {
    socket.data.received = Buffer.concat([socket.data.received, chunk]);
    const { received } = socket.data;
    const attack = this.attacks.find(({ bytes }) => bytes.equals(received));
    if (attack !== undefined) {
      this.attacksSeen.set(attack.id, (this.attacksSeen.get(attack.id) ?? 0) + 1);
      act(socket, this.flaws.attacks?.[attack.id] ?? this.flaws.everyAttack ?? attack.expected, true);
    } else if (!this.attacks.some(({ bytes }) => bytes.subarray(0, received.length).equals(received))) {
      if (!received.includes("\r\n\r\n")) return;
      socket.data.received = Buffer.alloc(0);
      this.answerBenign(socket);
    }
  }

  private answerBenign(socket: Client): void {
    this.benignRequests++;
    const { benign, delayMs = 0 } = this.flaws;
    const isHit = benign !== undefined && this.benignRequests % benign.every === 0;
    const answer = () => act(socket, isHit ? benign.conduct : 200, false);
    if (delayMs === 0) answer();
    else setTimeout(answer, delayMs);
  }
}

interface Connection {
  received: Buffer;
}

type Client = Bun.Socket<Connection>;

function act(socket: Client, conduct: Conduct, closes: boolean): void {
  if (conduct === "silence") return;
  if (conduct === "reset") socket.terminate();
  else if (conduct === "close") socket.end();
  else if (conduct === "garbage") socket.write("SSH-2.0-nothing\r\n");
  else {
    const lines = [`HTTP/1.1 ${conduct} Whatever`, ...(closes ? ["Connection: close"] : [])];
    socket.write([...lines, ...(conduct === 204 ? ["", ""] : ["Content-Length: 2", "", "ok"])].join("\r\n"));
  }
}
