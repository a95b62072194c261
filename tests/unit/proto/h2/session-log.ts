import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ErrorCode, FrameOutput } from "../../../../src/proto/h2/frame.ts";
import { Session, type SessionOwner } from "../../../../src/proto/h2/session.ts";

/** A stream of frames and what a server makes of it. */
export interface SessionVector {
  readonly name: string;
  /** Frames as hexadecimal digits; what stands behind the preface and an empty SETTINGS. A pair is repeated. */
  readonly frames: readonly (string | readonly [hex: string, times: number])[];
  /** Events; a pair is repeated. */
  readonly log: readonly (string | readonly [line: string, times: number])[];
}

/** The vectors in tests/vectors/h2. */
export function sessionVectors(): SessionVector[] {
  const text = readFileSync(join(import.meta.dir, "../../../vectors/h2/sessions.jsonl"), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as SessionVector);
}

/** The bytes that a client of this vector sends, preface and all. */
export function sessionBytes(vector: SessionVector): Buffer {
  const hex = vector.frames.map((part) => (typeof part === "string" ? part : part[0].repeat(part[1]))).join("");
  return Buffer.concat([START, Buffer.from(hex.replace(/ /g, ""), "hex")]);
}

/** The events of a vector. */
export function expectedLog(vector: SessionVector): string[] {
  return vector.log.flatMap((line) => (typeof line === "string" ? [line] : new Array(line[1]).fill(line[0])));
}

/** What the owner of a server's session hears, one line an event; neighbouring DATA of one stream is one line. */
export function sessionLog(pieces: readonly Uint8Array[]): string[] {
  const recorder = new Recorder();
  for (const piece of pieces) recorder.session.receive(piece);
  return recorder.lines;
}

const START: Buffer = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from("000000040000000000", "hex"),
]);

class Recorder implements SessionOwner {
  readonly lines: string[] = [];
  readonly session: Session;
  private begun = 0;
  private dataOf = 0;
  private data = "";

  constructor() {
    const init = { isServer: true, maxBlockBytes: 4096, windowBytes: 65535, turn: { nowMs: 1000 } };
    this.session = new Session(init, this, new Discarded());
  }

  onHeaderBlock(streamId: number, isEnd: boolean, bytes: Uint8Array, from: number, to: number): void {
    if (streamId > this.begun) this.begun = streamId;
    const hex = Buffer.from(bytes.subarray(from, to)).toString("hex");
    this.add(`headers ${streamId} ${hex.length > 64 ? `${hex.length / 2} bytes` : hex}${isEnd ? " end" : ""}`);
  }

  onData(streamId: number, bytes: Uint8Array, from: number, to: number, _flowBytes: number, isEnd: boolean): void {
    if (this.dataOf !== streamId) this.flush();
    this.dataOf = streamId;
    this.data += Buffer.from(bytes.subarray(from, to)).toString("latin1");
    if (isEnd) this.flush(" end");
  }

  onStreamReset(streamId: number, code: ErrorCode): void {
    this.add(`reset ${streamId} ${code}`);
  }

  onStreamWindow(streamId: number, increment: number): void {
    this.add(`window ${streamId} +${increment}`);
  }

  onConnectionWindow(): void {
    this.add(`window 0 =${this.session.sendWindow}`);
  }

  onInitialWindow(delta: number): boolean {
    this.add(`windows ${delta}`);
    return true;
  }

  onPeerSettings(): void {
    this.add("settings");
  }

  onGoAway(lastStreamId: number, code: ErrorCode): void {
    this.add(`goaway ${lastStreamId} ${code}`);
  }

  onSessionFault(code: ErrorCode): void {
    this.add(`fault ${code}`);
  }

  isIdle(streamId: number): boolean {
    return streamId > this.begun;
  }

  private add(line: string): void {
    this.flush();
    this.lines.push(line);
  }

  private flush(end = ""): void {
    if (this.dataOf > 0 && (this.data !== "" || end !== "")) {
      const { data } = this;
      this.lines.push(`data ${this.dataOf} ${data.length > 64 ? `${data.length} bytes` : JSON.stringify(data)}${end}`);
    }
    this.dataOf = 0;
    this.data = "";
  }
}

/** Takes frames and forgets them. */
class Discarded implements FrameOutput {
  readonly offset = 0;

  reserve(length: number): Buffer {
    return Buffer.alloc(length);
  }

  commit(): void {}
}
