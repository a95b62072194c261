// Fills a gateway's cache: asks for one path after the other, many at a time.
const SOCKETS = 8;
/** Requests that are under way on a connection. */
const AT_ONCE = 32;
const STATUS = Buffer.from("HTTP/1.1 200 ");

/** Asks for `/c/many/0` up to `/c/many/<count - 1>`; fails where one is not answered. */
export async function fillCache(port: number, count: number): Promise<void> {
  let next = 0;
  const share = () => (next < count ? `GET /c/many/${next++} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n` : "");
  await Promise.all(Array.from({ length: Math.min(SOCKETS, count) }, () => fillOver(port, share)));
}

async function fillOver(port: number, share: () => string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let waiting = 0;
  const askFor = (socket: Bun.Socket, most: number) => {
    let text = "";
    for (let i = 0; i < most; i++) {
      const request = share();
      if (request === "") break;
      waiting++;
      text += request;
    }
    if (text !== "") socket.write(text);
    if (waiting === 0) resolve();
  };
  let cut: Buffer = Buffer.alloc(0);
  const failed = () => reject(new Error("the gateway does not answer while its cache is filled"));
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (opened) => askFor(opened, AT_ONCE),
      data(opened, bytes) {
        const text = Buffer.concat([cut, bytes]);
        let answers = 0;
        let from = 0;
        for (let at = text.indexOf(STATUS); at >= 0; at = text.indexOf(STATUS, from)) {
          answers++;
          from = at + STATUS.length;
        }
        cut = Buffer.from(text.subarray(Math.max(from, text.length - STATUS.length + 1)));
        waiting -= answers;
        askFor(opened, answers);
      },
      close: failed,
      error: failed,
    },
  });
  try {
    await promise;
  } finally {
    socket.terminate();
  }
}
