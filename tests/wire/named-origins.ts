import type { Gateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";

/** Origins that answer every request with their name, and `/health` too. */
export function namedOrigins(...names: readonly string[]): ScriptedOrigin[] {
  return names.map((name) => ScriptedOrigin.start().otherwise((call) => call.reply("200 OK", [], name)));
}

/** An upstream route with several targets; the breaker stays closed unless a test says otherwise. */
export function balanced(
  prefix: string,
  targets: readonly object[],
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return { type: "upstream", prefix, targets, circuit_breaker: { failure_threshold: 100000 }, ...more };
}

/** Sends GET requests one after the other on one connection; gives the answers' bodies. */
export async function askInTurn(
  gateway: Gateway,
  targets: readonly string[],
  lines: readonly string[] = [],
): Promise<string[]> {
  const client = await gateway.connect();
  const answers: string[] = [];
  for (const target of targets) {
    const reply = await client.exchange(request(`GET ${target}`, lines));
    answers.push(reply.status === 200 ? reply.text : String(reply.status));
  }
  client.close();
  return answers;
}

/** How often each of the values is there. */
export function tally(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** The same path, so many times. */
export function times(count: number, path: string): string[] {
  return Array.from({ length: count }, () => path);
}
