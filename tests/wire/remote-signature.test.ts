// Configurations that minisign has signed, and others.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigOrigin } from "../harness/config-origin.ts";
import { freePort, type Gateway, runEdge, startGateway } from "../harness/gateway.ts";
import { MINISIGN, MinisignKey } from "../harness/minisign.ts";
import { json, request } from "../harness/raw-client.ts";

describe.skipIf(MINISIGN === null)("with --signature-key", async () => {
  if (MINISIGN === null) return;
  const folder = mkdtempSync(join(tmpdir(), "edge-signed-"));
  const [key, next, stranger] = await Promise.all([MinisignKey.make(), MinisignKey.make(), MinisignKey.make()]);
  const keys = join(folder, "keys.pub");
  writeFileSync(keys, `${key.publicText}${next.publicText}`);
  const origin = ConfigOrigin.start();
  const port = freePort();
  const config = `server: { host: 127.0.0.1, port: ${port}, workers: 1 }\n...\n`;
  const routesFor = (body: string) => `- { type: respond, path: /v, body: ${body} }\n...\n`;

  /** Puts up routes with a signature, and the configuration signed as well. */
  async function publish(routes: string, by: MinisignKey, ...options: readonly string[]): Promise<void> {
    origin.put(config, routes);
    origin.texts.set("/routes.yaml.minisig", await by.sign(routes, ...options));
    origin.texts.set("/config.yaml.minisig", await by.sign(config, ...options));
  }

  const args = ["--config", `${origin.url}/config.yaml`, "--routes=", "--poll", "1h", "--signature-key", keys];
  const start = (): Promise<Gateway> => startGateway({ port, args, env: { STATE_DIRECTORY: folder } });
  const reload = async () => {
    const reply = await gateway.once(request("POST /internal/api/reload", ["Content-Type: application/json"], "{}"));
    return reply.status === 200 ? "" : String(json(reply).faults);
  };
  const served = async () => (await gateway.once(request("GET /v"))).text;

  await publish(routesFor("one"), key, "-t", "timestamp:2000");
  let gateway = await start();
  afterAll(async () => {
    await gateway.stop();
    origin.stop();
    for (const one of [key, next, stranger]) one.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  test("what is signed is taken, over the text as well, and by a key that follows", async () => {
    expect(await served()).toBe("one");
    await publish(routesFor("two"), key, "-l", "-t", "timestamp:2001");
    expect([await reload(), await served()]).toEqual(["", "two"]);
    await publish(routesFor("three"), next, "-t", "timestamp:2002");
    expect([await reload(), await served()]).toEqual(["", "three"]);
  });

  test("what is not, or by others, is not taken", async () => {
    await publish(routesFor("four"), stranger);
    expect(await reload()).toMatch(/config\.yaml: signed with key [0-9A-F]{16}, which is not one of --signature-key/);
    await publish(routesFor("four"), key);
    origin.put(config, routesFor("five"));
    expect(await reload()).toMatch(/routes\.yaml: the signature of key [0-9A-F]{16} does not fit the text/);
    origin.put(config, routesFor("four"));
    const signature = origin.texts.get("/routes.yaml.minisig")!;
    origin.texts.set("/routes.yaml.minisig", signature.replace("timestamp:", "timestamp:9"));
    expect(await reload()).toMatch(/routes\.yaml: the trusted comment is not that of key/);
    origin.texts.delete("/routes.yaml.minisig");
    expect(await reload()).toMatch(/routes\.yaml: is not signed: there is no \.minisig beside it/);
    expect(await served()).toBe("three");
  });

  test("an older text is not taken again, before and after a start, unless it is signed anew", async () => {
    await publish(routesFor("one"), key, "-t", "timestamp:2000");
    expect(await reload()).toMatch(/routes\.yaml: signed 1970-01-01T00:33:20\.000Z, before the last one in use/);
    await gateway.stop();
    gateway = await start();
    expect(await served()).toBe("three");
    expect(await reload()).toMatch(/to go back, sign the older text anew/);
    await publish(routesFor("one"), key, "-t", "by hand");
    expect(await reload()).toMatch(/has no timestamp:/);
    await publish(routesFor("one"), key);
    expect([await reload(), await served()]).toEqual(["", "one"]);
  });

  test("a first start does not serve while the source holds back the routes", async () => {
    await publish(routesFor("one"), key);
    origin.texts.delete("/routes.yaml");
    origin.texts.delete("/routes.yaml.minisig");
    const fresh = mkdtempSync(join(tmpdir(), "edge-unsigned-"));
    const run = await runEdge(["serve", ...args], { env: { STATE_DIRECTORY: fresh } });
    rmSync(fresh, { recursive: true, force: true });
    expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(/routes\.yaml: there is no such document/)]);
    await publish(routesFor("one"), key);
  });

  test("what was kept by another key serves no start", async () => {
    origin.stop();
    const other = join(folder, "other.pub");
    writeFileSync(other, stranger.publicText);
    const run = await runEdge(["serve", ...args.slice(0, -1), other], { env: { STATE_DIRECTORY: folder } });
    expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(/config\.yaml: signed with key [0-9A-F]{16}/)]);
  });
});
