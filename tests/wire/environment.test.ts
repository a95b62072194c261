// docs/security.md#environment
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runtimeVariables } from "../../src/app/start-notes.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const UNIT = readFileSync(join(import.meta.dir, "..", "..", "scripts", "systemd", "edge.service"), "utf8");

describe("variables that the runtime reads", () => {
  test("each is told of by edge check, once and with its cure", async () => {
    const env = { BUN_OPTIONS: "--smol", BUN_CONFIG_MAX_HTTP_REQUESTS: "5", NODE_TLS_REJECT_UNAUTHORIZED: "0" };
    const { code, stderr } = await runEdge(["check"], { env });
    expect(code).toBe(0);
    for (const name of Object.keys(env)) {
      const lines = stderr.split("\n").filter((line) => line.startsWith(`${name} is set in the environment: `));
      expect([name, lines.length]).toEqual([name, 1]);
      expect(lines[0]).toEndWith("unset it for the gateway (UnsetEnvironment= in a unit file) (warning)");
    }
    const clean = await runEdge(["check"], { env: { BUN_INSTALL: "/home/x/.bun", BUN_OPTIONS: "", BUNNY: "1" } });
    expect(clean.stderr).toBe("");
  });

  test("each is a line of the log at the start", async () => {
    const gateway = await startGateway({ env: { BUN_OPTIONS: "--smol", BUN_INSPECT_NOTIFY: "unix:///nowhere" } });
    for (const name of ["BUN_OPTIONS", "BUN_INSPECT_NOTIFY"]) {
      const line = await gateway.log(
        `${name} is told of`,
        ({ event, variable }) => event === "start" && variable === name,
      );
      expect(line.note).toContain("UnsetEnvironment=");
    }
    await gateway.stop();
  });

  test("are unset by the unit file, as far as they are known by name", () => {
    const unset = UNIT.split("\n").flatMap((line) =>
      line.startsWith("UnsetEnvironment=") ? line.slice("UnsetEnvironment=".length).split(" ") : [],
    );
    expect(unset).toContain("BUN_BE_BUN");
    const told = runtimeVariables(Object.fromEntries(unset.map((name) => [name, "1"]))).map(({ name }) => name);
    expect(told).toEqual([...unset].sort());
  });
});

describe("NODE_TLS_REJECT_UNAUTHORIZED=0", async () => {
  const certificate = await makeCertificate();
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };

  test("verifies origins of both versions of HTTP all the same", async () => {
    const origin = EchoOrigin.start({ tls: certificate });
    const h2 = await H2EchoOrigin.start(certificate);
    const gateway = await startGateway({ env, routes: [upstream("/h1", origin), upstream("/h2", h2)] });
    for (const prefix of ["/h1", "/h2"]) {
      const reply = await gateway.once(request(`GET ${prefix}/x`));
      expect([prefix, reply.status]).toEqual([prefix, 502]);
    }
    await stopAll(gateway, origin, h2);
  });

  test("verifies an ACME directory all the same", async () => {
    let asked = 0;
    const directory = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: certificate,
      fetch: () => {
        asked++;
        return Response.json({});
      },
    });
    const acme = {
      enabled: true,
      directory_url: `https://127.0.0.1:${directory.port}/dir`,
      domains: ["a.test"],
      cache_dir: "./certs",
    };
    const gateway = await startGateway({ env, config: { server: { tls: { port: freePort() }, acme } } });
    const line = await gateway.log("the order failed", ({ event }) => event === "cert_failed");
    expect([line.kind, asked]).toEqual(["DEPTH_ZERO_SELF_SIGNED_CERT", 0]);
    await gateway.stop();
    await directory.stop(true);
  });
});
