import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { AccessGuard } from "../../../../src/features/admin/access-guard.ts";
import { ControlHandler, type ControlPort } from "../../../../src/features/admin/control-handler.ts";
import { Verdict } from "../../../../src/message/exchange.ts";
import { Framing } from "../../../../src/message/request-head.ts";
import { configOf } from "../../loading/any-config.ts";
import { type FakeRequest, fakeExchange } from "../telemetry/exchange-fake.ts";

class KeptPort implements ControlPort {
  readonly asked: [string, string][] = [];
  answer: (status: number, contentType: string, body: string) => void = () => {};

  ask(what: string, body: string, answer: KeptPort["answer"]): void {
    this.asked.push([what, body]);
    this.answer = answer;
  }
}

function handle(request: FakeRequest) {
  const port = new KeptPort();
  const handler = new ControlHandler("incidents", new AccessGuard(configOf("").internalApi), port);
  const { ex, sink } = fakeExchange(request);
  const verdict = handler.handle(ex);
  return { port, ex, sink, verdict };
}

describe("control handler", () => {
  test("asks with the query and gives the answer", () => {
    const { port, ex, sink, verdict } = handle({ target: "/internal/api/x?limit=3&a=b#part" });
    expect(verdict).toBe(Verdict.Done);
    expect(port.asked).toEqual([["incidents", "limit=3&a=b"]]);
    expect(sink.calls).toEqual([]);
    port.answer(200, "application/json", '{"é":1}');
    expect(sink.calls).toEqual(["head", "body", "end"]);
    expect(sink.bodyText).toBe('{"é":1}');
    expect(ex.response).toMatchObject({ status: 200, framing: Framing.Length, contentLength: 8 });
    const { headers } = ex.response;
    const fields = Array.from({ length: headers.count }, (_, i) => [headers.nameText(i), headers.valueText(i)]);
    expect(fields).toEqual([
      ["Content-Type", "application/json"],
      ["Cache-Control", "no-store"],
    ]);
  });

  test("HEAD gets the length and no body", () => {
    const { port, ex, sink } = handle({ method: "HEAD" });
    port.answer(200, "text/plain", "12345");
    expect(sink.calls).toEqual(["head", "end"]);
    expect(ex.response).toMatchObject({
      framing: Framing.None,
      contentLength: 5,
      lengthWithoutBody: true,
      withoutBody: true,
    });
  });

  test("a client that left gets nothing, then or later", () => {
    const { port, ex, sink } = handle({});
    ex.source.onCancelled(ex);
    port.answer(200, "text/plain", "late");
    expect(sink.calls).toEqual([]);
  });

  test("a client that leaves while the head is written gets nothing more", () => {
    const { port, ex, sink } = handle({});
    sink.duringHead = () => ex.source.onCancelled(ex);
    port.answer(200, "text/plain", "body");
    expect(sink.calls).toEqual(["head"]);
  });

  test("a second answer is passed over", () => {
    const { port, sink } = handle({});
    port.answer(200, "text/plain", "one");
    port.answer(200, "text/plain", "two");
    expect(sink.bodyText).toBe("one");
  });

  test("who may not come is refused and nothing is asked", () => {
    const { port, sink, verdict } = handle({ client: "192.0.2.1" });
    expect(verdict).toBe(Verdict.Done);
    expect(sink.aborted).toBe(Fault.AccessDenied);
    expect(port.asked).toEqual([]);
  });
});
