// A light FastCGI application behind the servers under test: it answers what it is asked without looking at it, 1 KiB or, where the
// parameters name 64k, 64 KiB in records as php-fpm writes them. `bun fastcgi-responder.ts PORT`
import { responseOf } from "../harness/fastcgi-records.ts";

const HEAD = "Content-Type: text/html; charset=UTF-8\r\nX-Powered-By: PHP/8.2\r\n\r\n";
const SMALL = responseOf(HEAD + "x".repeat(1024));
const LARGE = responseOf(HEAD + "y".repeat(64 * 1024));
const HEADER_BYTES = 8;

interface Connection {
  rest: Buffer;
  keeps: boolean;
  isLarge: boolean;
  /** What the kernel did not take yet. */
  waiting: Buffer;
}

Bun.listen<Connection>({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  socket: {
    open(socket) {
      socket.data = { rest: Buffer.alloc(0), keeps: false, isLarge: false, waiting: Buffer.alloc(0) };
    },
    data(socket, chunk) {
      const { data } = socket;
      const bytes = data.rest.length === 0 ? chunk : Buffer.concat([data.rest, chunk]);
      let at = 0;
      while (bytes.length - at >= HEADER_BYTES) {
        const length = bytes.readUInt16BE(at + 4);
        const end = at + HEADER_BYTES + length + bytes[at + 6]!;
        if (end > bytes.length) break;
        const type = bytes[at + 1];
        if (type === 1) data.keeps = (bytes[at + 10]! & 1) === 1;
        else if (type === 4 && length > 0) data.isLarge = bytes.subarray(at, end).includes("64k");
        else if (type === 5 && length === 0) answer(socket);
        at = end;
      }
      data.rest = Buffer.from(bytes.subarray(at));
    },
    drain(socket) {
      send(socket, socket.data.waiting);
    },
    close() {},
    error() {},
  },
});

function answer(socket: Bun.Socket<Connection>): void {
  send(socket, socket.data.isLarge ? LARGE : SMALL);
}

function send(socket: Bun.Socket<Connection>, bytes: Buffer): void {
  const sent = Math.max(0, socket.write(bytes));
  socket.data.waiting = bytes.subarray(sent);
  if (socket.data.waiting.length === 0 && !socket.data.keeps) socket.end();
}
