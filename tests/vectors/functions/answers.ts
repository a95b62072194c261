// A function whose responses are what the last segment of the path names.
import { greeting } from "./greeting.ts";

interface Context {
  readonly env: Readonly<Record<string, string>>;
  readonly route: string;
  readonly clientIp: string;
  readonly requestId: string;
  readonly auth: unknown;
  readonly log: { info(...values: unknown[]): void };
  waitUntil(work: Promise<unknown>): void;
  upstream(request?: Request): Promise<Response>;
  upgrade(request: Request): { readonly socket: WebSocket; readonly response: Response };
}

let aborted = 0;
let waited = 0;

const ANSWERS: Record<string, (request: Request, ctx: Context) => unknown> = {
  hello: () => new Response(greeting),
  facts: (request, ctx) =>
    Response.json({
      method: request.method,
      url: request.url,
      fields: Object.fromEntries(request.headers),
      env: ctx.env.NAME,
      inherited: (ctx as unknown as Record<string, string>).NAME,
      process: { ...process.env },
      route: ctx.route,
      clientIp: ctx.clientIp,
      requestId: ctx.requestId,
      auth: ctx.auth,
    }),
  echo: (request) => new Response(request.body, { status: 201, headers: { "X-Type": request.headers.get("content-type") ?? "" } }),
  text: async (request) => new Response((await request.text()).toUpperCase()),
  cookies: () => new Response("x", { headers: [["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"]] }),
  empty: () => new Response(null, { status: 204 }),
  length: (request) => new Response("12345", { headers: { "Content-Length": new URL(request.url).search.slice(1) } }),
  throw: () => {
    throw new Error("secret: thrown");
  },
  reject: async () => Promise.reject(new TypeError("secret: rejected")),
  nonsense: () => ({ status: 200 }),
  nothing: () => undefined,
  error: () => Response.error(),
  used: async () => {
    const response = new Response("used");
    await response.text();
    return response;
  },
  switching: () => new Response(null, { status: 101 }),
  breaks: () => new Response("x", { headers: { "X-A": "b\r\nX-Evil: 1" } }),
  hops: () =>
    new Response("hops", {
      headers: { Connection: "close, x-other", "Transfer-Encoding": "chunked", "Keep-Alive": "timeout=1", "X-Kept": "1" },
    }),
  never: () => new Promise(() => {}),
  loop: () => {
    for (;;);
  },
  exit: () => process.exit(3),
  leak: () => {
    const all: unknown[] = [];
    for (;;) all.push(new Array(1000).fill(0).map((_, i) => ({ i })));
  },
  stray: async () => {
    setTimeout(() => Promise.reject(new Error("nobody awaits this")), 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    return new Response("strayed");
  },
  chdir: () => {
    process.chdir("/");
    return new Response("changed");
  },
  log: (_, ctx) => {
    console.log("by console", { n: 1 });
    process.stdout.write("by stdout\n");
    ctx.log.info("by log", { n: 2 });
    return new Response("logged");
  },
  breaksOff: () => {
    let pieces = 0;
    return new Response(
      new ReadableStream({
        pull(controller) {
          if (pieces++ === 3) throw new Error("secret: in the stream");
          controller.enqueue(new Uint8Array(40_000).fill(65));
        },
      }),
    );
  },
  events: () => {
    let n = 0;
    const stream = new ReadableStream({
      async pull(controller) {
        if (n++ === 3) return controller.close();
        await new Promise((resolve) => setTimeout(resolve, 10));
        controller.enqueue(new TextEncoder().encode(`data: ${n}\n\n`));
      },
    });
    return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  },
  endless: (request) => {
    request.signal.addEventListener("abort", () => aborted++);
    return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }));
  },
  big: (request) => {
    let left = Number(new URL(request.url).search.slice(1));
    return new Response(
      new ReadableStream({
        pull(controller) {
          if (left-- === 0) return controller.close();
          controller.enqueue(new Uint8Array(1 << 20));
        },
      }),
    );
  },
  aborted: () => new Response(String(aborted)),
  waits: (_, ctx) => {
    ctx.waitUntil(new Promise<void>((resolve) => setTimeout(resolve, 20)).then(() => void waited++));
    return new Response("later");
  },
  waited: () => new Response(String(waited)),
  upstream: (_, ctx) => ctx.upstream(),
  other: (request, ctx) =>
    ctx.upstream(
      new Request(new URL("/f/elsewhere?q=1", request.url).href, {
        method: "POST",
        body: "from the function",
        headers: { Host: "evil.test", "X-Forwarded-For": "6.6.6.6", "Transfer-Encoding": "identity", "X-Mine": "1" },
      }),
    ),
  socket: (request, ctx) => {
    const { socket, response } = ctx.upgrade(request);
    socket.addEventListener("message", ({ data }) => {
      if (data === "bye") socket.close(4000, "as wanted");
      else socket.send(data);
    });
    return response;
  },
};

export default {
  fetch(request: Request, ctx: Context): unknown {
    const name = new URL(request.url).pathname.split("/").at(-1)!;
    const answer = ANSWERS[name];
    return answer === undefined ? new Response("no such answer", { status: 404 }) : answer(request, ctx);
  },
};
