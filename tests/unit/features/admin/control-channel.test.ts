import { describe, expect, test } from "bun:test";
import { ControlChannel, type ControlQuestion } from "../../../../src/features/admin/control-channel.ts";
import { type Answerer, ControlRpc, jsonResponse } from "../../../../src/features/admin/control-rpc.ts";

function setUp() {
  const questions: ControlQuestion[] = [];
  const clock = { nowMs: 0 };
  const channel = new ControlChannel((question) => questions.push(structuredClone(question)), clock);
  const answers: string[] = [];
  const ask = (what: string) =>
    channel.ask(what, "q", (status, type, body) => answers.push(`${status} ${type} ${body}`));
  return { questions, clock, channel, answers, ask };
}

describe("control channel", () => {
  test("answers find their questions, in any order", () => {
    const { questions, channel, answers, ask } = setUp();
    ask("a");
    ask("b");
    const [a, b] = questions;
    channel.receive({ id: b!.id, status: 200, contentType: "t", body: "B" });
    channel.receive({ id: a!.id, status: 404, contentType: "t", body: "A" });
    channel.receive({ id: a!.id, status: 200, contentType: "t", body: "again" });
    expect(answers).toEqual(["200 t B", "404 t A"]);
    expect(a).toMatchObject({ what: "a", body: "q" });
  });

  test("a question that waits too long is answered 503, once", () => {
    const { questions, clock, channel, answers, ask } = setUp();
    ask("old");
    clock.nowMs = 9000;
    ask("young");
    channel.expire();
    expect(answers).toEqual([]);
    clock.nowMs = 10_001;
    channel.expire();
    expect(answers.length).toBe(1);
    expect(answers[0]).toStartWith('503 application/json {"error":"503 Service Unavailable"');
    channel.receive({ id: questions[0]!.id, status: 200, contentType: "t", body: "late" });
    channel.receive({ id: questions[1]!.id, status: 200, contentType: "t", body: "in time" });
    expect(answers[1]).toBe("200 t in time");
  });

  test("a flood of questions is refused", () => {
    const { questions, answers, ask } = setUp();
    for (let i = 0; i < 70; i++) ask("x");
    expect(questions.length).toBe(64);
    expect(answers.length).toBe(6);
  });
});

describe("control rpc", () => {
  const errors: unknown[] = [];
  const rpc = new ControlRpc(
    new Map<string, Answerer>([
      ["sum", (body: string) => jsonResponse(200, { body })],
      [
        "broken",
        async () => {
          throw new Error("secret detail");
        },
      ],
    ]),
    (error) => errors.push(error),
  );

  test("answers what it knows", async () => {
    expect(await rpc.answer("sum", "x")).toEqual({
      status: 200,
      contentType: "application/json",
      body: '{"body":"x"}',
    });
    expect((await rpc.answer("other", "")).status).toBe(404);
  });

  test("an error is reported here and not to the client", async () => {
    const answer = await rpc.answer("broken", "");
    expect(answer.status).toBe(500);
    expect(answer.body).not.toContain("secret");
    expect(String(errors[0])).toContain("secret detail");
  });
});
