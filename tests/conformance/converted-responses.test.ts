// docs/migrate-nginx.md: redirects and cookies of an origin leave nginx and the gateway that `edge convert` has made of it alike.
import { expect, test } from "bun:test";
import { convert } from "../harness/conversions.ts";
import { startGateway } from "../harness/gateway.ts";
import { NGINX, NginxServer } from "../harness/nginx-server.ts";
import { freePort } from "../harness/ports.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";

if (NGINX === null) console.log("skipped: nginx is not installed (scripts/install-peers)");

const LOCATIONS = [
  "ORIGIN/y/cart",
  "ORIGIN/cart",
  "ORIGIN/y",
  "/y/cart",
  "/cart",
  "https://elsewhere.test/y/",
  "http://old.test/a",
  "http://old.test:81/a",
  "cart?a=b",
];
const COOKIES = ["a=1; Path=/y/; HttpOnly", "a=1; Domain=old.test; Path=/z", "a=1", 'a="1"; Path=/y/b; SameSite=None'];

const siteOf = (port: number, origin: string): string => `server { listen ${port};
  location /x/ { proxy_pass ${origin}/y/; proxy_cookie_path /y/ /x/; proxy_cookie_flags ~ secure samesite=lax; }
  location /z { proxy_pass ${origin}; proxy_redirect http://old.test/ /; proxy_cookie_domain old.test new.test; }
  location = /e { proxy_pass ${origin}/f; }
  location /off/ { proxy_pass ${origin}/y/; proxy_redirect off; }
  location /both/ { proxy_pass ${origin}/y/; proxy_redirect default; proxy_redirect http://old.test/ http://new.test/; }
}`;

test.skipIf(NGINX === null)("redirects and cookies of an origin", async () => {
  const origin = ScriptedOrigin.start();
  let [location = "", cookie = ""] = ["", ""];
  origin.otherwise((call) =>
    call.reply("302 Found", [`Location: ${location.replace("ORIGIN", origin.url)}`, `Set-Cookie: ${cookie}`], ""),
  );
  const [theirs, ours] = [freePort(), freePort()];
  const nginx = await NginxServer.start(siteOf(theirs, origin.url), [theirs]);
  const { config, routes, loaded } = convert("nginx", "nginx.conf", siteOf(ours, origin.url));
  expect(loaded?.ok).toBe(true);
  const gateway = await startGateway({ port: ours, files: { "config.yaml": config, "routes.yaml": routes } });
  const ask = async (port: number, path: string) => {
    const { headers } = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: "manual" });
    // nginx makes some of them absolute, with its own name.
    const to = (headers.get("location") ?? "").replace(`http://127.0.0.1:${port}`, "");
    // The order of attributes says nothing.
    return [to, headers.get("set-cookie")?.toLowerCase().split("; ").sort()];
  };
  for (location of LOCATIONS)
    for (cookie of COOKIES)
      for (const path of ["/x/a", "/z/a", "/e", "/off/a", "/both/a"])
        expect([path, location, ...(await ask(ours, path))]).toEqual([path, location, ...(await ask(theirs, path))]);
  await gateway.stop();
  nginx.stop();
  origin.stop();
});
