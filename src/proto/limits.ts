/** Bytes of the trailer section of a chunked body. docs/bodies.md#chunk-syntax */
export const MAX_TRAILER_BYTES = 4096;
