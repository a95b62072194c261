import { Flag, FrameType } from "../../../../src/proto/h2/frame.ts";
import { encodeHopFrame, type Frame, payloadContent, readFrames } from "../../../../src/tools/multihop/h2-frames.ts";
import { encodeLiterals } from "../../../../src/tools/multihop/hpack-literals.ts";
import type { FlawedGateway, FlawedProtocol } from "./flawed-gateway.ts";

type Field = readonly [string, string];

interface Stream {
  readonly fields: readonly Field[];
  readonly body: Buffer[];
}

/** The HTTP/2 side of a flawed gateway: it writes HTTP/1.1 for what it takes. */
export class FlawedH2 implements FlawedProtocol {
  private readonly streams: Map<number, Stream> = new Map();

  constructor(
    private readonly gateway: FlawedGateway,
    private readonly socket: { write(bytes: Buffer): number },
  ) {}

  async read(bytes: Buffer): Promise<number> {
    if (bytes.toString("latin1", 0, 3) === "PRI") {
      if (bytes.length < PREFACE_BYTES) return 0;
      this.socket.write(encodeHopFrame(FrameType.Settings, 0, 0, Buffer.alloc(0)));
      return PREFACE_BYTES;
    }
    const [frame] = readFrames(bytes);
    if (frame === undefined) return 0;
    await this.take(frame);
    return FRAME_HEAD_BYTES + frame.payload.length;
  }

  private async take(frame: Frame): Promise<void> {
    if (frame.type === FrameType.Headers) {
      this.streams.set(frame.stream, { fields: decodeFields(payloadContent(frame)), body: [] });
    }
    if (frame.type === FrameType.Data) this.streams.get(frame.stream)?.body.push(payloadContent(frame));
    const isRequest = frame.type === FrameType.Headers || frame.type === FrameType.Data;
    if (isRequest && (frame.flags & Flag.EndStream) !== 0) await this.answer(frame.stream);
  }

  private async answer(number: number): Promise<void> {
    const { fields, body } = this.streams.get(number)!;
    const bytes = Buffer.concat(body);
    if (this.isFaulty(fields, bytes.length)) {
      this.socket.write(encodeHopFrame(FrameType.RstStream, 0, number, Buffer.from([0, 0, 0, 1])));
      return;
    }
    const [, prefix = "", path = ""] = /^(\/[a-z]+)(.*)$/s.exec(fieldOf(fields, ":path"))!;
    const answer = await this.gateway.forward(prefix, this.headText(fields, path, bytes.length), bytes);
    const text = answer?.toString("latin1") ?? "HTTP/1.1 504 Gateway Timeout\r\n\r\n";
    const status = text.slice(9, 12);
    const content = Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4), "latin1");
    this.socket.write(
      encodeHopFrame(FrameType.Headers, Flag.EndHeaders, number, encodeLiterals([[":status", status]])),
    );
    this.socket.write(encodeHopFrame(FrameType.Data, Flag.EndStream, number, content));
  }

  private isFaulty(fields: readonly Field[], bodyBytes: number): boolean {
    const { flaw } = this.gateway;
    const lengths = fields.filter(([name]) => name === "content-length").map(([, value]) => Number(value));
    const has = (fault: boolean, pardon: typeof flaw) => fault && flaw !== pardon;
    if (has(fieldOf(fields, "transfer-encoding") !== "", "passes Transfer-Encoding from HTTP/2")) return true;
    if (
      has(
        fields.some(([, value]) => /[\r\n]/.test(value)),
        "passes CR and LF from HTTP/2",
      )
    )
      return true;
    if (flaw === "refuses pseudo-headers from HTTP/2" && fieldOf(fields, ":protocol") !== "") return true;
    if (lengths.length > 1) return flaw !== "passes two lengths from HTTP/2";
    return has(lengths.length === 1 && lengths[0] !== bodyBytes, "passes a wrong length from HTTP/2");
  }

  private headText(fields: readonly Field[], path: string, bodyBytes: number): string {
    const isPassed = ([name]: Field) =>
      !name.startsWith(":") ||
      (this.gateway.flaw === "passes pseudo-headers from HTTP/2" && !BASIC_PSEUDO_FIELDS.includes(name));
    const lines = fields.filter(isPassed).map(([name, value]) => `${name}: ${value}`);
    const isFramed = lines.some((line) => /^(content-length|transfer-encoding):|\r\ntransfer-encoding/.test(line));
    if (bodyBytes > 0 && !isFramed) lines.push(`content-length: ${bodyBytes}`);
    const start = `${fieldOf(fields, ":method")} ${path} HTTP/1.1\r\nhost: ${fieldOf(fields, ":authority")}`;
    return `${[start, ...lines].join("\r\n")}\r\n\r\n`;
  }
}

/** The literals that the harness writes, and nothing else. */
function decodeFields(block: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const text = (): string => {
    let length = block[at++]! & 0x7f;
    if (length === 0x7f) {
      for (let shift = 0; ; shift += 7) {
        const byte = block[at++]!;
        length += (byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
    }
    at += length;
    return block.toString("latin1", at - length, at);
  };
  while (at < block.length) {
    at++;
    fields.push([text(), text()]);
  }
  return fields;
}

function fieldOf(fields: readonly Field[], name: string): string {
  return fields.find(([each]) => each === name)?.[1] ?? "";
}

const BASIC_PSEUDO_FIELDS = [":method", ":scheme", ":authority", ":path"];
const PREFACE_BYTES = 24;
const FRAME_HEAD_BYTES = 9;
