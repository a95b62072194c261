import { join } from "node:path";
import { quote } from "../config/config-fault.ts";
import { headerValue } from "../config/http-syntax.ts";
import { resolved } from "../config/piece.ts";
import { block, type ConfigOf, isFaultyAt } from "../config/row.ts";
import { flag, text, textLike } from "../config/scalars.ts";
import { internalTls } from "../config/tls-settings.ts";
import { FILE_RECHECK_MS, FileHandler, FileRehearsal } from "../features/files/file-handler.ts";
import { hooks } from "../features/functions/settings.ts";
import type { Handler } from "../message/exchange.ts";
import { RouteKind } from "../message/route.ts";
import { editsBodies } from "./body-edits.ts";
import { editedHandler } from "./header-operations.ts";
import { rewrite, rewriting } from "./rewrite-keys.ts";
import type { RouteBase } from "./route-base.ts";
import type { RouteType, RouteTypePorts } from "./route-type.ts";

const keys = block(
  {
    // Resolved, absolute, and a folder when the configuration was read.
    dir: {
      type: resolved(text("a folder name"), (name, { path, files }) => (name === "" ? "" : files.folder(path, name))),
      absent: "",
      example: "./public",
      doc: "the folder, with index.html, ranges and ETag; edge sends .br, .zst and .gz files beside a file",
    },
    spa: {
      type: flag(),
      default: false,
      doc: "true: paths without a file get the fallback with 200, for single-page apps",
    },
    // Resolved, `index.html` for `spa`, else "" when none is set.
    fallback: {
      type: textLike(/^[^\0\\]*$/, "a file name"),
      default: "",
      example: "index.html",
      doc: "the file for paths without one: with 404, or 200 with spa",
    },
    rewrite: {
      type: rewrite,
      absent: null,
      example: { path: "/new{rest}" },
      doc: "the path to look up in dir: path, or regex and to",
    },
    browse: {
      type: flag(),
      default: false,
      doc: "true: a folder without index.html shows a list of its files",
    },
    cache_control: { type: headerValue(), default: "", example: "max-age=60", doc: "Cache-Control of these files" },
    tls: internalTls,
    hooks: { type: hooks, absent: null, doc: "your own module, which sees and changes requests and responses" },
  },
  {
    check({ dir, fallback, browse, rewrite: rewritten }, spot) {
      const { log, path } = spot;
      if (browse && rewritten !== null)
        log.fault(
          [...path, "browse"],
          "a list of files needs the paths that clients use: remove browse or rewrite",
          true,
        );
      if (dir === "" && !isFaultyAt(spot, "dir"))
        log.fault(path, "a static route needs dir, the folder to serve, such as dir: ./public");
      if (/^\/|(^|\/)\.\.(\/|$)/.test(fallback))
        log.fault([...path, "fallback"], `expected a file inside dir, such as index.html, found ${quote(fallback)}`);
    },
    finish: ({ fallback, spa }) => ({ fallback: fallback === "" && spa ? "index.html" : fallback }),
    list: ({ dir }, { spa, fallback, browse, cache_control, ...others }) => ({
      dir,
      spa,
      fallback,
      browse,
      cache_control,
      ...others,
    }),
  },
);

/** `type: static`: files from a folder. */
interface StaticRouteConfig extends RouteBase, ConfigOf<typeof keys> {
  readonly type: "static";
}

/** The row of `type: static`: docs/files.md#static-files */
export const STATIC_ROUTE: RouteType<StaticRouteConfig> = {
  what: "files from a folder",
  sentence: 'a static route serves files from "dir"',
  foreignWords: ["file", "files", "file_server", "directory", "spa"],
  marks: ["dir"],
  onlyPrefix: {
    refusal: "a static route serves a whole folder: use prefix instead of path",
    missing: "a static route needs prefix, such as prefix: /static",
  },
  keys,
  idleKeys: { "headers.request": "no server gets the request" },
  folderOf: ({ dir }) => dir,
  help: {
    doc: "files from a folder",
    prefix: { example: "/static" },
    host: { example: ["www.example.com", "*.example.org"], doc: "every host by default" },
    unlisted: [],
  },
  explain,
  leadsTo: ({ dir }) => dir,
  shape: () => ({ kind: RouteKind.Static, methods: ["GET"], stripPrefix: true }),
  build,
  rehearse(route, look) {
    const rehearsal = new FileRehearsal(route, (file) => look(join(route.dir, file)));
    return editedHandler(rewriting(rehearsal, route, true), route);
  },
};

/** It does not disclose the folder. */
function explain({ spa, fallback, browse, cacheControl, rewrite: rewritten }: StaticRouteConfig): object {
  const own = rewritten === null ? {} : { rewrite: rewrite.write(rewritten) };
  return { methods: ["GET", "HEAD"], targets: [], ...own, spa, fallback, browse, cache_control: cacheControl };
}

function build(route: StaticRouteConfig, site: RouteTypePorts): Handler {
  const mount = {
    ...route,
    recheckMs: recheckMsOf(route),
    isRewritten: route.rewrite !== null,
    isPlain: editsBodies(route),
  };
  return editedHandler(rewriting(new FileHandler(mount, site.files), route, true), route);
}

/** Where responses go into the response cache, none of them is older than the file: the disk is asked for each. */
function recheckMsOf({ cache }: StaticRouteConfig): number {
  return cache.enabled ? 0 : FILE_RECHECK_MS;
}
