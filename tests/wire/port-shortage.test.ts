// Without local ports left it is the gateway that lacks something, and the origin gets no blame.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { runProcess } from "../harness/run-process.ts";

const SETUP = "ip link set lo up && exec";
const canIsolate = Bun.spawnSync(["unshare", "-rn", "ip", "link", "set", "lo", "up"]).success;
if (!canIsolate) console.log("skipped: the test of local ports needs a network namespace of its own (unshare -rn)");

test.skipIf(!canIsolate)(
  "an origin that cannot be connected to for want of local ports gets no blame, and the client 503",
  async () => {
    const script = join(import.meta.dir, "port-shortage.ts");
    const command = ["unshare", "-rn", "sh", "-c", `${SETUP} "$0" "$@"`, process.execPath, script];
    const { stdout } = await runProcess(command, { cwd: process.cwd(), env: process.env, timeout: 60_000 });
    expect(JSON.parse(stdout.trim().split("\n").at(-1)!)).toEqual({
      refused: [503],
      reason: "out_of_sockets",
      status: 503,
      why: "EADDRNOTAVAIL",
      states: ["CLOSED", "CLOSED"],
    });
  },
  90_000,
);
