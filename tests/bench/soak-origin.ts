// The origin of the soak, in a process of its own: `bun soak-origin.ts PORT`. It gives back what it is sent, so that
// the client can tell a lost or a foreign byte.
const SMALL = '{"status":"ok"}';
const BODY_64K = "y".repeat(64 * 1024);
const BODY_4M = "z".repeat(4 * 1024 * 1024);

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  // Never close a connection that the gateway keeps: a request on it could not be sent again.
  idleTimeout: 0,
  maxRequestBodySize: 64 * 1024 * 1024,
  async fetch(request) {
    const path = new URL(request.url).pathname;
    if (path === "/echo") return new Response(await request.arrayBuffer());
    if (path === "/64k") return new Response(BODY_64K);
    if (path === "/4m") return new Response(BODY_4M);
    if (path === "/stream") return new Response(inPieces());
    return new Response(SMALL, { headers: { "content-type": "application/json" } });
  },
});

// A body without a length: it travels chunked.
function inPieces(): ReadableStream {
  let left = 16;
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(1);
      controller.enqueue(BODY_64K.slice(0, 4096));
      if (--left === 0) controller.close();
    },
  });
}
