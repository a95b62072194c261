import { describe, expect, test } from "bun:test";
import { Attempt, Exchange, Pipeline, type Route, Verdict } from "../../../src/message/exchange.ts";
import { ExtraFields } from "../../../src/message/extra-fields.ts";
import { IDLE_PORTS as IDLE } from "../../../src/message/idle-ports.ts";
import { RequestHead, ResponseHead } from "../../../src/message/request-head.ts";

/** The fields that hold a number, a text or a flag. */
function plainFields(object: object): Record<string, unknown> {
  const entries = Object.entries(object).filter(([, value]) => ["number", "string", "boolean"].includes(typeof value));
  return Object.fromEntries(entries);
}

/** Changes every plain field to something that no fresh object has. */
function soil(object: object): void {
  const fields = object as Record<string, unknown>;
  for (const [name, value] of Object.entries(plainFields(object))) {
    if (typeof value === "number") fields[name] = 4711;
    else if (typeof value === "string") fields[name] = "of the last request";
    else fields[name] = !value;
  }
}

describe("what is used again remembers nothing of the last request", () => {
  test("an exchange", () => {
    const used = new Exchange(IDLE);
    soil(used);
    soil(used.attempt);
    let released = 0;
    used.held = { release: () => void released++ };
    used.release();
    used.reset(IDLE);
    expect(used.attempt).toEqual(new Attempt());
    // But for how many requests it has served.
    expect(plainFields(used)).toEqual({ ...plainFields(new Exchange(IDLE)), uses: 4712 });
    expect([used.held, used.attempt.target, used.route, used.deadline]).toEqual([null, null, null, null]);
    expect([used.sink, used.flow, used.body, used.source]).toEqual([IDLE.sink, IDLE.flow, IDLE.body, IDLE.source]);
    expect(released).toBe(1);
  });

  test("an exchange, whatever its fields hold", () => {
    const used = new Exchange(IDLE);
    const fresh = new Exchange(IDLE);
    const fields = used as unknown as Record<string, unknown>;
    const own = Object.keys(used).filter((name) => !["request", "response", "attempt", "uses"].includes(name));
    for (const name of own) fields[name] = "of the last request";
    used.reset(IDLE);
    expect(own.filter((name) => fields[name] !== (fresh as unknown as Record<string, unknown>)[name])).toEqual([]);
  });

  test("an exchange that waits to be used again holds no configuration that may be replaced meanwhile", () => {
    const ex = new Exchange(IDLE);
    ex.pipeline = new Pipeline([], [], []);
    ex.phases = [{ name: "old", run: () => Verdict.Done }];
    ex.route = { label: "/old" } as Route;
    const old: readonly unknown[] = [ex.pipeline, ex.phases, ex.route];
    ex.release();
    expect(Object.values(ex).filter((value) => old.includes(value))).toEqual([]);
  });

  test("a request's head", () => {
    const used = new RequestHead();
    soil(used);
    used.headers.add("X-A", "b");
    used.reset(new Uint8Array(0));
    expect(plainFields(used)).toEqual(plainFields(new RequestHead()));
    expect(used.headers.count).toBe(0);
  });

  test("a reply's head", () => {
    const used = new ResponseHead();
    soil(used);
    used.addExtra(new ExtraFields([["X-A", "b"]]));
    used.headers.add("X-A", "b");
    used.reset();
    expect(plainFields(used)).toEqual(plainFields(new ResponseHead()));
    expect([used.extra, used.trailers, used.headers.count]).toEqual([null, null, 0]);
  });

  test("held things are given back once", () => {
    const ex = new Exchange(IDLE);
    let released = 0;
    ex.held = { release: () => void released++ };
    ex.release();
    ex.release();
    expect(released).toBe(1);
  });
});
