// docs/security.md#environment
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";
import { runtimeVariables } from "../../src/control/start-notes.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, type GatewayOptions, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { request } from "../harness/raw-client.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
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

describe("NODE_TLS_REJECT_UNAUTHORIZED=0 and the services that the gateway asks", async () => {
  const certificate = await makeCertificate();
  const env = {
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    AWS_ACCESS_KEY_ID: "a",
    AWS_SECRET_ACCESS_KEY: "b",
    AWS_REGION: "x",
  };

  /** A server with a certificate of nobody, for any protocol, that counts who has finished a handshake with it. */
  async function withStranger(use: (port: number, counts: { trusted: number; tried: number }) => Promise<void>) {
    const counts = { trusted: 0, tried: 0 };
    const server = createServer(
      { cert: certificate.cert, key: certificate.key, ALPNProtocols: ["http/1.1", "h2"] },
      (socket) => {
        // In TLS 1.3 a client that refuses the certificate has been let in here already: what it sends decides.
        socket.on("data", () => counts.trusted++);
        socket.on("error", () => {});
      },
    );
    server.on("connection", () => counts.tried++);
    server.on("tlsClientError", () => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      await use((server.address() as AddressInfo).port, counts);
    } finally {
      server.close();
    }
  }

  const origin = EchoOrigin.start();
  afterAll(() => origin.stop());
  const tlsPort = freePort();
  const acmeWith = (more: object) => ({
    server: {
      tls: { port: tlsPort },
      acme: { enabled: true, directory_url: "http://127.0.0.1:9/dir", cache_dir: "./certs", ...more },
    },
  });
  const asking: readonly {
    readonly what: string;
    readonly options: (port: number) => GatewayOptions;
    readonly ask?: (gateway: Gateway) => Promise<unknown>;
  }[] = [
    {
      what: "an OpenID Connect provider",
      options: (port) => ({
        routes: [
          upstream("/", origin, {
            auth: {
              oidc: {
                issuer: `https://127.0.0.1:${port}/`,
                client_id: "edge",
                client_secret: "x",
                cookie_secret: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
              },
            },
          }),
        ],
      }),
      ask: (gateway) => gateway.once(request("GET /", ["Accept: text/html", "Sec-Fetch-Mode: navigate"])),
    },
    {
      what: "a set of keys",
      options: (port) => ({
        routes: [
          upstream("/", origin, { auth: { jwt: { jwks_url: `https://127.0.0.1:${port}/keys`, audience: "a" } } }),
        ],
      }),
    },
    {
      what: "an authentication service",
      options: (port) => ({
        routes: [upstream("/", origin, { auth: { forward: { url: `https://127.0.0.1:${port}/auth` } } })],
      }),
      ask: (gateway) => gateway.once(request("GET /")),
    },
    {
      what: "a store of the fleet",
      options: (port) => ({ config: { cluster: { store: `rediss://127.0.0.1:${port}` } } }),
    },
    {
      what: "a collector of telemetry",
      options: (port) => ({
        config: { telemetry: { otlp: { endpoint: `https://127.0.0.1:${port}` } } },
        routes: [upstream("/", origin)],
      }),
      ask: (gateway) => gateway.once(request("GET /")),
    },
    {
      what: "a gRPC server that is asked for its services",
      options: (port) => ({
        config: { transcoder: { enabled: true, upstream_url: `https://127.0.0.1:${port}`, auto: true } },
      }),
    },
    {
      what: "a gRPC server that is asked for its health",
      options: (port) => ({
        routes: [
          {
            ...upstream("/", { url: `h2://127.0.0.1:${port}` }),
            health_check: { grpc: true, interval: "100ms" },
          },
        ],
      }),
    },
    {
      what: "a service that approves of certificates",
      options: (port) => ({ config: acmeWith({ on_demand: { ask: `https://127.0.0.1:${port}/` } }) }),
      ask: () => shownCertificate(tlsPort, "one.customer.test").catch(() => null),
    },
    {
      what: "an S3 server that has the certificates",
      options: (port) => ({
        config: acmeWith({
          domains: ["a.test"],
          storage: "s3://bucket/edge",
          storage_endpoint: `https://127.0.0.1:${port}`,
          storage_key: ["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="],
        }),
      }),
    },
    {
      what: "a service that is asked by a function",
      options: (port) => ({
        routes: [{ type: "function", prefix: "/", module: "./ask.ts" }],
        files: {
          "ask.ts": `export default { fetch: () => fetch("https://127.0.0.1:${port}/", { signal: AbortSignal.timeout(2000) }) };`,
        },
      }),
      ask: (gateway) => gateway.once(request("GET /")),
    },
  ];

  test.each(asking)("$what is verified all the same", async ({ options, ask }) => {
    await withStranger(async (port, counts) => {
      const gateway = await startGateway({ env, ...options(port) });
      try {
        await eventually(async () => {
          await ask?.(gateway);
          expect(counts.tried).toBeGreaterThan(0);
        });
        await Bun.sleep(200);
        expect(counts.trusted).toBe(0);
      } finally {
        await gateway.stop();
      }
    });
  });

  test("a proxy of the environment is asked for nothing that is on this machine, and sees no more of others than their names", async () => {
    const [seen, asked]: [string[], Set<string>] = [[], new Set()];
    const proxy = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket, bytes) {
          seen.push(bytes.toString().split("\r\n")[0]!);
          socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
        },
      },
    });
    const here = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) => {
        asked.add(new URL(url).pathname);
        return Response.json({ keys: [] }, { status: 200 });
      },
    });
    const proxies = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
    const at = `http://127.0.0.1:${here.port}`;
    const gateway = await startGateway({
      env: Object.fromEntries(proxies.map((name) => [name, `http://127.0.0.1:${proxy.port}`])),
      config: acmeWith({ directory_url: `${at}/dir`, domains: ["a.test"], on_demand: { ask: `${at}/ask` } }),
      routes: [
        upstream("/here", origin, { auth: { jwt: { jwks_url: `${at}/keys`, audience: "a" } } }),
        upstream("/far", origin, { auth: { jwt: { jwks_url: "https://keys.far.test/far?k=1", audience: "a" } } }),
      ],
    });
    await eventually(async () => {
      await shownCertificate(tlsPort, "one.customer.test").catch(() => null);
      expect([[...asked].sort(), seen.length > 0]).toEqual([["/ask", "/dir", "/keys"], true]);
    });
    await gateway.stop();
    expect([...new Set(seen)]).toEqual(["CONNECT keys.far.test:443 HTTP/1.1"]);
    proxy.stop(true);
    await here.stop(true);
  });

  test("a server that has the configuration is verified all the same", async () => {
    await withStranger(async (port, counts) => {
      const url = `https://127.0.0.1:${port}/config.yaml`;
      const { code, stderr } = await runEdge(["serve", "--config", url, "--routes="], { env });
      expect(code).not.toBe(0);
      expect(stderr).toContain("DEPTH_ZERO_SELF_SIGNED_CERT");
      expect([counts.tried > 0, counts.trusted]).toEqual([true, 0]);
    });
  });
});
