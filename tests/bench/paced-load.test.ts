import { afterAll, expect, test } from "bun:test";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { attacksOn } from "./attack-catalogue.ts";
import { AttackStream, BenignStream, pace } from "./paced-load.ts";

const STALL_MS = 200;
const origin = ScriptedOrigin.start();
const state = { stallUntilMs: 0 };
origin.on("/x", async (call) => {
  await Bun.sleep(Math.max(0, state.stallUntilMs - performance.now()));
  call.reply("200 OK", [], "ok");
});
origin.on("/missing", (call) => call.reply("404 Not Found"));
afterAll(() => origin.stop());

async function load(path: string, perSecond: number, seconds: number) {
  const stream = new BenignStream(origin.port, path);
  await stream.open(1);
  await pace(perSecond, seconds, 1, (dueMs) => stream.send(dueMs));
  return stream.close();
}

test("the pace is kept and every answer is counted", async () => {
  const { sent, good, latenciesMs } = await load("/x", 500, 0.4);
  expect(sent).toBeWithin(120, 280);
  expect([good, latenciesMs.length]).toEqual([sent, sent]);
  expect((await load("/missing", 500, 0.1)).good).toBe(0);
});

test("a stall counts for every request that was due in it, not only for the one that met it", async () => {
  state.stallUntilMs = performance.now() + STALL_MS;
  const { latenciesMs, serviceMs } = await load("/x", 500, STALL_MS / 1000);
  const slow = (all: readonly number[]) => all.filter((ms) => ms > STALL_MS / 4).length;
  expect(slow(latenciesMs)).toBeGreaterThan(30);
  expect(slow(serviceMs)).toBeLessThan(10);
});

test("attacks are counted by what they got", async () => {
  const answers = ["HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", ""];
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.end(answers[socket.remotePort % 2]) },
  });
  const stream = new AttackStream(
    server.port,
    attacksOn("/x").map((each) => each.bytes),
  );
  for (let i = 0; i < 40; i++) stream.send();
  await stream.close();
  server.stop(true);
  const outcomes = Object.fromEntries(stream.outcomes);
  expect(Object.keys(outcomes).every((outcome) => ["400", "closed", "reset"].includes(outcome))).toBe(true);
  expect([...stream.outcomes.values()].reduce((sum, count) => sum + count, 0)).toBe(40);
});
