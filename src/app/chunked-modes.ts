import { ChunkedMode } from "../message/route.ts";

/** The words of `inbound_chunked_mode`. */
export const CHUNKED_MODES = {
  normalize: ChunkedMode.Normalize,
  passthrough: ChunkedMode.Passthrough,
  reject: ChunkedMode.Reject,
} as const;
