import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

const good = await makeCertificate();
const wrongName = await makeCertificate([{ type: "dns", value: "other.test" }]);

describe("an https target", async () => {
  const origin = EchoOrigin.start({ tls: good });
  const impostor = EchoOrigin.start({ tls: wrongName });
  const plain = startDeafServer("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  const silent = startDeafServer("");
  const gateway = await startGateway({
    routes: [
      upstream("/trusted", origin, { tls: { ca_file: "good.pem" } }),
      upstream("/untrusted", origin),
      upstream("/impostor", impostor, { tls: { ca_file: "wrong-name.pem" } }),
      upstream("/named", impostor, { tls: { ca_file: "wrong-name.pem", server_name: "other.test" } }),
      upstream("/unverified", impostor, { tls: { insecure_skip_verify: true } }),
      upstream("/not-tls", { url: `https://127.0.0.1:${plain.port}` }),
      upstream("/silent", { url: `https://127.0.0.1:${silent.port}` }, { timeouts: { connect: "300ms" } }),
    ],
    files: { "good.pem": good.cert, "wrong-name.pem": wrongName.cert },
  });
  afterAll(async () => {
    await stopAll(gateway, origin, impostor);
    plain.stop(true);
    silent.stop(true);
  });

  test("is served when its certificate is trusted and has its name", async () => {
    const body = new SeededRandom(9).bytes(200_000);
    for (let i = 0; i < 3; i++) {
      const echo = json<Echo>(await gateway.once(request("POST /trusted/echo", [], body)));
      expect(echo.sha256).toBe(sha256(body));
    }
    expect(json(await gateway.once(request("GET /trusted/canary")))).toEqual({ status: "canary_ok", sequence: 1 });
    expect(origin.connections.length).toBeLessThanOrEqual(2);
  });

  test("is served under another name that the route gives", async () => {
    expect((await gateway.once(request("GET /named/canary"))).status).toBe(200);
  });

  test("is served unverified only where the route says so", async () => {
    expect((await gateway.once(request("GET /unverified/canary"))).status).toBe(200);
  });

  test.each(["/untrusted", "/impostor", "/not-tls"])(
    "is 502 through %s, and never gets the request",
    async (prefix) => {
      const seen = origin.requests.length + impostor.requests.length;
      for (const bytes of [request(`GET ${prefix}/canary`), request(`POST ${prefix}/echo`, [], "secret")]) {
        const reply = await gateway.once(bytes);
        expect(json(reply)).toEqual({ error: "502 Bad Gateway", message: "upstream unavailable" });
      }
      expect(origin.requests.length + impostor.requests.length).toBe(seen);
    },
  );

  test("is 504 when it does not take part in the handshake", async () => {
    const reply = await gateway.once(request("GET /silent/canary"));
    expect([reply.status, json(reply).error]).toEqual([504, "504 Gateway Timeout"]);
  });
});

/** A server that does not understand TLS: it answers anything with these bytes, or says nothing. */
function startDeafServer(answer: string) {
  return Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void (answer === "" || socket.end(answer)) },
  });
}
