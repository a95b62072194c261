import { headerValue } from "../config/http-syntax.ts";
import { block, type ConfigOf, isFaultyAt } from "../config/row.ts";
import { fileName, integer } from "../config/scalars.ts";
import { formatSize } from "../config/size.ts";
import { groupFault, template } from "../config/template-kind.ts";
import { internalTls } from "../config/tls-settings.ts";
import { type FixedResponse, placeFault, respondHandler } from "../features/answer/respond-handler.ts";
import { contentTypeOf } from "../features/files/content-type.ts";
import type { Handler } from "../message/exchange.ts";
import { RouteKind } from "../message/route.ts";
import { MediaTypes } from "../proto/semantics/media-types.ts";
import { templateOf } from "../proto/template/template.ts";
import { editedHandler } from "./header-operations.ts";
import { noteUnknownGroups } from "./rewrite-keys.ts";
import type { RouteBase } from "./route-base.ts";
import { routeMethods } from "./route-options.ts";
import type { RouteSpot } from "./route-spot.ts";
import type { RouteType, RouteTypePorts } from "./route-type.ts";

/** Bytes of a response that a route of type respond takes from the configuration or from a file; it is copied for each client. */
const MAX_RESPOND_BYTES = 262_144;

const keys = block(
  {
    methods: routeMethods,
    tls: internalTls,
    status: { type: integer(200, 599), default: 200, doc: "status of the response" },
    body: {
      type: template("a text"),
      absent: "",
      example: "hello {client_ip}",
      doc: 'the text that edge sends as it is; or "file: ./page.html"',
    },
    file: {
      type: fileName(),
      absent: "",
      example: "./robots.txt",
      doc: `in place of body: a file that edge sends as it is and reads again on reload, up to ${formatSize(MAX_RESPOND_BYTES)}`,
    },
    content_type: {
      type: headerValue(),
      default: "",
      example: "text/html; charset=utf-8",
      doc: "by default by the file's name; for body text/plain; charset=utf-8",
    },
  },
  {
    check({ body, file, status, content_type: written }, spot) {
      const { log, path } = spot;
      if (body !== "" && file !== "")
        log.fault([...path, "file"], "a response has either body or file: remove one", true);
      const key = file !== "" ? "file" : "body";
      if ((body !== "" || file !== "") && BODILESS.has(status) && !isFaultyAt(spot, key))
        log.fault(
          [...path, key],
          `a response with status ${status} has no body: remove it, or change the status`,
          true,
        );
      if (Buffer.byteLength(body) > MAX_RESPOND_BYTES)
        log.fault(
          [...path, "body"],
          `expected at most ${formatSize(MAX_RESPOND_BYTES)}: type: static serves large files`,
        );
      const type = written === "" ? typeOf(body, file) : written;
      const misplaced = body === "" || isFaultyAt(spot, "body") ? "" : placeFault(templateOf(body), type);
      if (misplaced !== "") log.fault([...path, "body"], misplaced);
    },
    finish({ body, file, contentType }, _values, { path, files }) {
      const key = [...path, "file"];
      return {
        // As the file was when the configuration was read, so that all workers have the same; one character a byte.
        content: files.contents(key, file, MAX_RESPOND_BYTES, "type: static serves large files"),
        file: files.absolute(file),
        contentType: contentType === "" ? typeOf(body, file) : contentType,
      };
    },
    list: (_config, lines) => lines,
  },
);

/** `type: respond`: the gateway answers by itself. */
interface RespondRouteConfig extends Omit<RouteBase, "methods">, ConfigOf<typeof keys> {
  readonly type: "respond";
}

/** The row of `type: respond`: docs/answers.md#responses */
export const RESPOND_ROUTE: RouteType<RespondRouteConfig> = {
  what: "a fixed response",
  sentence: 'a respond route answers with "body" or "file"',
  foreignWords: ["return", "reply", "answer", "response", "static_response"],
  marks: ["body", "file"],
  isWritten: true,
  idleKeys: {
    cache: "responses of the gateway's own are not stored",
    "headers.request": "no server gets the request",
  },
  keys,
  check(route, spot) {
    checkGroups(route, spot);
    checkContentType(route, spot);
    checkTypes(route, spot);
  },
  help: {
    doc: "a response of the gateway's own",
    prefix: { example: "/hello", doc: 'Or "path:", exactly this path' },
    host: { example: ["example.com"], doc: "every host by default" },
    unlisted: ["file"],
  },
  explain,
  leadsTo: ({ status }) => String(status),
  shape: ({ methods }) => ({ kind: RouteKind.Plain, methods, stripPrefix: true }),
  build,
};

/** Groups are those of the route's own expression. */
function checkGroups({ body, regex }: RespondRouteConfig, spot: RouteSpot): void {
  if (isFaultyAt(spot, "regex") || isFaultyAt(spot, "body")) return;
  const at = [...spot.path, "body"];
  const fault = regex === "" ? groupFault(templateOf(body)) : "";
  if (fault !== "") spot.log.fault(at, fault);
  else noteUnknownGroups(body, regex, at, spot);
}

/** Values are written as the type of the body asks: an edit must not change that type behind them. */
function checkContentType({ body }: RespondRouteConfig, { entry, log, path }: RouteSpot): void {
  if (body === "" || templateOf(body).isLiteral) return;
  for (const at of typeEdits(entry))
    log.fault([...path, ...at], "values in the body are written for its type: say it at content_type");
}

/** The keys of a route that change Content-Type. */
function typeEdits(entry: RouteSpot["entry"]): readonly (readonly string[])[] {
  const edits =
    (entry.headers as { readonly response?: Readonly<Record<string, unknown>> } | undefined)?.response ?? {};
  return ["set", "add"].flatMap((operation) => {
    const lines = edits[operation];
    const names = Object.keys(typeof lines === "object" && lines !== null ? lines : {});
    const found = names.filter((name) => name.toLowerCase() === "content-type");
    return found.map((name) => ["headers", "response", operation, name]);
  });
}

/** The type of the body is known: keys for bodies of other types do nothing. */
function checkTypes({ contentType, rewriteBody, ssi, compression }: RespondRouteConfig, spot: RouteSpot): void {
  const { entry, log, path } = spot;
  if (typeEdits(entry).length > 0) return;
  const why = contentType === "" ? "the response has no body" : `types does not have ${contentType}, as the body is`;
  const own = {
    rewrite_body: rewriteBody,
    ssi: ssi?.enabled ? ssi : null,
    compression: compression.isOwn && compression.enabled ? compression : null,
  };
  for (const [key, edit] of Object.entries(own)) {
    if (edit === null || isFaultyAt(spot, key) || new MediaTypes(edit.types).has(contentType)) continue;
    log.warn([...path, key], `has no effect: ${why}`);
  }
}

/** It does not disclose where the file is. */
function explain({ status, contentType, body, content }: RespondRouteConfig): object {
  const bodyBytes = content === "" ? Buffer.byteLength(body) : content.length;
  return { targets: [], status, content_type: contentType, body_bytes: bodyBytes };
}

function build(route: RespondRouteConfig, { files }: RouteTypePorts): Handler {
  return editedHandler(respondHandler(answerOf(route), files.clock), route);
}

function answerOf({ status, body, file, content, contentType }: RespondRouteConfig): FixedResponse {
  return { status, contentType, body: file === "" ? templateOf(body) : Buffer.from(content, "latin1") };
}

function typeOf(body: string, file: string): string {
  if (file !== "") return contentTypeOf(file);
  return body === "" ? "" : "text/plain; charset=utf-8";
}

/** RFC 9110 §15.3.5, §15.3.6, §15.4.5 */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);
