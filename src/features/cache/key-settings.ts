import { headerNameKind } from "../../config/http-syntax.ts";
import { type Kind, list, resolved } from "../../config/piece.ts";
import { block, type ConfigOf } from "../../config/row.ts";
import { flag, textLike, word } from "../../config/scalars.ts";

const query = block(
  {
    drop: {
      type: list(parameter(), "parameters"),
      example: ["utm_*", "gclid"],
      doc: "parameters that edge removes",
    },
    allow: {
      type: list(parameter(), "parameters"),
      absent: null,
      example: ["page"],
      doc: "parameters that edge keeps; it removes all others",
    },
    sort: { type: flag(), default: false, doc: "true: edge sorts parameters by name" },
  },
  {},
);

/** `cache.key` of a route. docs/cache.md#rules-for-the-key */
export const cacheKey = block(
  {
    query: { type: query, doc: "edge removes from the request whatever you remove from the key" },
    accept_encoding: {
      type: word("exact", "normalize"),
      default: "exact",
      doc: "normalize: edge reduces Accept-Encoding to br, zstd and gzip",
    },
    headers: {
      type: list(keyField(), "field names"),
      example: ["X-Country"],
      doc: "request fields whose values are part of the key",
    },
    cookies: {
      type: list(cookieName(), "names"),
      example: ["language"],
      doc: "cookies whose values are part of the key",
    },
  },
  {},
);

/** What a route says of the keys of its responses. */
export interface CacheKeyConfig extends ConfigOf<typeof cacheKey> {}

/** A route that says nothing of them. */
export const NO_KEY_RULES: CacheKeyConfig = {
  query: { drop: [], allow: null, sort: false },
  acceptEncoding: "exact",
  headers: [],
  cookies: [],
};

/** The name of a query parameter, or the beginning of names and `*`. */
function parameter(): Kind<string> {
  return textLike(/^[^\s&=#*]+\*?$/, "the name of a parameter, such as page or utm_*");
}

function cookieName(): Kind<string> {
  return textLike(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "the name of a cookie");
}

/** The name of a header field that may be in the key: not one that is there already, or that has a rule of its own. */
function keyField(): Kind<string> {
  return resolved(headerNameKind(), (name, { log, path }) => {
    const why = NO_KEY_FIELDS.get(name.toLowerCase());
    if (why !== undefined) log.fault(path, why);
    return name;
  });
}

const OWN = "the gateway writes it, for each client or request anew: no response could be shared";
const HOP = "belongs to the connection or to the body, and tells no responses apart";
const each = (names: string, why: string): [string, string][] => names.split(" ").map((name) => [name, why]);

const NO_KEY_FIELDS: ReadonlyMap<string, string> = new Map([
  ["host", "the host is in every key: remove it"],
  ["accept-encoding", "Accept-Encoding is in every key: remove it"],
  ["cookie", "tells nearly all clients apart: name the cookies that count in cookies"],
  ["authorization", "is never in a key: edge shares such responses only if they say public"],
  ...each("x-forwarded-for x-real-ip x-request-id x-forwarded-client-cert traceparent tracestate", OWN),
  ...each("te connection keep-alive proxy-connection transfer-encoding trailer upgrade content-length", HOP),
]);
