import { Fault } from "../../core/fault.ts";
import type { Exchange, RefusalPages } from "../../message/exchange.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { prefersHtml } from "../../proto/semantics/accept.ts";
import { BUILT_IN_POLICY, builtInPage } from "./built-in-page.ts";
import type { Maintenance } from "./maintenance-phase.ts";
import type { PageText } from "./page-text.ts";
import type { StatusPages } from "./status-pages.ts";

/** The pages of a configuration, those of routes by the routes' numbers. */
interface ConfiguredPages {
  /** For requests that no route takes; null if there are none. */
  readonly server: StatusPages | null;
  readonly routes: readonly (StatusPages | null)[];
  readonly maintenance: readonly (Maintenance | null)[];
}

/** Shows refusals to browsers as pages, and leaves them as they are for programs. docs/pages.md */
export class HtmlRefusals implements RefusalPages {
  private readonly pages: ConfiguredPages;

  constructor(pages: ConfiguredPages) {
    this.pages = pages;
  }

  shown(ex: Exchange, response: PrebuiltResponse): PrebuiltResponse {
    if (ex.route?.kind.isBuiltIn === true || !prefersHtml(ex.request.headers)) return response;
    const requestId = ex.pipeline.nameOf(ex);
    const facts = { status: response.status, requestId };
    const kept = response.fields.filter(([name]) => !REPLACED.has(name.toLowerCase()));
    const fields = [...PAGE_FIELDS, ["X-Request-Id", requestId] as const, ...kept];
    const page = this.pageOf(ex, response.status);
    if (page !== null) return new PrebuiltResponse(response.status, fields, page.fill(facts));
    if (fieldOf(kept, "content-security-policy") === "") fields.push(POLICY);
    return new PrebuiltResponse(response.status, fields, builtInPage(facts, fieldOf(kept, "retry-after")));
  }

  private pageOf({ route, fault }: Exchange, status: number): PageText | null {
    if (route === null) return this.pages.server?.find(status) ?? null;
    const own = fault === Fault.Maintenance ? this.pages.maintenance[route.index]!.page : null;
    return own ?? this.pages.routes[route.index]?.find(status) ?? null;
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
  // Of the body that the page is in the place of.
  "content-encoding",
  "etag",
  "last-modified",
]);
