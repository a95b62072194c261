// docs/operations.md#reload, by edge reload.
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { EDGE_BINARY, freePort, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const ROUTES = '- {type: respond, path: /a, body: "a"}\n';
const port = freePort();
const tlsPort = freePort();
const { cert, key } = await makeCertificate();
const gateway = await startGateway({
  port,
  files: { "config.yaml": configOf(""), "routes.yaml": ROUTES, "cert.pem": cert, "key.pem": key },
});
afterAll(() => stopAll(gateway));

function configOf(more: string): string {
  return `server:\n  host: 127.0.0.1\n  port: ${port}\n${more}`;
}

function write(name: string, text: string): void {
  writeFileSync(join(gateway.folder, name), text);
}

const reload = (...args: string[]) =>
  runProcess([EDGE_BINARY, "reload", ...args], { cwd: gateway.folder, timeout: 60_000 });

test("says that the new files serve, what waits for a restart, and what is no longer there", async () => {
  write("config.yaml", configOf("  workers: 3\n  waf: {}\n"));
  write("routes.yaml", `${ROUTES}- {type: respond, path: /b, body: "b"}\n`);
  expect(await reload()).toMatchObject({
    code: 0,
    stdout: "Reloaded: configuration 2, 2 routes.\nAfter a restart: server.workers.\n",
    stderr: "",
  });
  expect((await gateway.once(request("GET /b"))).text).toBe("b");
  write("config.yaml", configOf(""));
  expect((await reload()).stdout).toContain("No longer there: server.waf");
});

test("names every fault, and changes nothing", async () => {
  write("routes.yaml", "- {type: respond, pth: /a}\n");
  const { code, stdout, stderr } = await reload();
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/routes\.yaml:1:\d+: routes\[0\]\.pth: /);
  expect(stderr).toContain("\nMore: edge help ");
  const seen = await reload("--url", `http://127.0.0.1:${port}`);
  expect([seen.code, seen.stderr]).toEqual([1, expect.stringContaining("\nNothing was changed.\nMore: edge help ")]);
  expect((await gateway.once(request("GET /b"))).text).toBe("b");
  write("routes.yaml", ROUTES);
});

test("finds a gateway that does not have the new listener yet", async () => {
  const tls = `  tls: {port: ${tlsPort}, cert_file: cert.pem, key_file: key.pem, redirect_http: true}\n`;
  write("config.yaml", configOf(tls));
  expect(await reload()).toMatchObject({ code: 0, stdout: expect.stringContaining("Reloaded: ") });
  expect((await gateway.once(request("GET /a"))).status).toBe(301);
  // And once it has it.
  expect(await reload()).toMatchObject({ code: 0, stderr: "" });
});

test("says that no gateway answers", async () => {
  const { code, stderr } = await reload("--url", `http://127.0.0.1:${freePort()}`);
  expect([code, stderr]).toEqual([1, expect.stringContaining("is it running?\nMore: edge help gateway-not-found\n")]);
});
