/** What becomes of a request. */
export type WafVerdict = "passed" | "blocked" | "refused" | "reset" | "error";

/** Whether the application has not seen it. */
export function isStopped(verdict: WafVerdict): boolean {
  return verdict === "blocked" || verdict === "refused" || verdict === "reset";
}

/** An origin that says `X-Origin: reached` to each request whose body it has. */
export function startOrigin(): { readonly url: string; stop(): void } {
  const listener = Bun.listen<{ held: Buffer }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { held: Buffer.alloc(0) };
      },
      data(socket, bytes) {
        const { data } = socket;
        data.held = Buffer.concat([data.held, bytes]);
        for (let end = requestEnd(data.held); end > 0; end = requestEnd(data.held)) {
          data.held = data.held.subarray(end);
          socket.write("HTTP/1.1 200 OK\r\nX-Origin: reached\r\nContent-Length: 0\r\n\r\n");
        }
      },
    },
  });
  return { url: `http://127.0.0.1:${listener.port}`, stop: () => listener.stop(true) };
}

/** Where the first request ends; 0 where it is not whole yet. The gateway says each length. */
function requestEnd(bytes: Buffer): number {
  const head = bytes.indexOf("\r\n\r\n");
  if (head < 0) return 0;
  const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.toString("latin1", 0, head));
  const end = head + 4 + Number(length?.[1] ?? 0);
  return end <= bytes.length ? end : 0;
}

/** Sends a request on a connection of its own. */
export function askFirewall(port: number, request: Uint8Array): Promise<WafVerdict> {
  return new Promise((resolve) => {
    let text = "";
    const timer = setTimeout(() => resolve("error"), PATIENCE_MS);
    const end = (verdict: WafVerdict): void => {
      clearTimeout(timer);
      resolve(verdict);
    };
    Bun.connect<Upload>({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => new Upload(request).go(socket),
        drain: (socket) => socket.data?.go(socket),
        data(socket, bytes) {
          text += bytes.toString("latin1");
          text = text.replace(/^HTTP\/1\.1 100[\s\S]*?\r\n\r\n/, "");
          const head = text.indexOf("\r\n\r\n");
          if (head < 0) return;
          end(verdictOf(text.slice(0, head)));
          socket.terminate();
        },
        close: () => end("reset"),
        error: () => end("reset"),
        connectError: () => end("error"),
      },
    }).catch(() => end("error"));
  });
}

/** What is left of a request to be written. */
class Upload {
  private rest: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.rest = bytes;
  }

  go(socket: { data: Upload; write(bytes: Uint8Array): number }): void {
    socket.data = this;
    if (this.rest.length === 0) return;
    const written = socket.write(this.rest);
    if (written > 0) this.rest = this.rest.subarray(written);
  }
}

function verdictOf(head: string): WafVerdict {
  const status = Number(head.slice(9, 12));
  if (/\r\nx-origin: reached/i.test(head)) return "passed";
  if (status === 403) return "blocked";
  return (status >= 400 && status < 500) || status === 501 || status === 505 ? "refused" : "error";
}

/** Sends the same request again and again on kept connections, one at a time on each. @returns once all are answered */
export async function sendMany(port: number, request: Uint8Array, count: number): Promise<void> {
  const each = Math.ceil(count / CONNECTIONS);
  await Promise.all(Array.from({ length: CONNECTIONS }, () => sendOnOne(port, request, each)));
}

function sendOnOne(port: number, request: Uint8Array, count: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = count;
    let text = "";
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => void socket.write(request),
        data(socket, bytes) {
          text += bytes.toString("latin1");
          const head = text.indexOf("\r\n\r\n");
          const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
          if (head < 0 || text.length < head + 4 + length) return;
          if (verdictOf(text.slice(0, head)) !== "passed") reject(new Error(`not passed: ${text.slice(0, 80)}`));
          text = "";
          if (--left > 0) socket.write(request);
          else {
            socket.end();
            resolve();
          }
        },
        close: () => (left > 0 ? reject(new Error("the connection was closed")) : undefined),
      },
    }).catch(reject);
  });
}

const PATIENCE_MS = 10_000;
const CONNECTIONS = 4;
