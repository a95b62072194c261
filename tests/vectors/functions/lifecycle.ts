// A function that holds on to memory, to work and to its client, as the last segment of the path says.

interface Context {
  waitUntil(work: Promise<unknown>): void;
  upgrade(request: Request): { readonly socket: WebSocket; readonly response: Response };
}

const kept: unknown[] = [];
let asked = 0;

const ANSWERS: Record<string, (request: Request, ctx: Context) => unknown> = {
  version: () => new Response("VERSION"),
  loop: () => {
    for (;;);
  },
  slow: async () => {
    await Bun.sleep(300);
    return new Response("slow");
  },
  keep: () => {
    kept.push(Array.from({ length: 1000 }, (_, i) => ({ i, text: `kept ${i}` })));
    return new Response(String(++asked));
  },
  // Work that begins more work: each part tells the address in the query that it has been done.
  wait: (request, ctx) => {
    const { search } = new URL(request.url);
    const tell = (part: string) => fetch(`${decodeURIComponent(search.slice(1))}/${part}-VERSION`);
    const first = Bun.sleep(300).then(() => {
      ctx.waitUntil(Bun.sleep(100).then(() => tell("second")));
      return tell("first");
    });
    ctx.waitUntil(first);
    return new Response("begun");
  },
  forever: (request, ctx) => {
    const { search } = new URL(request.url);
    ctx.waitUntil(new Promise(() => {}));
    setInterval(() => fetch(`${decodeURIComponent(search.slice(1))}/alive-VERSION`).catch(() => {}), 50);
    return new Response("begun");
  },
  stalls: () =>
    new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("one")) })),
  aborts: (request) => {
    const tell = (what: string) => fetch(`${decodeURIComponent(new URL(request.url).search.slice(1))}/${what}`);
    request.signal.addEventListener("abort", () => void tell("aborted"));
    return tell("begun").then(() => new Promise(() => {}));
  },
  // Sends what the query says in place of the thread's own records.
  forges: (request) => {
    const forged: unknown = JSON.parse(decodeURIComponent(new URL(request.url).search.slice(1)));
    const { postMessage } = MessagePort.prototype;
    MessagePort.prototype.postMessage = function (this: MessagePort, own: unknown) {
      const id = /\d+/.exec(String(own))?.[0] ?? "";
      postMessage.call(this, typeof forged === "string" ? forged.replace("ID", id) : forged);
    } as typeof postMessage;
    return new Response("never seen");
  },
  socket: (request, ctx) => {
    const { socket, response } = ctx.upgrade(request);
    socket.addEventListener("message", ({ data }) => {
      if (data === "bye") socket.close(4000, "as wanted");
      else socket.send(`VERSION ${data}`);
    });
    return response;
  },
};

export default {
  fetch(request: Request, ctx: Context): unknown {
    const name = new URL(request.url).pathname.split("/").at(-1)!;
    return ANSWERS[name]?.(request, ctx) ?? new Response("no such answer", { status: 404 });
  },
};
