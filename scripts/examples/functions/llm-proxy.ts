import type { Context, FunctionModule } from "edge";

/**
 * In front of a language model with the API of OpenAI: the key stays here, models and lengths are bounded, responses stream on as they come,
 * and the log has the tokens of each call.
 */
const MAX_TOKENS = 2000;

interface Usage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
}

export default {
  async fetch(request, ctx) {
    const asked = (await request.json().catch(() => null)) as Readonly<Record<string, unknown>> | null;
    const models = (ctx.env.LLM_MODELS ?? "").split(",");
    if (asked === null || typeof asked !== "object" || !Array.isArray(asked.messages))
      return wrong("expected messages");
    const { model, messages, stream = false, max_tokens: wanted = MAX_TOKENS } = asked;
    if (typeof model !== "string" || !models.includes(model)) return wrong(`model must be one of ${models.join(", ")}`);
    if (typeof wanted !== "number" || !(wanted >= 1)) return wrong("max_tokens must be a number");
    const isStream = stream === true;
    // Written anew: what is not named here does not reach the model.
    const sent = {
      model,
      messages,
      max_tokens: Math.min(Math.floor(wanted), MAX_TOKENS),
      stream: isStream,
      ...(isStream ? { stream_options: { include_usage: true } } : {}),
    };
    const response = await fetch(ctx.env.LLM_URL!, {
      method: "POST",
      headers: { Authorization: `Bearer ${ctx.env.LLM_KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify(sent),
      // The client has gone: the model need not go on.
      signal: request.signal,
      redirect: "error",
    });
    if (!response.ok || response.body === null) {
      ctx.log.error("the model has refused", { status: response.status });
      return Response.json({ error: { message: "the model cannot be reached" } }, { status: 502 });
    }
    const counted = (usage: Usage) => ctx.log.info("tokens", tokensOf(model, usage, ctx));
    const headers = {
      "Content-Type": isStream ? "text/event-stream" : "application/json",
      "Cache-Control": "no-store",
    };
    if (isStream) return new Response(response.body.pipeThrough(new UsageReader(counted)), { headers });
    const text = await response.text();
    counted((parsed(text) as { readonly usage?: Usage } | null)?.usage ?? {});
    return new Response(text, { headers });
  },
} satisfies FunctionModule;

function tokensOf(model: string, usage: Usage, ctx: Context): Record<string, unknown> {
  const user = ctx.auth?.user ?? ctx.clientIp;
  return { model, user, prompt_tokens: usage.prompt_tokens ?? 0, completion_tokens: usage.completion_tokens ?? 0 };
}

/** Hands server-sent events on as they are, and reads `usage`, which the last one has. */
class UsageReader extends TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  constructor(done: (usage: Usage) => void) {
    const decoder = new TextDecoder();
    let rest = "";
    let usage: Usage = {};
    super({
      transform(chunk, controller) {
        controller.enqueue(chunk);
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        // A line without an end cannot fill the memory.
        rest = lines.pop()!.slice(0, MAX_LINE);
        for (const line of lines) {
          if (!line.startsWith("data: {") || !line.includes('"usage"')) continue;
          usage = (parsed(line.slice("data: ".length)) as { readonly usage?: Usage | null } | null)?.usage ?? usage;
        }
      },
      flush: () => done(usage),
    });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function wrong(message: string): Response {
  return Response.json({ error: { message } }, { status: 400 });
}

const MAX_LINE = 1024 * 1024;
