// The UDP port of HTTP/3 goes from one process to the next: clients whose requests were under way are told, and connect anew.
import { expect } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { longTest } from "../harness/long-lane.ts";

longTest(
  "a request that is cut by an upgrade is told of at once, not when the client's patience ends",
  async () => {
    const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
    const tlsPort = freePort();
    const origin = EchoOrigin.start();
    const asked = Promise.withResolvers<void>();
    origin.on("/never", () => asked.resolve());
    const gateway = await startGateway({
      config: {
        server: {
          tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
          http3: { enabled: true },
          access_log: { enabled: false },
        },
      },
      routes: [upstream("/node", origin)],
      files: { "a.pem": certificate.cert, "a.key": certificate.key },
    });
    const client = await H3Client.connect(tlsPort);
    const cut = client.ask("GET", "/node/never").then(
      ({ status }) => status || "cut",
      () => "cut",
    );
    await asked.promise;
    gateway.signal("SIGUSR2");
    const line = await gateway.log("the successor", ({ event, pid }) => event === "listening" && pid !== gateway.pid);
    const startMs = performance.now();
    try {
      expect(await cut).toBe("cut");
      // One second is what a request under way is given; the client's own time is ten.
      expect(performance.now() - startMs).toBeLessThan(5000);
      const next = await H3Client.connect(tlsPort);
      expect((await next.ask("GET", "/node/canary")).status).toBe(200);
      next.close();
    } finally {
      client.close();
      process.kill(line.pid as number, "SIGTERM");
      gateway.kill();
      origin.stop();
    }
  },
  60_000,
);
