// A disk that was full while the configuration was read serves again when it has room, without another reload.
import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked } from "../harness/raw-client.ts";
import { SmallDisk } from "../harness/small-disk.ts";
import { stopAll } from "../harness/teardown.ts";

const MIB = 1024 * 1024;
const disk = new SmallDisk(32 * MIB);
const origin = EchoOrigin.start();
const gateway = await startGateway({ env: { TMPDIR: disk.folder }, routes: [upstream("/node", origin)] });
afterAll(async () => {
  await stopAll(gateway, origin);
  disk.remove();
});

if (!disk.isSmall) console.log("left out: a small disk cannot be mounted here (that takes the rights of root)");

/** A body that goes to a file. */
async function upload(): Promise<number> {
  const client = await gateway.connect();
  client.send("POST /node/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  client.send(chunked(Buffer.alloc(3 * MIB, "x"), 64 * 1024));
  const { status } = await client.reply("POST");
  client.close();
  return status;
}

test.skipIf(!disk.isSmall)(
  "a disk that was full at a reload is used again when it has room",
  async () => {
    expect(await upload()).toBe(200);
    disk.fill();
    expect(await upload()).toBe(503);
    expect((await gateway.reload()).ok).toBe(true);
    expect(await upload()).toBe(503);
    disk.empty();
    const statuses: number[] = [];
    await eventually(async () => {
      statuses.push(await upload());
      expect(statuses.at(-1)).toBe(200);
    });
    expect(await upload()).toBe(200);
  },
  60_000,
);
