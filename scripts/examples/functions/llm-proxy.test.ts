import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Gateway, startEdge } from "edge:test";

let received: { headers: Headers; body: Record<string, unknown> } | null = null;
let release = Promise.withResolvers<void>();
const model = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    received = { headers: request.headers, body: (await request.json()) as Record<string, unknown> };
    const usage = { prompt_tokens: 7, completion_tokens: 3 };
    if (received.body.stream !== true) return Response.json({ choices: [], usage });
    async function* events() {
      yield 'data: {"choices":[{"delta":{"content":"one"}}],"usage":null}\n\n';
      await release.promise;
      yield `data: {"choices":[],"usage":${JSON.stringify(usage)}}\n\n`;
      yield "data: [DONE]\n\n";
    }
    return new Response(events(), { headers: { "Content-Type": "text/event-stream" } });
  },
});
let edge: Gateway;

beforeAll(async () => {
  edge = await startEdge({ env: { LLM_URL: `http://127.0.0.1:${model.port}/v1`, LLM_KEY: "the-key" } });
});
afterAll(() => void model.stop(true));

const ask = (body: object) =>
  edge.fetch("/v1/chat/completions", {
    method: "POST",
    body: JSON.stringify({ model: "small", messages: [], ...body }),
  });

test("the key is added, what is not named is left out, and tokens are counted", async () => {
  const response = await ask({ max_tokens: 1e9, tools: ["shell"] });
  expect(response.status).toBe(200);
  expect(received!.headers.get("Authorization")).toBe("Bearer the-key");
  expect(received!.body).toEqual({ model: "small", messages: [], max_tokens: 2000, stream: false });
  const line = await edge.logged((one) => JSON.stringify(one).includes("completion_tokens"));
  expect(line.fields).toMatchObject({ model: "small", completion_tokens: 3 });
});

test("events reach the client while the model still writes", async () => {
  release = Promise.withResolvers();
  const response = await ask({ stream: true });
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  expect(decoder.decode((await reader.read()).value)).toContain("one");
  release.resolve();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) rest += decoder.decode(part.value);
  expect(rest).toEndWith("data: [DONE]\n\n");
});

test.each([{ model: "huge" }, { messages: "hello" }, { max_tokens: "many" }, { max_tokens: -1 }])(
  "%p is 400",
  async (body) => {
    expect((await ask(body)).status).toBe(400);
  },
);
