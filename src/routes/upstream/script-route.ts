import { join } from "node:path";
import { FILE_RECHECK_MS, FileHandler, FileRehearsal } from "../../features/files/file-handler.ts";
import { withheldFiles } from "../../features/files/script-finder.ts";
import { ScriptHandler } from "../../features/files/script-handler.ts";
import type { Handler } from "../../message/exchange.ts";
import { editsBodies } from "../body-edits.ts";
import { editedHandler } from "../header-operations.ts";
import { rewriting } from "../rewrite-keys.ts";
import type { RouteTypePorts } from "../route-type.ts";
import type { UpstreamRouteConfig } from "./upstream-config.ts";
import type { FastCgiConfig } from "./upstream-keys.ts";

/**
 * Puts the files of a route with FastCGI targets before the handler that runs its scripts. docs/php.md#which-script-runs
 * @param look learns of the file that would be sent, if a request is explained; null if it is sent
 */
export function scriptHandler(
  route: UpstreamRouteConfig,
  fastcgi: NonNullable<FastCgiConfig>,
  scripts: Handler,
  site: RouteTypePorts,
  look: ((file: string) => void) | null,
): Handler {
  const { root: dir, splitPath } = fastcgi;
  const isRewritten = route.rewrite !== null;
  const prefix = route.stripPrefix ? route.prefix : "";
  const places = { dir, prefix, spa: false, fallback: "" };
  const files =
    look === null
      ? new FileHandler(
          {
            ...places,
            cacheControl: "",
            // Where responses go into the response cache, none of them is older than the file.
            recheckMs: route.cache.enabled ? 0 : FILE_RECHECK_MS,
            isRewritten,
            isPlain: editsBodies(route),
            withheld: withheldFiles(splitPath),
          },
          site.files,
        )
      : new FileRehearsal(places, (file) => look(join(dir, file)));
  const noScripts = fastcgi.noScripts.map((path) => Buffer.from(path.slice(1), "utf8").latin1Slice());
  const mount = { ...fastcgi, ...places, noScripts };
  const handlers = { scripts, files: editedHandler(files, route) };
  const handler = new ScriptHandler(mount, handlers, site.files.clock, isRewritten);
  return rewriting(handler, { prefix, rewrite: route.rewrite }, true);
}
