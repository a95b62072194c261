// The way down of a request, phase by phase: WAF and routing.
import { Exchange, Verdict } from "../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../src/message/idle-ports.ts";
import { bench } from "../micro.ts";
import { GatewayLab } from "./gateway-lab.ts";
import { BROWSER_HEAD, CURL_HEAD, PROXIED_HEAD, parsed } from "./samples.ts";

const lab = new GatewayLab();
const chosen = lab.phases.filter((phase) => ["waf", "routeExact", "prefixGuard", "routePrefix"].includes(phase.name));
const dotted = Buffer.from("GET /node/items/../list.json?x=..%2f HTTP/1.1\r\nHost: www.example.test\r\n\r\n");

for (const [name, head] of [
  ["exact route", CURL_HEAD],
  ["prefix, curl", PROXIED_HEAD],
  ["prefix, browser", BROWSER_HEAD],
  ["prefix, benign dot segments", dotted],
] as const) {
  const ex = new Exchange(IDLE);
  Object.assign(ex, { request: parsed(head) });
  bench(`waf and router: ${name}`, () => {
    ex.route = null;
    ex.canonicalPath = "";
    ex.forwardPath = "";
    for (const phase of chosen) if (phase.run(ex) !== Verdict.Next) throw new Error(`${phase.name} refused ${name}`);
    return ex.prefixLength;
  });
}
