// The clients of the chaos run.
import { RawClient, request } from "../harness/raw-client.ts";

/** What the clients have seen. */
export interface Sightings {
  idempotent: number;
  succeeded: number;
  posts: number;
  postsSucceeded: number;
  /** Requests without an answer within the patience. */
  hangs: number;
  /** Answers that belong to another request. */
  foreign: number;
  slowestMs: number;
  /** Idempotent requests that did not succeed, by what came instead. */
  readonly failures: Map<string, number>;
}

/** No sightings yet. */
export function noSightings(): Sightings {
  const counts = { idempotent: 0, succeeded: 0, posts: 0, postsSucceeded: 0, hangs: 0, foreign: 0, slowestMs: 0 };
  return { ...counts, failures: new Map() };
}

/** One connection after the other, one request after the other, until it is over. */
export async function keepAsking(
  port: number,
  client: number,
  patienceMs: number,
  isOver: () => boolean,
  seen: Sightings,
): Promise<void> {
  for (let i = 0; !isOver(); ) {
    const connection = await RawClient.connect(port).catch(() => null);
    if (connection === null) {
      await Bun.sleep(50);
      continue;
    }
    while (!isOver() && !connection.isClosed && connection.ending === "open") {
      await askOnce(connection, METHODS[i % METHODS.length]!, `/${client}/${i}`, patienceMs, seen);
      i++;
    }
    connection.close();
  }
}

async function askOnce(
  connection: RawClient,
  method: string,
  path: string,
  patienceMs: number,
  seen: Sightings,
): Promise<void> {
  const isPost = method === "POST";
  const body = method === "GET" || method === "DELETE" ? undefined : "some words";
  if (isPost) seen.posts++;
  else seen.idempotent++;
  const started = performance.now();
  let outcome = "cut";
  try {
    connection.send(request(`${method} /n${path}`, [], body));
    const reply = await connection.reply(method, patienceMs);
    outcome = reply.status === 200 ? "ok" : String(reply.status);
    if (reply.status === 200 && !reply.text.startsWith(`${path} ${body?.length ?? 0} `)) {
      seen.foreign++;
      outcome = "foreign";
    }
  } catch {
    if (connection.ending === "open") {
      seen.hangs++;
      outcome = "hang";
    }
    connection.reset();
  }
  seen.slowestMs = Math.max(seen.slowestMs, performance.now() - started);
  if (outcome === "ok" && isPost) seen.postsSucceeded++;
  else if (outcome === "ok") seen.succeeded++;
  else if (!isPost) seen.failures.set(outcome, (seen.failures.get(outcome) ?? 0) + 1);
}

/** A WebSocket through an origin that nobody touches; gives the number of its echoes, or -1 when it has ended. */
export async function keepSocket(port: number, isOver: () => boolean): Promise<number> {
  let echoes = 0;
  let isClosed = false;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws/socket`);
  socket.onmessage = () => {
    echoes++;
  };
  socket.onclose = () => {
    isClosed = true;
  };
  await new Promise((resolve) => {
    socket.onopen = resolve;
    socket.onerror = resolve;
  });
  while (!isOver() && !isClosed) {
    socket.send("still there?");
    await Bun.sleep(50);
  }
  const lived = !isClosed && echoes > 0;
  socket.close();
  return lived ? echoes : -1;
}

const METHODS = ["GET", "GET", "GET", "PUT", "GET", "GET", "DELETE", "POST"];
