// Idempotent requests at a steady pace, on kept connections and, where asked for, on new ones.
import { RawClient, request } from "../../harness/raw-client.ts";

/** What came of the requests. */
export interface FailoverCount {
  answered: number;
  /** Not answered 200, or not at all. */
  lost: number;
  /** How often each: a status, or `cut`. */
  readonly losses: Map<string, number>;
}

export class FailoverLoad {
  /** Whether clients come that make one request each, too. */
  bringsNewClients = false;
  private readonly port: number;
  private isOver = false;
  private round = 0;
  private counts = newCount();
  private readonly clients: Promise<void>[] = [];

  constructor(port: number) {
    this.port = port;
  }

  start(): void {
    for (let i = 0; i < KEPT_CLIENTS; i++) this.clients.push(this.keepAsking());
    this.clients.push(this.bringClients());
  }

  /** Counts only requests that begin from now on. */
  forget(): void {
    this.round++;
    this.counts = newCount();
  }

  /** Ends when what is under way has ended. */
  async stop(): Promise<FailoverCount> {
    this.isOver = true;
    await Promise.all(this.clients);
    return this.counts;
  }

  private async keepAsking(): Promise<void> {
    let client: RawClient | null = null;
    while (!this.isOver) {
      const { round } = this;
      try {
        client ??= await RawClient.connect(this.port);
        const reply = await client.exchange(REQUEST);
        this.note(round, reply.status);
        if (reply.fields.get("connection")?.toLowerCase() === "close") {
          client.close();
          client = null;
        }
      } catch {
        client?.close();
        client = null;
        this.note(round, 0);
      }
      await Bun.sleep(PAUSE_MS);
    }
    client?.close();
  }

  private async bringClients(): Promise<void> {
    const all: Promise<void>[] = [];
    while (!this.isOver) {
      if (this.bringsNewClients) all.push(this.askOnce());
      await Bun.sleep(NEW_CLIENT_EVERY_MS);
    }
    await Promise.all(all);
  }

  private async askOnce(): Promise<void> {
    const { round } = this;
    try {
      const client = await RawClient.connect(this.port);
      const { status } = await client.exchange(REQUEST);
      client.close();
      this.note(round, status);
    } catch {
      this.note(round, 0);
    }
  }

  private note(round: number, status: number): void {
    if (round !== this.round) return;
    const { counts } = this;
    if (status === 200) {
      counts.answered++;
      return;
    }
    counts.lost++;
    const what = status === 0 ? "cut" : String(status);
    counts.losses.set(what, (counts.losses.get(what) ?? 0) + 1);
  }
}

function newCount(): FailoverCount {
  return { answered: 0, lost: 0, losses: new Map() };
}

const REQUEST = request("GET /x");
const KEPT_CLIENTS = 12;
const PAUSE_MS = 5;
const NEW_CLIENT_EVERY_MS = 20;
