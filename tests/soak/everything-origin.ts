// An origin of the run of everything, in a process of its own: `bun everything-origin.ts PORT HOST NAME [H2C_PORT]`.
// It compares each body with the digest that its head names, answers with bytes that follow from the request's id, and writes to
// stdout `ran ID` for every POST before it answers and `bad ID …` for every body that is not what the head says. SIGUSR2 makes it
// slow, and quick again.
import { writeSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { digestOf, patternOf } from "./everything-pattern.ts";

const SLOW_MS = 400;
const MAX_BODY_BYTES = 64 * 1024 * 1024;
const [port, hostname, name = "origin", h2Port] = process.argv.slice(2);
let isSlow = false;

process.on("SIGUSR2", () => {
  isSlow = !isSlow;
});

Bun.serve({
  hostname: hostname!,
  port: Number(port),
  idleTimeout: 0,
  maxRequestBodySize: MAX_BODY_BYTES,
  async fetch(request, server) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/socket" && server.upgrade(request)) return undefined;
    if (pathname.startsWith("/stored/")) {
      const body = patternOf(pathname, Number(searchParams.get("size")));
      return new Response(body, { headers: { "cache-control": "public, max-age=1" } });
    }
    const id = request.headers.get("x-id") ?? "";
    const body = Buffer.from(await request.arrayBuffer());
    note(id, request.method, body, request.headers.get("x-digest"));
    if (isSlow) await Bun.sleep(SLOW_MS);
    const answer = patternOf(id, Number(request.headers.get("x-size")));
    return new Response(answer, { headers: { "cache-control": "no-store", "x-id": id, "x-origin": name } });
  },
  websocket: {
    message(socket, text) {
      socket.send(text);
    },
  },
});

if (h2Port !== undefined) {
  const server = createServer();
  server.on("session", (session) => session.on("error", () => {}));
  server.on("stream", (stream, headers) => echo(stream as ServerHttp2Stream, headers));
  server.listen(Number(h2Port), hostname);
}

function note(id: string, method: string, body: Buffer, digest: string | null): void {
  if (body.length > 0 && digestOf(body) !== digest) writeSync(1, `bad ${id} ${body.length} bytes\n`);
  if (method === "POST") writeSync(1, `ran ${id}\n`);
}

/** A stream of messages, each sent back as it comes. */
function echo(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const id = String(headers["x-id"]);
  const parts: Buffer[] = [];
  stream.on("error", () => {});
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", "x-id": id },
    { waitForTrailers: true, endStream: false },
  );
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.on("data", (part: Buffer) => {
    parts.push(part);
    stream.write(part);
  });
  stream.on("end", () => {
    // A stream that was cut ends like one that is whole.
    if (stream.aborted) return;
    note(id, "POST", Buffer.concat(parts), String(headers["x-digest"]));
    stream.end();
  });
}
