import { type KeyPath, quote } from "../config/config-fault.ts";
import { headerValue } from "../config/http-syntax.ts";
import { type Entries, or, orElse, type Section } from "../config/piece.ts";
import type { RouteBase } from "../config/route-config.ts";
import type { RouteSurroundings } from "../config/route-syntax.ts";
import { flag, text, textLike } from "../config/scalars.ts";
import { FILE_RECHECK_MS } from "../core/limits.ts";
import { FileHandler } from "../features/files/file-handler.ts";
import { EditedHandler } from "../features/forward/edited-handler.ts";
import { responseEdits } from "../features/forward/header-edits.ts";
import type { Handler } from "../message/pipeline.ts";
import { RouteKind } from "../message/route.ts";
import type { RouteSite, RouteType } from "./route-type.ts";

const keys = {
  dir: orElse(text("a folder name"), ""),
  spa: or(flag(), false),
  fallback: or(textLike(/^[^\0\\]*$/, "a file name"), ""),
  cache_control: or(headerValue(), ""),
} satisfies Entries;

/** `type: static`: files from a folder. */
export interface StaticRouteConfig extends RouteBase {
  readonly type: "static";
  /** Absolute, and a folder when the configuration was read. */
  readonly dir: string;
  readonly spa: boolean;
  /** Relative to `dir`: `index.html` for `spa`, else "" when none is set. */
  readonly fallback: string;
  /** Value of `Cache-Control` on files, or "". */
  readonly cacheControl: string;
}

/** The row of `type: static`: docs/files.md#static-files */
export const STATIC_ROUTE: RouteType<StaticRouteConfig, typeof keys> = {
  what: "files from a folder",
  sentence: 'a static route serves files from "dir"',
  foreignWords: ["file", "files", "file_server", "directory", "spa"],
  marks: ["dir"],
  onlyPrefix: {
    refusal: "a static route serves a whole folder: use prefix instead of path",
    missing: "a static route needs prefix, such as prefix: /static",
  },
  keys,
  resolve,
  list: ({ dir, spa, fallback, cacheControl }) => ({ dir, spa, fallback, cache_control: cacheControl }),
  folderOf: ({ dir }) => dir,
  explain,
  shape: () => ({ kind: RouteKind.Static, methods: ["GET"], stripPrefix: true }),
  build,
};

function resolve(
  values: Section<typeof keys>,
  base: RouteBase,
  path: KeyPath,
  { log, files }: RouteSurroundings,
): StaticRouteConfig {
  const at = (key: string): KeyPath => [...path, key];
  if (values.dir === "" && !log.isFaulty(at("dir")))
    log.fault(path, "a static route needs dir, the folder to serve, such as dir: ./public");
  const { fallback } = values;
  if (/^\/|(^|\/)\.\.(\/|$)/.test(fallback)) {
    log.fault(at("fallback"), `expected a file inside dir, such as index.html, found ${quote(fallback)}`);
  }
  const dir = values.dir === "" ? "" : files.folder(at("dir"), values.dir);
  return {
    ...base,
    type: "static",
    dir,
    spa: values.spa,
    fallback: fallback === "" && values.spa ? "index.html" : fallback,
    cacheControl: values.cache_control,
  };
}

/** It does not disclose the folder. */
function explain({ spa, fallback, cacheControl }: StaticRouteConfig): object {
  return { methods: ["GET", "HEAD"], targets: [], spa, fallback, cache_control: cacheControl };
}

function build(route: StaticRouteConfig, site: RouteSite): Handler {
  const handler = new FileHandler({ ...route, recheckMs: recheckMsOf(route) }, site.files);
  const edits = responseEdits(route.headers.response);
  return edits === null ? handler : new EditedHandler(handler, edits);
}

/** Where answers go into the response cache, none of them is older than the file: the disk is asked for each. */
function recheckMsOf({ cache }: StaticRouteConfig): number {
  return cache.enabled ? 0 : FILE_RECHECK_MS;
}
