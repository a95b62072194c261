import { expect, test } from "bun:test";
import { startGateway } from "../harness/gateway.ts";
import { upgradeUnderLoad } from "../soak/rolling-upgrades.ts";

test("the binary is replaced under load, three times, and no request fails", async () => {
  const { upgrades, good, failures } = await upgradeUnderLoad(3);
  expect(failures).toEqual([]);
  expect([upgrades, good > 50]).toEqual([3, true]);
}, 120_000);

test("the new binary gets the sockets of all workers, of those too that are still starting at the signal", async () => {
  const workers = 6;
  const gateway = await startGateway({ config: { server: { workers } } });
  gateway.signal("SIGUSR2");
  const line = await gateway.log("the successor", (each) => each.event === "upgrade" && each.ok === true);
  expect(line.sockets).toBe(workers);
  expect(await gateway.exited()).toBe(0);
  process.kill(Number(line.successor), "SIGTERM");
  gateway.kill();
});
