import type { FlawedGateway, FlawedProtocol } from "./flawed-gateway.ts";

interface Head {
  readonly method: string;
  readonly prefix: string;
  readonly path: string;
  readonly lines: readonly string[];
  readonly end: number;
}

interface Body {
  /** As it is forwarded. */
  readonly bytes: Buffer;
  readonly end: number;
  /** False where the chunks are taken apart and a length is written instead. */
  readonly isRaw: boolean;
}

/** The HTTP/1.1 side of a flawed gateway. */
export class FlawedH1 implements FlawedProtocol {
  private isOver = false;

  constructor(
    private readonly gateway: FlawedGateway,
    private readonly socket: { write(bytes: Buffer | string): number; end(): void },
  ) {}

  async read(bytes: Buffer): Promise<number> {
    if (this.isOver) return bytes.length;
    const head = this.readHead(bytes);
    if (head === null) return 0;
    if (typeof head === "string") return this.refuse(bytes, head);
    const body = this.readBody(bytes, head);
    if (body === null) return 0;
    if (typeof body === "string") return this.refuse(bytes, body);
    const answer = await this.gateway.forward(
      head.prefix,
      this.headText(head, body),
      this.losesByte(body.bytes) ? body.bytes.subarray(0, -1) : body.bytes,
    );
    this.socket.write(answer ?? "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n");
    return body.end;
  }

  private readHead(bytes: Buffer): Head | string | null {
    const { flaw } = this.gateway;
    const at = bytes.indexOf("\r\n\r\n", 0, "latin1");
    if (at < 0) return null;
    let text = bytes.toString("latin1", 0, at);
    if (flaw === "joins folded lines") text = text.replace(/\r\n[ \t]+/g, " ");
    const [first = "", ...lines] = text.split("\r\n");
    const parts = /^([A-Z]+) (\/[a-z]+)(\/\S*) HTTP\/1\.1$/.exec(first);
    if (parts === null) return "request line";
    if (/[^\r]\n/.test(text) && flaw !== "passes a bare LF") return "bare LF";
    if (lines.some((line) => /^[ \t]/.test(line)) && flaw !== "passes folded lines") return "folded line";
    if (lines.some((line) => /^[^:\s]+[ \t]+:/.test(line)) && flaw !== "trusts names with a space behind them") {
      return "space before the colon";
    }
    return { method: parts[1]!, prefix: parts[2]!, path: parts[3]!, lines, end: at + 4 };
  }

  private readBody(bytes: Buffer, { lines, end }: Head): Body | string | null {
    const { flaw } = this.gateway;
    const value = (name: string) =>
      lines.find((line) => line.toLowerCase().startsWith(`${name}:`))?.slice(name.length + 1) ?? null;
    const length = value("content-length");
    const isChunked = value("transfer-encoding") !== null;
    if (length !== null && isChunked && !flaw?.startsWith("passes both lengths")) return "both lengths";
    if (isChunked && flaw !== "passes both lengths, counts by the length") return this.readChunks(bytes, end, length);
    const stop = end + Number(length ?? 0);
    return stop <= bytes.length ? { bytes: bytes.subarray(end, stop), end: stop, isRaw: true } : null;
  }

  private readChunks(bytes: Buffer, start: number, length: string | null): Body | string | null {
    const parts: Buffer[] = [];
    for (let at = start; ; ) {
      const lineEnd = bytes.indexOf("\r\n", at, "latin1");
      if (lineEnd < 0) return null;
      const line = bytes.toString("latin1", at, lineEnd);
      if (line.includes("\n") && this.gateway.flaw !== "reads chunk extensions up to a CRLF") return "bare LF";
      const size = Number.parseInt(line, 16);
      if (!(size >= 0)) return "chunk size";
      at = lineEnd + 2;
      if (size === 0) {
        // Forwarded as it came where it was not to be touched.
        const isRaw = length !== null || this.gateway.flaw === "reads chunk extensions up to a CRLF";
        return { bytes: isRaw ? bytes.subarray(start, at + 2) : Buffer.concat(parts), end: at + 2, isRaw };
      }
      parts.push(bytes.subarray(at, at + size));
      at += size + 2;
    }
  }

  private headText({ method, prefix, path, lines }: Head, { bytes, isRaw }: Body): string {
    const { flaw } = this.gateway;
    const target = flaw === "keeps the prefix" && path === "/health" ? prefix + path : path;
    let kept = lines;
    if (!isRaw) {
      kept = [...lines.filter((line) => !/^transfer-encoding:/i.test(line)), `Content-Length: ${bytes.length}`];
    } else if (this.losesByte(bytes)) {
      kept = lines.map((line) => (line.startsWith("Content-Length") ? `Content-Length: ${bytes.length - 1}` : line));
    }
    return `${[`${method} ${target} HTTP/1.1`, ...kept].join("\r\n")}\r\n\r\n`;
  }

  private losesByte(body: Buffer): boolean {
    return this.gateway.flaw === "loses the last byte of a longer body" && body.length > SHORT_BODY_BYTES;
  }

  private async refuse(bytes: Buffer, why: string): Promise<number> {
    const { flaw } = this.gateway;
    this.gateway.refusals++;
    if (flaw === "refuses, but forwards all the same") {
      const [, method = "", prefix = "/node", rest = ""] = /^([A-Z]+) (\/[a-z]+)(.*)$/s.exec(bytes.toString("latin1"))!;
      await this.gateway.push(prefix, Buffer.from(`${method} ${rest}`, "latin1"));
    }
    this.socket.write(`HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: ${why.length}\r\n\r\n${why}`);
    if (flaw === "refuses, and runs what is behind") {
      const next = bytes.indexOf("GET ", 5, "latin1");
      return next < 0 ? bytes.length : next;
    }
    this.isOver = true;
    if (flaw !== "refuses, but stays open") this.socket.end();
    return bytes.length;
  }
}

/** The harness asks with shorter bodies beside its vectors. */
const SHORT_BODY_BYTES = 40;
