import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { EDGE_BINARY, freePort } from "../harness/gateway.ts";
import { runProcess } from "../harness/run-process.ts";

const FOLDER = join(import.meta.dir, "..", "..", "scripts", "examples");
const hasTools = Bun.which("curl") !== null && Bun.which("openssl") !== null;
if (!hasTools) console.log("skipped: the examples need curl and openssl (Debian: apt install curl openssl)");

// What the documents offer to try must work.
describe.skipIf(!hasTools)("the example", () => {
  test("of a pair of sidecars", async () => {
    const output = await run("sidecar");
    const hello = "Hello, spiffe://mesh.example/ns/shop/sa/web";
    expect(answersOf(output)).toEqual([
      hello,
      hello,
      '{"error":"403 Forbidden","message":"not allowed for this identity"}',
      expect.stringMatching(/^\(curl: exit \d+\)$/),
      hello,
    ]);
  }, 60_000);

  test("of transcoded services", async () => {
    expect(answersOf(await run("transcoder"))).toEqual([
      '{"userId":"1","name":"Ada","visits":"9007199254740993"}',
      '{"userId":"2","name":"Grace","visits":"9007199254740993"}',
      '{"code":5,"message":"no user 3","details":[]}',
      '[{"userId":"1","name":"Ada"},{"userId":"2","name":"Grace"}]',
      'data: {"userId":"1","name":"Ada"}',
    ]);
  }, 60_000);
});

async function run(name: string): Promise<string> {
  const env = { ...process.env, EDGE_BINARY, ...ports() };
  const { code, stdout, stderr } = await runProcess([join(FOLDER, name, "run")], { env, timeout: 55_000 });
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

/** Ports of this run's own in the place of those that a reader sees. */
function ports(): Record<string, string> {
  const names = ["APP_PORT", "INGRESS_PORT", "EGRESS_PORT", "INBOUND_PORT", "OUTBOUND_PORT", "PORT", "GRPC_PORT"];
  return Object.fromEntries(names.map((name) => [name, String(freePort())]));
}

/** What came back for each command that is shown. */
function answersOf(output: string): string[] {
  return output
    .split(/^\$ curl .*\n/m)
    .slice(1)
    .map((answer) => answer.trim());
}
