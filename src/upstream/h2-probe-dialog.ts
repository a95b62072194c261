import { FaultDetail } from "../core/fault-detail.ts";
import { MAX_RESPONSE_HEAD_BYTES } from "../core/limits.ts";
import { ResponseHead } from "../message/request-head.ts";
import { Flag, FRAME_HEADER_BYTES, FrameType, PREFACE, SettingId } from "../proto/h2/frame.ts";
import { FrameEvent, FrameReader } from "../proto/h2/frame-reader.ts";
import { writeSettings } from "../proto/h2/frame-writer.ts";
import { commitHeaders } from "../proto/h2/header-frames.ts";
import { encodeRequestBlock } from "../proto/h2/request-block.ts";
import { ResponseHeadReader } from "../proto/h2/response-head-reader.ts";
import { HpackDecoder } from "../proto/hpack/decoder.ts";
import { HpackEncoder } from "../proto/hpack/encoder.ts";
import { LineBuffer } from "../proto/hpack/line-buffer.ts";
import { h2OpeningDetail, latenessDetail } from "./failure-detail.ts";
import { ProbeBody } from "./probe-body.ts";
import { type ProbeDialog, ProbeFailure } from "./probe-dialog.ts";

const OPENING_BYTES = 9;
const ROOM_BYTES = 32_768;
const TABLE_BYTES = 4096;

/** A probe's request and response by HTTP/2: one stream, of which it reads the head of the response, and the beginning of its body if the check needs it. */
export class H2ProbeDialog implements ProbeDialog {
  readonly request: Buffer;
  private readonly reader = new FrameReader();
  private readonly decoder = new HpackDecoder(TABLE_BYTES);
  private readonly heads: ResponseHeadReader;
  private readonly wanted: ProbeBody | null;
  /** Bytes of all frames before the body so far. */
  private received = 0;
  /** Of the final response, whose body is awaited; 0 before it. */
  private status = 0;
  /** The first bytes, of a length that says what protocol the origin speaks. */
  private opening: Buffer = Buffer.alloc(0);
  private hasFrame = false;
  /** How the origin has ended the request with. */
  private ending: FaultDetail = FaultDetail.H2Protocol;

  /**
   * @param head the request's head as HTTP/1.1 has it
   * @param readsBody whether the probe reads the body
   */
  constructor(head: Buffer, readsBody: boolean, isTls: boolean, maxFields: number) {
    this.wanted = readsBody ? new ProbeBody() : null;
    this.heads = new ResponseHeadReader(maxFields);
    const out = new Gathered();
    writeSettings(out, [[SettingId.EnablePush, 0]]);
    const at = out.offset + FRAME_HEADER_BYTES;
    const end = encodeRequestBlock(new HpackEncoder(), out.bytes, at, head, head.length, isTls);
    commitHeaders(out, out.bytes, end, 1, Flag.EndStream);
    this.request = Buffer.concat([PREFACE, out.bytes.subarray(0, out.offset)]);
  }

  body(): string {
    return this.wanted?.text() ?? "";
  }

  take(chunk: Buffer): number {
    const { reader } = this;
    if (this.opening.length < OPENING_BYTES)
      this.opening = Buffer.concat([this.opening, chunk.subarray(0, OPENING_BYTES - this.opening.length)]);
    reader.feed(chunk, 0);
    if (this.status === 0) this.received += chunk.length;
    for (;;) {
      const event = reader.next();
      if (event === FrameEvent.NeedMore) return this.received > MAX_RESPONSE_HEAD_BYTES ? -1 : 0;
      if (event === FrameEvent.TooLarge) return -1;
      const status = event === FrameEvent.DataPiece ? this.takeData() : this.takeFrame();
      if (status !== 0) return status;
    }
  }

  close(): number {
    return 0;
  }

  causeOf(failure: ProbeFailure): FaultDetail {
    const hasBegun = this.opening.length > 0;
    if (failure === ProbeFailure.Late) return latenessDetail(this.status > 0, hasBegun);
    if (hasBegun && !this.hasFrame) return h2OpeningDetail(this.opening);
    if (failure === ProbeFailure.Malformed) return this.ending;
    const isReset = failure === ProbeFailure.Reset;
    if (this.status > 0) return isReset ? FaultDetail.ResetInBody : FaultDetail.ClosedInBody;
    return isReset ? FaultDetail.ResetBeforeHead : FaultDetail.ClosedBeforeHead;
  }

  private takeFrame(): number {
    const { reader } = this;
    this.hasFrame ||= reader.type === FrameType.Settings;
    if (reader.type === FrameType.GoAway) return this.refuse(FaultDetail.H2GoAway);
    if (reader.streamId === 1 && reader.type === FrameType.RstStream) return this.refuse(FaultDetail.H2Reset);
    if (reader.type !== FrameType.Headers) return 0;
    const isLast = (reader.flags & Flag.EndStream) !== 0;
    // Trailers end a body.
    if (this.status > 0) return isLast ? this.status : -1;
    const status = this.readHead();
    if (status < 200 && status >= 0) return 0;
    if (status < 0 || this.wanted === null || isLast) return status;
    this.status = status;
    return 0;
  }

  /** A piece of the body; its padding counts as a part of it, since no origin pads the response to a health check. */
  private takeData(): number {
    const { reader, wanted } = this;
    if (this.status === 0 || wanted === null || reader.streamId !== 1) return 0;
    const isFull = wanted.take(reader.bytes, reader.from, reader.to);
    return isFull || (reader.isLast && (reader.flags & Flag.EndStream) !== 0) ? this.status : 0;
  }

  private refuse(detail: FaultDetail): number {
    this.ending = detail;
    return -1;
  }

  private readHead(): number {
    const { reader, decoder, heads } = this;
    let { from, to } = reader;
    if ((reader.flags & Flag.EndHeaders) === 0) return -1;
    if ((reader.flags & Flag.Padded) !== 0) to -= reader.bytes[from++]!;
    if ((reader.flags & Flag.Priority) !== 0) from += 5;
    if (from > to) return -1;
    decoder.begin(reader.bytes, from, to);
    return heads.read(decoder, new LineBuffer(), new ResponseHead()) ? heads.status : -1;
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
