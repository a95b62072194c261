import { copyBytes } from "../../core/bytes.ts";
import {
  ACK,
  type ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  type FrameOutput,
  FrameType,
  writeFrameHeader,
  writeUint32,
} from "./frame.ts";

/** A setting and its value. */
export type H2Setting = readonly [id: number, value: number];

/** Writes SETTINGS. RFC 9113 §6.5. */
export function writeSettings(out: FrameOutput, settings: readonly H2Setting[]): void {
  const length = settings.length * 6;
  const buffer = out.reserve(FRAME_HEADER_BYTES + length);
  let at = writeFrameHeader(buffer, out.offset, length, FrameType.Settings, Flag.None, 0);
  for (const [id, value] of settings) {
    buffer[at] = id >>> 8;
    buffer[at + 1] = id;
    at = writeUint32(buffer, at + 2, value);
  }
  out.commit(at);
}

/** Acknowledges the peer's SETTINGS. */
export function writeSettingsAck(out: FrameOutput): void {
  const buffer = out.reserve(FRAME_HEADER_BYTES);
  out.commit(writeFrameHeader(buffer, out.offset, 0, FrameType.Settings, ACK, 0));
}

/** Acknowledges a PING with its own eight bytes. RFC 9113 §6.7. */
export function writePingAck(out: FrameOutput, bytes: Uint8Array, from: number): void {
  const buffer = out.reserve(FRAME_HEADER_BYTES + 8);
  const at = writeFrameHeader(buffer, out.offset, 8, FrameType.Ping, ACK, 0);
  out.commit(copyBytes(buffer, at, bytes, from, from + 8));
}

/** Opens a window. RFC 9113 §6.9. @param streamId 0 is the connection's */
export function writeWindowUpdate(out: FrameOutput, streamId: number, increment: number): void {
  const buffer = out.reserve(FRAME_HEADER_BYTES + 4);
  const at = writeFrameHeader(buffer, out.offset, 4, FrameType.WindowUpdate, Flag.None, streamId);
  out.commit(writeUint32(buffer, at, increment));
}

/** Resets a stream. RFC 9113 §6.4. */
export function writeReset(out: FrameOutput, streamId: number, code: ErrorCode): void {
  const buffer = out.reserve(FRAME_HEADER_BYTES + 4);
  const at = writeFrameHeader(buffer, out.offset, 4, FrameType.RstStream, Flag.None, streamId);
  out.commit(writeUint32(buffer, at, code));
}

/** Says that streams beyond `lastStreamId` are not served. RFC 9113 §6.8. */
export function writeGoAway(out: FrameOutput, lastStreamId: number, code: ErrorCode): void {
  const buffer = out.reserve(FRAME_HEADER_BYTES + 8);
  const at = writeFrameHeader(buffer, out.offset, 8, FrameType.GoAway, Flag.None, 0);
  out.commit(writeUint32(buffer, writeUint32(buffer, at, lastStreamId), code));
}
