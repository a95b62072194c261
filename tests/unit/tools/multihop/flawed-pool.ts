import type { Socket } from "bun";

interface PooledConnection {
  socket: Socket<PooledConnection>;
  bytes: Buffer;
  isOpen: boolean;
  wake: () => void;
}

/** Kept connections to one origin. What an answer leaves behind is the next user's: that is how a pool is poisoned. */
export class FlawedPool {
  private readonly idle: PooledConnection[] = [];

  /** @param keepsUnanswered whether a connection whose answer did not come is used again */
  constructor(
    private readonly port: number,
    private readonly keepsUnanswered: boolean,
  ) {}

  /** Sends a request and gives the answer; null when none comes in time. */
  async exchange(request: Buffer): Promise<Buffer | null> {
    const connection = await this.take();
    connection.socket.write(request);
    let deadline = performance.now() + ANSWER_MS;
    let isLate = false;
    for (;;) {
      const end = endOfAnswer(connection.bytes);
      if (end > 0) {
        const answer = connection.bytes.subarray(0, end);
        connection.bytes = connection.bytes.subarray(end);
        if (connection.isOpen) this.idle.push(connection);
        return answer;
      }
      const left = deadline - performance.now();
      if (left <= 0 && connection.isOpen && !isLate) {
        isLate = true;
        deadline = performance.now() + UNREAD_MS;
        continue;
      }
      if (left <= 0 || !connection.isOpen) {
        if (this.keepsUnanswered && connection.isOpen) this.idle.push(connection);
        else connection.socket.terminate();
        return null;
      }
      await Promise.race([new Promise<void>((wake) => (connection.wake = wake)), Bun.sleep(left)]);
    }
  }

  /** Sends bytes and keeps the connection, whatever comes of them. */
  async push(bytes: Buffer): Promise<void> {
    const connection = await this.take();
    connection.socket.write(bytes);
    this.idle.push(connection);
  }

  private async take(): Promise<PooledConnection> {
    for (;;) {
      const connection = this.idle.pop();
      if (connection === undefined) return this.connect();
      if (connection.isOpen) return connection;
    }
  }

  private async connect(): Promise<PooledConnection> {
    const data = { bytes: Buffer.alloc(0), isOpen: true, wake: () => {} } as Omit<PooledConnection, "socket">;
    const connection = data as PooledConnection;
    connection.socket = await Bun.connect<PooledConnection>({
      hostname: "127.0.0.1",
      port: this.port,
      data: connection,
      socket: {
        data: (socket, chunk) => {
          socket.data.bytes = Buffer.concat([socket.data.bytes, chunk]);
          socket.data.wake();
        },
        close: (socket) => {
          socket.data.isOpen = false;
          socket.data.wake();
        },
      },
    });
    return connection;
  }
}

/** Simulated origins always say how long an answer is. */
function endOfAnswer(bytes: Buffer): number {
  const head = bytes.indexOf("\r\n\r\n", 0, "latin1");
  if (head < 0) return 0;
  const length = Number(/content-length: (\d+)/i.exec(bytes.toString("latin1", 0, head))?.[1] ?? 0);
  const end = head + 4 + length;
  return end <= bytes.length ? end : 0;
}

/** Longer than an origin in this process ever takes. */
const ANSWER_MS = 1500;
/** Bytes may be there that this process, which has stood still, has not come to read. */
const UNREAD_MS = 50;
