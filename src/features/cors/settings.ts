import { formatDuration, TEN_YEARS_MS } from "../../config/duration.ts";
import { headerNameKind, method } from "../../config/http-syntax.ts";
import { type Kind, list, measured, resolved, type Spot, written } from "../../config/piece.ts";
import { block, type ConfigOf, type Fields, isFaultyAt, layerRows, OFF, orOff, type Rows } from "../../config/row.ts";
import { duration, flag, textLike } from "../../config/scalars.ts";

const ORIGIN = /^(\*|https?:\/\/(\*(:\d{1,5})?|(\*\.)?[^\s/?#@*]+))$/i;

const corsRows = {
  enabled: { type: flag(), default: true, doc: "false: edge adds no field, and preflights go to your routes" },
  allowed_origins: {
    type: resolved(
      list(
        textLike(ORIGIN, 'an origin such as https://app.example.com (no path, no slash at the end), or "*"'),
        "origins",
      ),
      (origins) => starOr(origins.map((origin) => origin.toLowerCase())),
    ),
    example: ["https://app.example.com"],
    doc: 'origins of pages that may call you; https://*.example.com for all names below, "*" for all origins',
  },
  allowed_methods: {
    type: list(method(), "methods"),
    default: ["GET", "HEAD", "POST"],
    doc: "methods that pages of other origins may use",
  },
  allowed_headers: {
    type: resolved(list(headerNameKind(), "header names"), starOr),
    example: ["Content-Type", "Authorization"],
    doc: "request fields that pages of other origins may set; *: any",
  },
  exposed_headers: {
    type: resolved(list(headerNameKind(), "header names"), starOr),
    example: ["X-Request-Id"],
    doc: "response fields that pages of other origins may read; *: any",
  },
  allow_credentials: { type: flag(), default: false, doc: "true: pages of other origins may send cookies" },
  echo_any: {
    type: flag(),
    default: false,
    doc: "true: with allow_credentials, * allows any name that a request asks for",
  },
  max_age: { type: inSeconds(), default: "10m", doc: "how long a browser keeps the response to a preflight" },
} as const satisfies Rows;

/** docs/guards.md#cors */
export const cors = block(corsRows, {
  absent: OFF,
  finish: (plain, _, spot) => {
    checkCors(plain, spot);
    return {};
  },
});

/** `cors` at a route, over the server's. docs/guards.md#policies-at-a-route */
export const routeCors = orOff(block(layerRows(corsRows)));

/** Notes what browsers would refuse in settings that are in force. */
export function checkCors(config: Fields<typeof corsRows>, spot: Spot): void {
  const { log, path } = spot;
  if (!config.enabled) return;
  if (config.allowedOrigins.length === 0 && !isFaultyAt(spot, "allowed_origins"))
    log.fault(path, "needs allowed_origins, such as [https://app.example.com]", true);
  if (!config.allowCredentials) return;
  // Fetch §3.2.5: with credentials "*" is no wildcard, so browsers would refuse what the operator meant to allow.
  const echoed = {
    allowed_origins: config.allowedOrigins,
    allowed_methods: config.allowedMethods,
    allowed_headers: config.allowedHeaders,
  };
  const lists = { ...(config.echoAny ? {} : echoed), exposed_headers: config.exposedHeaders };
  for (const [key, names] of Object.entries(lists)) {
    if (names.includes("*"))
      log.fault([...path, key], 'expected every name written out: "*" cannot go together with allow_credentials: true');
  }
  const anyone = "pages of any site act as their visitors here, with their cookies";
  if (config.echoAny && config.allowedOrigins.includes("*")) log.warn([...path, "echo_any"], `is true: ${anyone}`);
  const wide = config.allowedOrigins.find((origin) => /^https?:\/\/\*(:|$)/.test(origin));
  if (wide !== undefined) log.warn([...path, "allowed_origins"], `${wide} is every name: ${anyone}`);
}

function starOr(names: readonly string[]): readonly string[] {
  return names.includes("*") ? ["*"] : names;
}

/** A duration of which whole seconds count. */
function inSeconds(): Kind<number, number, "Seconds"> {
  const seconds = resolved(duration(0, TEN_YEARS_MS), (ms) => Math.floor(ms / 1000));
  return measured(
    written(seconds, (count) => formatDuration(count * 1000)),
    "Seconds",
  );
}

export type CorsConfig = ConfigOf<typeof cors>;
