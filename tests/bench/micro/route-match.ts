// What `match` and `rewrite` of a route cost a request; routes without them are in phases.ts.

import { PathRewrite } from "../../../src/features/rewrite/path-rewrite.ts";
import { RequestMatcher } from "../../../src/features/route/request-matcher.ts";
import { Exchange } from "../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../src/message/idle-ports.ts";
import { bench } from "../micro.ts";
import { BROWSER_HEAD, parsed } from "./samples.ts";

const nothing = { header: [], query: [], cookie: [], clientIp: [], country: [], share: 1, stickyBy: "" };
const head = parsed(BROWSER_HEAD);
for (const [name, config] of [
  ["a header", { ...nothing, header: [["Accept-Language", "en-US,en;q=0.9,de;q=0.8"]] }],
  ["a header by expression", { ...nothing, header: [["User-Agent", "/Chrome/"]] }],
  ["a cookie", { ...nothing, cookie: [["theme", "dark"]] }],
  ["a parameter", { ...nothing, query: [["page", "2"]] }],
  ["a share by cookie", { ...nothing, share: 0.5, stickyBy: "session" }],
] as const) {
  const matcher = new RequestMatcher(config as ConstructorParameters<typeof RequestMatcher>[0], name, 0);
  bench(`match: ${name}`, () => (matcher.fits(head) ? 1 : 0));
}

const ex = new Exchange(IDLE);
Object.assign(ex, { request: head });
const fixed = new PathRewrite({ path: "/new{path}", regex: "", to: "" });
const found = new PathRewrite({ path: "", regex: "^/node/(.*)$", to: "/new/{match.1}" });
bench("rewrite: path", () => String(fixed.pathOf(ex)).length);
bench("rewrite: expression", () => String(found.pathOf(ex)).length);
