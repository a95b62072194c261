// An origin of the chaos run, in a process of its own that can be killed and stopped: `bun chaos-origin.ts PORT NAME`.
// It answers with the request's own path, and writes the path of every POST to stdout before it answers, so that a POST
// that runs twice is seen. SIGUSR2 makes it slow, and quick again.
import { writeSync } from "node:fs";

const SLOW_MS = 400;
const name = process.argv[3] ?? "origin";
let isSlow = false;

process.on("SIGUSR2", () => {
  isSlow = !isSlow;
});

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  idleTimeout: 0,
  async fetch(request, server) {
    const { pathname } = new URL(request.url);
    if (pathname === "/socket" && server.upgrade(request)) return undefined;
    const body = await request.text();
    if (request.method === "POST") writeSync(1, `${pathname}\n`);
    if (isSlow) await Bun.sleep(SLOW_MS);
    return new Response(`${pathname} ${body.length} ${name}`);
  },
  websocket: {
    message(socket, text) {
      socket.send(text);
    },
  },
});
