import { RawClient, request } from "./raw-client.ts";

/** What clients that never rest have seen. */
export interface Steady {
  /** Requests that were answered with 200. */
  good: number;
  /** Anything else, and what went wrong. */
  readonly failures: string[];
  /** Ends the load; to be awaited. */
  stop(): Promise<void>;
}

/** Enough for hundreds of requests during each reload, and other tests get some of the processors. */
const PAUSE_MS = 4;

/**
 * Clients that ask for a path one request after the other: most of them keep their connection for as long as the gateway
 * does, the others make a new one for every request.
 */
export function startSteadyClients(port: number, path: string, keeping = 6, opening = 2): Steady {
  let isOver = false;
  const steady: Steady = {
    good: 0,
    failures: [],
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
    },
  };
  const clients = Array.from({ length: keeping + opening }, (_, i) => ask(i < keeping));

  async function ask(keeps: boolean): Promise<void> {
    let client: RawClient | null = null;
    while (!isOver) {
      try {
        client ??= await RawClient.connect(port);
        const reply = await client.exchange(request(`GET ${path}`, keeps ? [] : ["Connection: close"]));
        if (reply.status === 200) steady.good++;
        else steady.failures.push(`${reply.status} ${reply.text}`);
        if (reply.fields.get("connection")?.toLowerCase() === "close") client = close(client);
        await Bun.sleep(PAUSE_MS);
      } catch (error) {
        steady.failures.push(String(error));
        client = close(client);
        await Bun.sleep(10);
      }
    }
    close(client);
  }
  return steady;
}

function close(client: RawClient | null): null {
  client?.close();
  return null;
}
