import type { Exchange } from "../../message/exchange.ts";
import type { RefusalPages } from "../../message/ports.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { prefersHtml } from "./accept.ts";
import { BUILT_IN_POLICY, builtInPage } from "./built-in-page.ts";

/** Shows refusals to browsers as pages, and leaves them as they are for programs. docs/pages.md */
export class HtmlRefusals implements RefusalPages {
  shown(ex: Exchange, reply: PrebuiltResponse): PrebuiltResponse {
    if (ex.route?.kind.isBuiltIn === true || !prefersHtml(ex.request.headers)) return reply;
    const requestId = ex.pipeline.nameOf(ex);
    const kept = reply.fields.filter(([name]) => !REPLACED.has(name.toLowerCase()));
    const facts = { status: reply.status, requestId };
    const policy = fieldOf(kept, "content-security-policy") === "" ? [POLICY] : [];
    const html = builtInPage(facts, fieldOf(kept, "retry-after"));
    return new PrebuiltResponse(reply.status, [...PAGE_FIELDS, ["X-Request-Id", requestId], ...policy, ...kept], html);
  }
}

function fieldOf(fields: readonly (readonly [string, string])[], name: string): string {
  return fields.find((field) => field[0].toLowerCase() === name)?.[1] ?? "";
}

/** No cache keeps a page: the next client may be a program, and the id is this request's. */
const PAGE_FIELDS = [
  ["Content-Type", "text/html; charset=utf-8"],
  ["Cache-Control", "no-store"],
  ["Vary", "Accept"],
] as const;
const POLICY = ["Content-Security-Policy", BUILT_IN_POLICY] as const;
const REPLACED: ReadonlySet<string> = new Set([
  ...PAGE_FIELDS.map(([name]) => name.toLowerCase()),
  "x-request-id",
  "etag",
  "last-modified",
]);
