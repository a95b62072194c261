import { expect, test } from "bun:test";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { liveStates } from "../../../../src/tools/watch/live-source.ts";
import { liveState } from "../../features/dashboard/live-states.ts";

test("an event of an older gateway gets the verdict that it does not say", async () => {
  const { verdict: _verdict, gateway, ...others } = liveState();
  const { failedLogs: _failedLogs, ...older } = { ...gateway, lastReloadOk: false };
  const event = `data: ${JSON.stringify({ ...others, gateway: older })}\n\n`;
  const found = [];
  for await (const state of liveStates(Readable.from([Buffer.from(event)]) as IncomingMessage))
    found.push(state.verdict);
  expect(found).toEqual([liveState({ gateway: { ...gateway, lastReloadOk: false } }).verdict]);
  expect(found[0]!.word).toBe("not well");
});
