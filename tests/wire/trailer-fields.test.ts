import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// Origins may merge trailers into the head that they belong to, so trailers must not say what only the gateway says.
// RFC 9110 §6.5.1 and §7.6.1; decisions, "Sent upstream on every route".
const origin = EchoOrigin.start();
const gateway = await startGateway({
  routes: [
    upstream("/whole", origin, { inbound_chunked_mode: "normalize" }),
    upstream("/pieces", origin, { inbound_chunked_mode: "passthrough" }),
    ...(["normalize", "passthrough"] as const).map((mode) =>
      upstream(`/edited-${mode}`, origin, {
        inbound_chunked_mode: mode,
        headers: { request: { set: { "X-User": "gateway" }, remove: ["X-Secret"] } },
      }),
    ),
  ],
});
afterAll(() => stopAll(gateway, origin));

const CLAIMS = [
  "X-Forwarded-For: 192.0.2.66",
  "X-Forwarded-Proto: https",
  "X-Forwarded-Host: evil.test",
  "X-Real-IP: 192.0.2.66",
  "X-Request-Id: claimed",
  "X-Forwarded-Client-Cert: Subject=root",
  "Expect: 100-continue",
  "HTTP2-Settings: AAMAAABkAAQAAP__",
  "Proxy-Authorization: Basic eDp5",
];

describe("in the trailers of a request, claims about the connection", () => {
  test.each(["/whole", "/pieces"])("stay behind on %s", async (prefix) => {
    const body = chunked("hello", 5, [...CLAIMS, "X-Sum: 5"]);
    const reply = await gateway.once(request(`POST ${prefix}/echo`, ["Transfer-Encoding: chunked"], body));
    expectNoClaims(json<Echo>(reply));
  });

  test.each(["/whole", "/pieces"])("stay behind on %s over HTTP/2", async (prefix) => {
    const client = await H2Client.connect(gateway.port);
    // Fields about the connection may not stand in HTTP/2 at all; the others are claims that could be believed.
    const claims = [...CLAIMS, "X-Sum: 5"].filter((line) => !line.startsWith("Proxy-"));
    const id = client.headers(head("POST", `${prefix}/echo`), false);
    client.data(id, "hello");
    client.headers(
      claims.map((line) => line.toLowerCase().split(": ") as [string, string]),
      true,
      id,
    );
    const reply = await client.reply(id);
    expectNoClaims(JSON.parse(reply.text) as Echo);
    client.close();
  });
});

describe("in the trailers of a request, fields that the route sets or removes", () => {
  test.each(["normalize", "passthrough"])("stay behind with %s", async (mode) => {
    const body = chunked("hello", 5, ["X-USER: admin", "x-secret: 1", "X-Sum: 5"]);
    const reply = await gateway.once(request(`POST /edited-${mode}/echo`, ["Transfer-Encoding: chunked"], body));
    const { headers, trailers } = json<Echo>(reply);
    expect(headers["x-user"]).toBe("gateway");
    expect(JSON.stringify([headers, trailers])).not.toMatch(/admin|x-secret/i);
    expect({ ...headers, ...trailers }).toMatchObject({ "x-sum": "5" });
  });
});

test("in the trailers of an answer, fields that its Connection names stay behind", async () => {
  origin.on("/named", (call) => {
    call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Hop, keep-alive\r\n\r\n");
    call.send(chunked("hello", 5, ["X-Hop: 1", "X-Sum: 5"]));
  });
  const reply = await gateway.once(request("GET /whole/named"));
  expect(reply.text).toBe("hello");
  expect(reply.trailers.get("x-hop")).toBeNull();
  expect(reply.trailers.get("x-sum")).toBe("5");
});

function expectNoClaims(echo: Echo): void {
  const all = JSON.stringify([echo.headers, echo.trailers]);
  expect(all).not.toMatch(/192\.0\.2\.66|evil\.test|claimed|Subject=root|100-continue|http2-settings|eDp5/i);
  expect(echo.length).toBe(5);
  expect({ ...echo.headers, ...echo.trailers }).toMatchObject({ "x-sum": "5", "x-forwarded-for": "127.0.0.1" });
}
