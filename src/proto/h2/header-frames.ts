import { copyBytes } from "../../core/bytes.ts";
import {
  DEFAULT_MAX_FRAME_BYTES,
  Flag,
  FRAME_HEADER_BYTES,
  type FrameOutput,
  FrameType,
  writeFrameHeader,
} from "./frame.ts";

/**
 * Finishes HEADERS whose block has been written into reserved room, FRAME_HEADER_BYTES after the output's offset: one
 * frame, and CONTINUATION where the block is too large for it. RFC 9113 §6.2, §6.10.
 * @param out the room
 * @param end where the block ends
 * @param flags END_STREAM or none
 */
export function commitHeaders(output: FrameOutput, out: Buffer, end: number, streamId: number, flags: number): void {
  const from = output.offset;
  const length = end - from - FRAME_HEADER_BYTES;
  if (length <= DEFAULT_MAX_FRAME_BYTES) {
    writeFrameHeader(out, from, length, FrameType.Headers, flags | Flag.EndHeaders, streamId);
    output.commit(end);
    return;
  }
  const block = Buffer.from(out.subarray(from + FRAME_HEADER_BYTES, end));
  const room = output.reserve(length + FRAME_HEADER_BYTES * Math.ceil(length / DEFAULT_MAX_FRAME_BYTES));
  let at = output.offset;
  for (let sent = 0; sent < length; ) {
    const part = Math.min(DEFAULT_MAX_FRAME_BYTES, length - sent);
    const last = sent + part === length ? Flag.EndHeaders : Flag.None;
    const type = sent === 0 ? FrameType.Headers : FrameType.Continuation;
    at = writeFrameHeader(room, at, part, type, sent === 0 ? flags | last : last, streamId);
    at = copyBytes(room, at, block, sent, sent + part);
    sent += part;
  }
  output.commit(at);
}
