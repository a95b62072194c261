// What a request pays for its trace.
import { ShownAddresses } from "../../../src/core/address-mask.ts";
import { Tracer } from "../../../src/features/telemetry/tracer.ts";
import { createSpanRings, SpanReader, SpanWriter } from "../../../src/memory/span-ring.ts";
import { Exchange } from "../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../src/message/idle-ports.ts";
import { bench } from "../micro.ts";
import { CURL_HEAD, parsed } from "./samples.ts";

const [ring] = createSpanRings(1);
const reader = new SpanReader(ring!);

for (const [name, sample, propagates] of [
  ["neither recorded nor told of", 0, false],
  ["told of", 0, true],
  ["recorded and told of", 1, true],
] as const) {
  const ports = { spans: new SpanWriter(ring!), random: Math.random, addresses: new ShownAddresses() };
  const tracer = new Tracer({ sample, propagates }, ports, () => false);
  const ex = new Exchange(IDLE);
  let rounds = 0;
  bench(`tracing: ${name}`, () => {
    Object.assign(ex, { request: parsed(CURL_HEAD) });
    tracer.phase.run(ex);
    tracer.fieldsPhase.run(ex);
    tracer.tap.onEnd(ex);
    if (++rounds % 1000 === 0) reader.each(10_000, () => {});
    return ex.request.headers.count;
  });
}

bench("tracing: the head alone", () => parsed(CURL_HEAD).headers.count);
