import { gunzipSync } from "node:zlib";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { pageBundle } from "./page-bundle.ts" with { type: "macro" };

const BUNDLE = pageBundle();
const PACKED = Buffer.from(BUNDLE.page, "base64");
/** Its own style and script by their digests, its own origin to ask, and nothing else; no text becomes markup. */
const POLICY = [
  "default-src 'none'",
  `script-src ${BUNDLE.script}`,
  `style-src ${BUNDLE.style}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");
const FIELDS: readonly (readonly [string, string])[] = [
  ["Content-Type", "text/html; charset=utf-8"],
  ["Cache-Control", "no-store"],
  ["Content-Security-Policy", POLICY],
  ["X-Content-Type-Options", "nosniff"],
  ["X-Frame-Options", "DENY"],
  ["Referrer-Policy", "no-referrer"],
  ["Cross-Origin-Opener-Policy", "same-origin"],
  ["Cross-Origin-Resource-Policy", "same-origin"],
  ["Vary", "Accept-Encoding"],
];

/** The page for clients that take gzip. */
export const PACKED_PAGE: PrebuiltResponse = new PrebuiltResponse(
  200,
  [...FIELDS, ["Content-Encoding", "gzip"]],
  PACKED,
);
/** The page for all others. */
export const PLAIN_PAGE: PrebuiltResponse = new PrebuiltResponse(200, FIELDS, gunzipSync(PACKED));
