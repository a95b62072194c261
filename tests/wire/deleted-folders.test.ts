// Folders that are deleted while the gateway runs, and made anew: what cannot be done meanwhile is said, and all is well within a second
// after. docs/operations.md#folders-that-go
import { afterAll, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { stopAll } from "../harness/teardown.ts";

const one = await makeCertificate([{ type: "dns", value: "one.test" }]);
const two = await makeCertificate([{ type: "dns", value: "two.test" }]);
const started: Gateway[] = [];
afterAll(() => Promise.all(started.map((gateway) => stopAll(gateway))).then(() => {}));

async function start(): Promise<{ readonly gateway: Gateway; readonly tlsPort: number }> {
  const tlsPort = freePort();
  const gateway = await startGateway({
    config: {
      server: {
        workers: 2,
        tls: { port: tlsPort, cert_file: "./tls/a.pem", key_file: "./tls/a.key" },
        access_log: { outputs: [{ file: "./logs/access.log" }] },
      },
    },
    routes: [
      { type: "respond", prefix: "/x", body: "hi" },
      { type: "static", prefix: "/s", dir: "./site" },
      { type: "function", prefix: "/f", module: "./here.ts" },
    ],
    files: {
      "tls/a.pem": one.cert,
      "tls/a.key": one.key,
      "site/page.html": "a page",
      "here.ts": `import { readFileSync } from "node:fs";
        export default { fetch: () => new Response(readFileSync("./site/page.html", "utf8")) };`,
    },
  });
  started.push(gateway);
  return { gateway, tlsPort };
}

const namesOf = async (port: number): Promise<string> =>
  (await shownCertificate(port, "one.test")).subjectAltName ?? "";

test("a folder of certificates that is made anew is watched like the one before", async () => {
  const { gateway, tlsPort } = await start();
  const folder = join(gateway.folder, "tls");
  for (const certificate of [two, one, two]) {
    rmSync(folder, { recursive: true });
    await Bun.sleep(700);
    expect((await gateway.once(request("GET /x/y"))).status).toBe(200);
    mkdirSync(folder);
    writeFileSync(join(folder, "a.key"), certificate.key);
    writeFileSync(join(folder, "a.pem"), certificate.cert);
    await eventually(async () => expect(await namesOf(tlsPort)).toContain(certificate === one ? "one" : "two"));
  }
  // Another folder may take its place without a moment in between.
  const beside = `${folder}.new`;
  cpSync(folder, beside, { recursive: true });
  writeFileSync(join(beside, "a.key"), one.key);
  writeFileSync(join(beside, "a.pem"), one.cert);
  renameSync(folder, `${folder}.old`);
  renameSync(beside, folder);
  await eventually(async () => expect(await namesOf(tlsPort)).toContain("one"));
}, 60_000);

test("a working folder that is deleted fails what needs it, by name, and all works once it is there again", async () => {
  const { gateway } = await start();
  const { folder } = gateway;
  const copy = join(tmpdir(), `edge-copy-${process.pid}`);
  cpSync(folder, copy, { recursive: true });
  rmSync(folder, { recursive: true });
  const gone = await gateway.log("the folder is gone", ({ event, ok }) => event === "working_folder" && ok === false);
  expect(gone).toMatchObject({ folder, error: expect.stringContaining(folder) });
  expect((await gateway.once(request("GET /x/1"))).status).toBe(200);
  expect((await gateway.once(request("GET /s/page.html"))).status).toBe(404);
  gateway.signal("SIGHUP");
  const reload = await gateway.log("a reload", ({ event }) => event === "config_reload");
  expect(reload).toMatchObject({ ok: false, faults: [expect.stringContaining("no such file"), expect.anything()] });
  gateway.signal("SIGUSR2");
  const upgrade = await gateway.log("an upgrade", ({ event }) => event === "upgrade");
  expect(upgrade).toMatchObject({ ok: false, error: expect.stringContaining(`the working folder ${folder} is gone`) });
  // The log's own folder was made again by its first line, perhaps.
  rmSync(folder, { recursive: true, force: true });
  renameSync(copy, folder);
  await gateway.log("the folder is back", ({ event, ok }) => event === "working_folder" && ok === true);
  expect((await gateway.once(request("GET /s/page.html"))).text).toBe("a page");
  expect((await gateway.once(request("GET /f/x"))).text).toBe("a page");
  gateway.signal("SIGUSR1");
  await gateway.log("the log is opened anew", ({ event }) => event === "log_reopen");
  await eventually(async () => {
    await gateway.once(request("GET /x/2"));
    expect(existsSync(join(folder, "logs", "access.log"))).toBe(true);
  });
  expect((await gateway.reload()).ok).toBe(true);
  gateway.signal("SIGUSR2");
  const line = await gateway.log("the successor", ({ event, pid }) => event === "listening" && pid !== gateway.pid);
  expect((await gateway.once(request("GET /s/page.html"))).text).toBe("a page");
  expect(readdirSync(`/proc/${line.pid}/cwd`)).toContain("routes.yaml");
  started.splice(started.indexOf(gateway), 1);
  expect(await gateway.exited()).toBe(0);
  process.kill(line.pid as number, "SIGTERM");
}, 60_000);
