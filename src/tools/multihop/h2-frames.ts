import { Flag, FrameType } from "../../proto/h2/frame.ts";
import { encodeLiterals } from "./hpack-literals.ts";
import type { H2Request } from "./vector.ts";

/** One frame. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

const FRAME_HEAD_BYTES = 9;

/** Prior knowledge: the preface and SETTINGS that forbid a dynamic table and pushes. RFC 9113 §3.4, §6.5.2. */
export const CLIENT_PREFACE: Buffer = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  encodeHopFrame(FrameType.Settings, 0, 0, Buffer.from([0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0])),
]);

/** Encodes one frame. RFC 9113 §4.1. */
export function encodeHopFrame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** HEADERS, and DATA if there is a body, as they are: nothing is checked. */
export function encodeRequest(stream: number, { fields, body }: H2Request): Buffer {
  const flags = Flag.EndHeaders | (body === null ? Flag.EndStream : 0);
  const head = encodeHopFrame(FrameType.Headers, flags, stream, encodeLiterals(fields));
  return body === null ? head : Buffer.concat([head, encodeHopFrame(FrameType.Data, Flag.EndStream, stream, body)]);
}

/** The whole frames in `bytes`; an unfinished last one is left out. */
export function readFrames(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + FRAME_HEAD_BYTES <= bytes.length; ) {
    const end = at + FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    const payload = bytes.subarray(at + FRAME_HEAD_BYTES, end);
    const stream = bytes.readUInt32BE(at + 5) & 0x7fffffff;
    frames.push({ type: bytes[at + 3]!, flags: bytes[at + 4]!, stream, payload });
    at = end;
  }
  return frames;
}

/** The payload of HEADERS or DATA without padding and priority. RFC 9113 §6.1, §6.2. */
export function payloadContent({ type, flags, payload }: Frame): Buffer {
  let from = 0;
  let padding = 0;
  if (type === FrameType.Continuation) return payload;
  if ((flags & Flag.Padded) !== 0) padding = payload[from++] ?? 0;
  if (type === FrameType.Headers && (flags & Flag.Priority) !== 0) from += 5;
  return payload.subarray(from, Math.max(from, payload.length - padding));
}

/** The name of an error code. RFC 9113 §7. */
export function errorName(code: number): string {
  return ERROR_NAMES[code] ?? `error ${code}`;
}

const ERROR_NAMES = [
  ...["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED"],
  ...["FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"],
  ...["INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"],
];
