// What writes HTTP/1.1: answers down, requests up.
import { Clock } from "../../../src/core/clock.ts";
import { encodeForwardHead, RequestIds } from "../../../src/features/forward/forward-head.ts";
import type { HeaderBlock } from "../../../src/message/header-block.ts";
import { PrebuiltResponse } from "../../../src/message/prebuilt-response.ts";
import { Method, ResponseHead } from "../../../src/message/request-head.ts";
import { encodePrebuilt, encodeResponseHead, Persistence } from "../../../src/proto/h1/response-encoder.ts";
import { ResponseParser } from "../../../src/proto/h1/response-parser.ts";
import { forwardExchange, targetAt } from "../../unit/features/forward/forward-exchange.ts";
import { bench } from "../micro.ts";
import { ANSWER, BROWSER_HEAD, PROXIED_HEAD, parsed } from "./samples.ts";

const out = Buffer.allocUnsafeSlow(16384);
const clock = new Clock(Date.now);

const fixed = new PrebuiltResponse(200, [["Content-Type", "application/json"]], '{"status":"ok"}');

bench("h1 reply encoder: prebuilt", () => {
  fixed.date(clock.dateBytes, clock.second);
  return encodePrebuilt(out, 0, fixed, null, true, Persistence.Silent);
});

const upstream = upstreamReply();

bench("h1 reply encoder: of an upstream, 7 fields", () =>
  encodeResponseHead(out, 0, upstream, false, Persistence.Silent, clock.dateBytes),
);

const settings = { preserveHost: true };
const target = targetAt("origin.test:81");
const requestIds = new RequestIds(clock);
for (const [name, head] of [
  ["curl, 3 fields", PROXIED_HEAD],
  ["browser, 16 fields", BROWSER_HEAD],
] as const) {
  const ex = forwardExchange(parsed(head));
  ex.prefixLength = "/node".length;
  bench(`h1 forward head encoder: ${name}, request id included`, () => {
    requestIds.assign(ex);
    return encodeForwardHead(ex, settings, target, out, 0);
  });
}

function upstreamReply(): ResponseHead {
  const reply = new ResponseHead();
  const parser = new ResponseParser();
  const headers: HeaderBlock = reply.headers;
  headers.reset(ANSWER);
  parser.begin(0);
  if (parser.parse(ANSWER, ANSWER.length, headers, Method.Get) < 0) throw new Error("the sample is not an answer");
  parser.describe(reply, Method.Get);
  return reply;
}
