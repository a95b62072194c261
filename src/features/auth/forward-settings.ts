import { headerNameKind } from "../../config/http-syntax.ts";
import { type OriginConfig, parseOrigin } from "../../config/origin.ts";
import { type Kind, list, resolved, type Spot, written } from "../../config/piece.ts";
import { block, type Rows, type Values } from "../../config/row.ts";
import { duration, text, word } from "../../config/scalars.ts";
import { upstreamTls } from "../../config/upstream-tls.ts";
import { withoutCredentials } from "../../core/secret-name.ts";

const rows = {
  url: {
    type: text("the address of the authentication service"),
    required: "the address of the authentication service, such as http://127.0.0.1:9091/api/authz/forward-auth",
    field: "",
    example: "http://127.0.0.1:9091/api/authz/forward-auth",
    doc: "edge calls it before each request: http://, https://, h2c:// or h2://, with a query if you need one",
  },
  method: {
    type: word("GET", "HEAD", "POST"),
    default: "GET",
    doc: "the method of these calls, which never have a body",
  },
  request_headers: {
    type: shownFields(),
    absent: null,
    example: ["Cookie", "Authorization"],
    doc: "the client's fields that your server sees; all by default",
  },
  response_headers: {
    type: setFields(),
    default: ["Remote-User", "Remote-Groups"],
    doc: "fields of its response that edge adds to the request; the first is the user's name",
  },
  timeout: { type: duration(1), default: "5s", doc: "time for its whole response; then the client gets 503" },
  cache: {
    type: duration(0),
    default: "0s",
    doc: "how long edge keeps a verdict for the same request_headers, which you must list",
  },
  tls: { type: upstreamTls, doc: "TLS to your server for https:// and h2://, as tls of a route" },
} as const satisfies Rows;

/** `auth.forward`: another server decides. docs/authentication.md#authentication-services */
export const forward = block(rows, {
  shorthand: "url",
  check: checkForward,
  finish: (_, { url }, spot) => serviceAt(url, spot),
  list: ({ url }, lines) => ({ url: withoutCredentials(url), ...lines }),
});

interface Service {
  /** As it is written. */
  readonly url: string;
  readonly service: OriginConfig;
  /** Path and query that it is asked for. */
  readonly target: string;
}

function serviceAt(url: string, { log, path, files }: Spot): Service {
  // A path may have a query, which origins of routes have not.
  const [, base = "", target = ""] = /^unix:/i.test(url)
    ? (/^(unix:[^:]*)(?::(\/.*))?$/i.exec(url) ?? [])
    : (/^((?:[a-z][a-z0-9+.-]*:\/\/)?[^/?#]*)(.*)$/is.exec(url) ?? []);
  const service = parseOrigin(base === "" ? url : base, (name) => files.absolute(name));
  const fault = typeof service === "string" ? service : targetFault(target);
  if (fault !== "") log.fault([...path, "url"], fault);
  const whole = target.startsWith("/") ? target : `/${target}`;
  return { url, service: typeof service === "string" ? NOWHERE : service, target: whole };
}

function targetFault(target: string): string {
  if (!/^[\x21-\x7e]*$/.test(target)) return "expected a path and query in plain ASCII without spaces";
  return target.includes("#") ? 'expected a URL without a fragment; remove the part from "#"' : "";
}

function checkForward({ cache, request_headers }: Values<typeof rows>, { log, path }: Spot): void {
  if (cache > 0 && (request_headers === null || request_headers.length === 0))
    log.fault([...path, "cache"], "needs request_headers: a verdict holds for all requests that show the same ones");
}

/** Names as they were written. */
function shownFields(): Kind<string[], readonly string[]> {
  return fieldNames((name) => (CONNECTION.test(name) ? "belongs to one connection, or to a body: leave it out" : ""));
}

function setFields(): Kind<string[], readonly string[]> {
  return fieldNames((name) => {
    if (CONNECTION.test(name)) return "belongs to one connection, or to a body: a request cannot get it";
    return OWN.test(name) ? "is not the service's to say: leave it out" : "";
  });
}

function fieldNames(faultOf: (name: string) => string): Kind<string[], readonly string[]> {
  const names = list(headerNameKind(), "header names", true);
  const kind = resolved(names, (found, { path, log }): readonly string[] => {
    for (const [i, name] of found.entries()) {
      const fault = faultOf(name);
      if (fault !== "") log.fault([...path, i], fault);
    }
    return found;
  });
  return written(kind, (all) => [...all]);
}

const CONNECTION =
  /^(host|connection|keep-alive|proxy-.*|te|trailers?|transfer-encoding|upgrade|content-.*|expect|http2-settings)$/i;
/** What the gateway writes itself, and what clients keep. */
const OWN = /^(cookie|set-cookie2?|x-forwarded-(for|proto|host|client-cert)|x-real-ip|x-request-id|via|:.*)$/i;
const NOWHERE = parseOrigin("http://localhost") as OriginConfig;
