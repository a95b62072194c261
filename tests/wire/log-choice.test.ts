import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      workers: 2,
      trusted_proxies: ["127.0.0.0/8"],
      waf: { enabled: true },
      access_log: {
        mask_ip: {},
        only: 'status >= 400 or duration > 1h or user_agent = "loud*"',
        exclude: { paths: ["/health", "/quiet/*"] },
        outputs: ["stdout", { file: "./log/deep/all.log" }],
      },
    },
    internal_api: { allow: ["0.0.0.0/0", "::/0"] },
    telemetry: { otlp: { enabled: false } },
  },
  routes: [
    upstream("/a", origin),
    upstream("/quiet", origin),
    upstream("/off", origin, { access_log: "off" }),
    upstream("/own", origin, {
      access_log: { only: "", fields: ["client_ip", "path", "status"], outputs: [{ file: "./own.log" }] },
    }),
    upstream("/text", origin, {
      access_log: {
        only: "not (method = GET and status = 404)",
        format: "{client_ip} {header.x-forwarded-for} {header.forwarded} {path}",
        outputs: [{ file: "./text.log" }],
      },
    }),
  ],
});
afterAll(() => stopAll(gateway, origin));

const linesOf = (name: string): string[] => {
  try {
    return readFileSync(join(gateway.folder, name), "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return [];
  }
};
const get = (path: string, lines: string[] = ["X-Forwarded-For: 203.0.113.77"], method = "GET") =>
  gateway.once(request(`${method} ${path}`, lines));

describe("access lines", () => {
  test("are chosen by only and exclude, and a route's keys come before the server's", async () => {
    origin.on("/gone", (call) => call.reply("404 Not Found", [], ""));
    for (const path of ["/a/echo", "/off/gone", "/quiet/gone", "/health"]) await get(path);
    await get("/a/gone");
    await get("/a/echo", ["User-Agent: loud/1", "X-Forwarded-For: 2001:db8:1:2:3::4"]);
    await get("/own/echo");
    await get("/text/gone");
    await get("/text/gone", ["X-Forwarded-For: 203.0.113.77, 10.1.2.3", 'Forwarded: for="[2001:db8::1]"'], "POST");
    await eventually(() =>
      expect([linesOf("log/deep/all.log").length, linesOf("own.log").length, linesOf("text.log").length]).toEqual([
        2, 1, 1,
      ]),
    );
    const all = linesOf("log/deep/all.log").map((line) => JSON.parse(line));
    expect(all.map(({ path, client_ip }) => [path, client_ip])).toEqual(
      expect.arrayContaining([
        ["/a/gone", "203.0.113.0"],
        ["/a/echo", "2001:db8:1::"],
      ]),
    );
    expect(linesOf("own.log")).toEqual(['{"client_ip":"203.0.113.0","path":"/own/echo","status":200}']);
    expect(linesOf("text.log")[0]).toBe(String.raw`10.1.2.0 203.0.113.0, 10.1.2.0 for=\x22[2001:db8::]\x22 /text/gone`);
  });

  test("mask_ip holds for events, incidents and the dashboard, and origins still get the whole address", async () => {
    const blocked = await get("/a/x?q=1%20union%20select%201,2,3%20from%20users--%20");
    expect(blocked.status).toBe(403);
    const event = await gateway.log("the event", (line) => line.event === "waf_block");
    expect(event.client_ip).toBe("203.0.113.0");
    const incidents = await get("/internal/api/security/incidents", []);
    expect(incidents.text).toContain('"client_ip":"203.0.113.0"');
    expect(incidents.text).not.toContain("203.0.113.77");
    expect(gateway.logs.json.some((line) => JSON.stringify(line).includes("203.0.113.77"))).toBe(false);
    const seen = origin.requests.at(-1)!;
    expect(JSON.stringify(seen)).toContain("10.1.2.3");
  });
});
