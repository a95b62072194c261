/** RFC 9113 §6: the kinds of frames. */
export const enum FrameType {
  Data = 0,
  Headers,
  Priority,
  RstStream,
  Settings,
  PushPromise,
  Ping,
  GoAway,
  WindowUpdate,
  Continuation,
}

/** RFC 9113 §6: flags; in SETTINGS and PING the bit of `EndStream` is ACK. */
export const enum Flag {
  None = 0,
  EndStream = 0x1,
  EndHeaders = 0x4,
  Padded = 0x8,
  Priority = 0x20,
}

/** RFC 9113 §7. */
export const enum ErrorCode {
  NoError = 0,
  ProtocolError,
  InternalError,
  FlowControlError,
  SettingsTimeout,
  StreamClosed,
  FrameSizeError,
  RefusedStream,
  Cancel,
  CompressionError,
  ConnectError,
  EnhanceYourCalm,
}

/** RFC 9113 §6.5.2, RFC 8441 §3. */
export const enum SettingId {
  HeaderTableSize = 1,
  EnablePush,
  MaxConcurrentStreams,
  InitialWindowSize,
  MaxFrameSize,
  MaxHeaderListSize,
  EnableConnectProtocol = 8,
}

export const ACK = 0x1;
export const FRAME_HEADER_BYTES = 9;
/** Payload that every peer must take, and the most that we take. RFC 9113 §4.2. */
export const DEFAULT_MAX_FRAME_BYTES = 16384;
export const DEFAULT_WINDOW_BYTES = 65535;
export const MAX_WINDOW_BYTES = 0x7fffffff;

/** A client's preface. RFC 9113 §3.4. */
export const PREFACE: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** An output for frames: the writer reserves room, fills it and commits it. */
export interface FrameOutput {
  /** @param length at most how many bytes will be written from `offset` on */
  reserve(length: number): Buffer;
  readonly offset: number;
  /** Takes the written bytes up to `end`. */
  commit(end: number): void;
}

/** Writes a frame's header. RFC 9113 §4.1. @returns the offset of its payload */
export function writeFrameHeader(
  out: Buffer,
  at: number,
  length: number,
  type: FrameType,
  flags: number,
  streamId: number,
): number {
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = type;
  out[at + 4] = flags;
  writeUint32(out, at + 5, streamId);
  return at + FRAME_HEADER_BYTES;
}

/** Writes 32 bits. @returns the offset after them */
export function writeUint32(out: Buffer, at: number, value: number): number {
  out[at] = value >>> 24;
  out[at + 1] = value >>> 16;
  out[at + 2] = value >>> 8;
  out[at + 3] = value;
  return at + 4;
}

/** Reads 32 bits without the first one, which is reserved wherever this is used. */
export function readUint31(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! & 0x7f) << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
}
