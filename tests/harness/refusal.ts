import { expect } from "bun:test";
import type { EchoOrigin } from "./echo-origin.ts";
import type { Gateway } from "./gateway.ts";
import { json, RawClient, type Reply, request } from "./raw-client.ts";

/** Bytes that the gateway must refuse with a status of the list and a closed connection. */
export interface RefusedRow {
  readonly name: string;
  readonly bytes: string | Uint8Array;
  readonly status: number | readonly number[];
}

/** Statuses of refusals that carry the house's JSON error. */
const REASONS: Readonly<Record<number, string>> = {
  400: "400 Bad Request",
  413: "413 Payload Too Large",
  414: "414 URI Too Long",
  417: "417 Expectation Failed",
  431: "431 Request Header Fields Too Large",
  501: "501 Not Implemented",
  505: "505 HTTP Version Not Supported",
};

/**
 * Sends the row's bytes with a canary request right behind them, and checks all that a refusal promises: one answer
 * with the status and `Connection: close`, the connection really closed, the canary behind never at the origin, and a
 * fresh connection served as if nothing had been.
 */
export async function expectRefused(gateway: Gateway, origin: EchoOrigin, row: RefusedRow): Promise<Reply> {
  const before = origin.sequence;
  const seen = origin.requests.length;
  const client = await gateway.connect();
  client.send(Buffer.concat([Buffer.from(row.bytes as string, "latin1"), request("GET /node/canary")]));
  const reply = await client.reply();
  expect([row.status].flat()).toContain(reply.status);
  expect(reply.fields.get("connection")?.toLowerCase()).toBe("close");
  expect((await client.takeRest()).toString("latin1")).toBe("");
  client.close();
  expect(origin.requests.length).toBe(seen);
  await expectCanary(gateway, before + 1);
  return reply;
}

/** Checks that a refusal carries the house's JSON error: `{"error":"<code> <reason>","message":"…"}`. */
export function expectJsonError(reply: Reply): void {
  expect(reply.fields.get("content-type")).toBe("application/json");
  expect(json(reply)).toEqual({ error: REASONS[reply.status]!, message: expect.any(String) });
}

/** A fresh connection is served, and the origin counts exactly this canary. */
export async function expectCanary(gateway: Gateway, sequence: number): Promise<void> {
  const client = await RawClient.connect(gateway.port);
  const reply = await client.exchange(request("GET /node/canary"));
  expect([reply.status, json(reply)]).toEqual([200, { status: "canary_ok", sequence }]);
  client.close();
}
