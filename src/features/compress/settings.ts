import { mediaTypes } from "../../config/media-types.ts";
import { list } from "../../config/piece.ts";
import { block, type ConfigOf, OFF, type Rows, type Values } from "../../config/row.ts";
import { flag, integer, size, word } from "../../config/scalars.ts";

const encodings = () => list(word("zstd", "br", "gzip"), "encodings", true);

const rows = {
  enabled: { type: flag(), default: true, doc: "false: responses go out as they are" },
  encodings: { type: encodings(), default: ["zstd", "br", "gzip"], doc: "encodings in your order of preference" },
  types: {
    type: mediaTypes(),
    default: [
      "text/*",
      "application/json",
      "application/*+json",
      "application/x-ndjson",
      "application/javascript",
      "application/xml",
      "application/*+xml",
      "application/wasm",
      "application/grpc-web-text",
      "application/grpc-web-text+proto",
      "image/svg+xml",
    ],
    doc: "media types that edge compresses; * stands for any part",
  },
  min_bytes: { type: size(0), default: 1024, doc: "edge sends smaller responses as they are" },
  level: {
    type: integer(1, 9),
    absent: 0,
    example: 5,
    doc: "a level by encoding, 1 is fastest; by default zstd 3, br 4, gzip 5",
  },
} as const satisfies Rows;

/** `server.compression`: docs/compression.md */
export const compression = block(rows, { absent: OFF, shorthand: "encodings" });

/** What compresses responses, of the server or of a route. `level` is 0 if each encoding has its own default. */
export type CompressionConfig = ConfigOf<typeof compression>;

const routeRows = {
  enabled: { type: flag(), default: true, doc: "false: edge does not compress responses of this route" },
  encodings: { type: encodings(), absent: null, example: ["gzip"], doc: "in place of server.compression.encodings" },
  types: { type: mediaTypes(), absent: null, example: ["text/*"], doc: "in place of server.compression.types" },
  min_bytes: { type: size(0), absent: null, example: 1024, doc: "in place of server.compression.min_bytes" },
  level: { type: integer(1, 9), absent: null, example: 5, doc: "in place of server.compression.level" },
} as const satisfies Rows;

/** `compression` at a route: docs/compression.md#at-a-route */
export const routeCompression = block(routeRows, { isSwitch: true, shorthand: "encodings" });

/**
 * The settings in force at a route: its own, and for what they leave out the server's.
 * @param isOwn whether the route has a section of its own, which switches compression on where the server's is off
 */
export function compressionAt(
  values: Values<typeof routeRows>,
  server: CompressionConfig,
  isOwn: boolean,
): CompressionConfig & { readonly isOwn: boolean } {
  return {
    enabled: values.enabled && (isOwn || server.enabled),
    encodings: values.encodings ?? server.encodings,
    types: values.types ?? server.types,
    minBytes: values.min_bytes ?? server.minBytes,
    level: values.level ?? server.level,
    isOwn,
  };
}
