// RFC 9110 §15.4.5: a 304 has the fields that guide a cache where its 200 would have had them, whatever made it.
import { afterAll, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const text = "<p>some text</p>".repeat(300);
const edits = {
  headers: {
    response: {
      set: { "Cache-Control": "max-age=60", Expires: "Thu, 01 Jan 2099 00:00:00 GMT", "Content-Location": "/x" },
      add: { Vary: "X-A" },
    },
  },
};
const origin = ScriptedOrigin.start();
const FRESH = ["Cache-Control: max-age=60", 'ETag: "v"', "Vary: Accept-Encoding", "Content-Type: text/html"];
origin.on("/stored", (call) => call.reply("200 OK", [...FRESH, "Content-Location: /x"], text));
const body = (path: string, more: object = {}) => ({
  type: "respond",
  path,
  body: text,
  content_type: "text/html",
  ...more,
});
const routes = [
  body("/respond"),
  body("/edited", edits),
  body("/image", { content_type: "image/png" }),
  body("/plain", { compression: false }),
  { type: "static", prefix: "/files", dir: "site" },
  { type: "static", prefix: "/edited-files", dir: "site", ...edits },
  upstream("/stored", origin, { strip_prefix: false }),
];
const server = {
  compression: { enabled: true },
  cors: { enabled: true, allowed_origins: ["https://a.test"] },
  cache: { enabled: true },
};
const gateway = await startGateway({ config: { server }, routes, files: { "site/page.html": text } });
afterAll(() => stopAll(gateway, origin));

const KEPT = ["etag", "vary", "cache-control", "expires", "content-location"] as const;

test.each(["/respond", "/edited", "/image", "/plain", "/files/page.html", "/edited-files/page.html", "/stored"])(
  "the 304 of %s has the fields of its 200, in every coding",
  async (path) => {
    for (const coding of [[], ["Accept-Encoding: gzip"], ["Accept-Encoding: br"]]) {
      const lines = [...coding, "Origin: https://a.test"];
      for (const method of path === "/stored" ? ["GET"] : ["GET", "HEAD"]) {
        const whole = await gateway.once(request(`${method} ${path}`, lines));
        expect([whole.status, whole.fields.has("etag")]).toEqual([200, true]);
        const unchanged = await gateway.once(
          request(`${method} ${path}`, [...lines, `If-None-Match: ${whole.fields.get("etag")}`]),
        );
        expect([unchanged.status, unchanged.fields.has("date"), unchanged.fields.has("content-type")]).toEqual([
          304,
          true,
          false,
        ]);
        for (const name of KEPT) expect([name, unchanged.fields.all(name)]).toEqual([name, whole.fields.all(name)]);
      }
    }
  },
);
