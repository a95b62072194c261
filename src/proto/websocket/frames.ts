/** RFC 6455 §11.8. */
export const enum Opcode {
  Continuation = 0,
  Text = 1,
  Binary = 2,
  Close = 8,
  Ping = 9,
  Pong = 10,
}

/** Why a connection closes. RFC 6455 §7.4.1; those from 4000 on are for applications. */
export const enum CloseCode {
  Normal = 1000,
  GoingAway = 1001,
  ProtocolError = 1002,
  Unsupported = 1003,
  /** There was none: never sent. */
  None = 1005,
  NotText = 1007,
  Refused = 1008,
  TooBig = 1009,
}

/** Bytes that a frame of control may carry. RFC 6455 §5.5. */
export const MAX_CONTROL_BYTES = 125;

/** One frame of a server, which is not masked. RFC 6455 §5.2. */
export function encodeWebSocketFrame(opcode: Opcode, payload: Uint8Array): Buffer {
  const { length } = payload;
  const wide = length > 0xffff ? 8 : length > MAX_CONTROL_BYTES ? 2 : 0;
  const frame = Buffer.allocUnsafe(2 + wide + length);
  frame[0] = FIN | opcode;
  frame[1] = wide === 0 ? length : wide === 2 ? 126 : 127;
  if (wide === 2) frame.writeUInt16BE(length, 2);
  else if (wide === 8) {
    frame.writeUInt32BE(0, 2);
    frame.writeUInt32BE(length, 6);
  }
  frame.set(payload, 2 + wide);
  return frame;
}

/** A frame that closes. @param reason is cut to what fits, between two characters */
export function encodeClose(code: CloseCode | number, reason: string): Buffer {
  let text = Buffer.from(reason, "utf8");
  if (text.length > MAX_CONTROL_BYTES - 2) {
    let end = MAX_CONTROL_BYTES - 2;
    while ((text[end]! & 0xc0) === 0x80) end--;
    text = text.subarray(0, end);
  }
  const payload = Buffer.allocUnsafe(2 + text.length);
  payload.writeUInt16BE(code, 0);
  payload.set(text, 2);
  return encodeWebSocketFrame(Opcode.Close, payload);
}

const FIN = 0x80;
