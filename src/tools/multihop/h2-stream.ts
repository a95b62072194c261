import { Flag, FrameType } from "../../proto/h2/frame.ts";
import { errorName, type Frame, payloadContent } from "./h2-frames.ts";
import { statusOf } from "./hpack-literals.ts";

/** What a connection's frames say about one stream. */
export interface ReadStream {
  /** Of the final response; 0 while there is none. */
  readonly status: number;
  readonly body: Buffer;
  /** `RST_STREAM …` or `GOAWAY …`; "" without an error. */
  readonly reset: string;
  /** Whether nothing more is to be expected. */
  readonly isOver: boolean;
}

/** Reads the response of one stream. */
export function readStream(frames: readonly Frame[], stream: number): ReadStream {
  const body: Buffer[] = [];
  let status = 0;
  let reset = "";
  let hasEnded = false;
  let block: Buffer[] = [];
  for (const frame of frames) {
    if (frame.type === FrameType.GoAway) reset ||= goAway(frame, stream);
    if (frame.stream !== stream) continue;
    if (frame.type === FrameType.RstStream) {
      const code = frame.payload.length < 4 ? FRAME_SIZE_ERROR : frame.payload.readUInt32BE(0);
      // What was answered in full may be followed by a request to send no more. RFC 9113 §8.1.
      if (!hasEnded || code !== 0) reset ||= `RST_STREAM ${errorName(code)}`;
    }
    if (frame.type === FrameType.Data) body.push(payloadContent(frame));
    if (frame.type === FrameType.Headers || frame.type === FrameType.Continuation) {
      block.push(payloadContent(frame));
      if ((frame.flags & Flag.EndHeaders) !== 0) {
        const found = statusOf(Buffer.concat(block));
        // Interim responses give way to the final one; trailers have no status.
        if (status < 200 && found > 0) status = found;
        block = [];
      }
    }
    const canEnd = frame.type === FrameType.Headers || frame.type === FrameType.Data;
    if (canEnd && (frame.flags & Flag.EndStream) !== 0) hasEnded = true;
  }
  return { status, body: Buffer.concat(body), reset, isOver: hasEnded || reset !== "" };
}

/** A connection error, or the announcement that this stream will not be served. RFC 9113 §6.8. */
function goAway({ payload }: Frame, stream: number): string {
  if (payload.length < 8) return `GOAWAY ${errorName(FRAME_SIZE_ERROR)}`;
  const lastStream = payload.readUInt32BE(0) & 0x7fffffff;
  const code = payload.readUInt32BE(4);
  return code !== 0 || lastStream < stream ? `GOAWAY ${errorName(code)}` : "";
}

const FRAME_SIZE_ERROR = 6;
