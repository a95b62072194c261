import { MAX_RESPONSE_HEAD_BYTES } from "../core/limits.ts";
import { ReplyHead } from "../message/request-head.ts";
import { Flag, FRAME_HEADER_BYTES, FrameType, PREFACE, SettingId } from "../proto/h2/frame.ts";
import { FrameEvent, FrameReader } from "../proto/h2/frame-reader.ts";
import { writeSettings } from "../proto/h2/frame-writer.ts";
import { commitHeaders } from "../proto/h2/header-frames.ts";
import { encodeRequestBlock } from "../proto/h2/request-block.ts";
import { ResponseHeadReader } from "../proto/h2/response-head-reader.ts";
import { HpackDecoder } from "../proto/hpack/decoder.ts";
import { HpackEncoder } from "../proto/hpack/encoder.ts";
import { LineBuffer } from "../proto/hpack/line-buffer.ts";
import type { ProbeDialog } from "./probe-dialog.ts";

const ROOM_BYTES = 32_768;
const TABLE_BYTES = 4096;

/** A probe's request and response by HTTP/2: one stream, of which the head of the response is read and no more. */
export class H2ProbeDialog implements ProbeDialog {
  readonly request: Buffer;
  private readonly reader = new FrameReader();
  private readonly decoder = new HpackDecoder(TABLE_BYTES);
  private readonly heads: ResponseHeadReader;
  /** Bytes of all frames so far. */
  private received = 0;

  /** @param head the request's head as HTTP/1.1 has it */
  constructor(head: Buffer, isTls: boolean, maxFields: number) {
    this.heads = new ResponseHeadReader(maxFields);
    const out = new Gathered();
    writeSettings(out, [[SettingId.EnablePush, 0]]);
    const at = out.offset + FRAME_HEADER_BYTES;
    const end = encodeRequestBlock(new HpackEncoder(), out.bytes, at, head, head.length, isTls);
    commitHeaders(out, out.bytes, end, 1, Flag.EndStream);
    this.request = Buffer.concat([PREFACE, out.bytes.subarray(0, out.offset)]);
  }

  take(chunk: Buffer): number {
    const { reader } = this;
    reader.feed(chunk, 0);
    this.received += chunk.length;
    for (;;) {
      const event = reader.next();
      if (event === FrameEvent.NeedMore) return this.received > MAX_RESPONSE_HEAD_BYTES ? -1 : 0;
      const isOver = reader.type === FrameType.GoAway || (reader.type === FrameType.RstStream && reader.streamId === 1);
      if (event === FrameEvent.TooLarge || isOver) return -1;
      if (event !== FrameEvent.Frame || reader.type !== FrameType.Headers) continue;
      const status = this.readHead();
      if (status < 0 || status >= 200) return status;
    }
  }

  private readHead(): number {
    const { reader, decoder, heads } = this;
    let { from, to } = reader;
    if ((reader.flags & Flag.EndHeaders) === 0) return -1;
    if ((reader.flags & Flag.Padded) !== 0) to -= reader.bytes[from++]!;
    if ((reader.flags & Flag.Priority) !== 0) from += 5;
    if (from > to) return -1;
    decoder.begin(reader.bytes, from, to);
    return heads.read(decoder, new LineBuffer(), new ReplyHead()) ? heads.status : -1;
  }
}

/** Frames one after the other. */
class Gathered {
  readonly bytes: Buffer = Buffer.alloc(ROOM_BYTES);
  offset = 0;

  reserve(): Buffer {
    return this.bytes;
  }

  commit(end: number): void {
    this.offset = end;
  }
}
