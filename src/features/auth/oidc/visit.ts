import { latin1 } from "../../../core/bytes.ts";
import { errorBody } from "../../../core/status.ts";
import { placeOf } from "../../../message/client-place.ts";
import type { Exchange } from "../../../message/exchange.ts";
import type { HeaderBlock } from "../../../message/header-block.ts";
import { PrebuiltResponse } from "../../../message/prebuilt-response.ts";
import { Method } from "../../../message/request-head.ts";
import { requestHost } from "../../../message/request-host.ts";
import { requestScheme } from "../../../message/request-scheme.ts";
import { prefersHtml } from "../../../proto/semantics/accept.ts";

/** What a page tells a person, beside its status. */
export interface VisitNotice {
  readonly status: number;
  readonly title: string;
  readonly sentence: string;
  /** Where to go from there; null for nowhere. */
  readonly link: { readonly href: string; readonly text: string } | null;
}

/** Writes a page for people: HTML, with fields of its own. @param requestId for the one who is asked for help */
export type NoticePage = (
  notice: VisitNotice,
  requestId: string,
) => {
  readonly fields: readonly (readonly [string, string])[];
  readonly body: string;
};

type Fields = readonly (readonly [name: string, value: string])[];

/** Facts about one request: it outlives its exchange, which another request may have while a provider is asked. */
export class Visit {
  readonly isSecure: boolean;
  /** Lower case, without port; "" if there is none. */
  readonly host: string;
  /** Such as `https://shop.example.com:8443`. */
  readonly origin: string;
  /** Path and query as they came. */
  readonly target: string;
  /** Whether a person goes to a page, so that a sign-in can take the place of the response. */
  readonly isNavigation: boolean;
  /** Whether another site's page has it sent, or a browser in advance. */
  readonly isForeign: boolean;
  readonly requestId: string;
  readonly clientIp: string;
  /** Whose share of the provider's time it takes. */
  readonly place: string;
  private readonly wantsHtml: boolean;
  private readonly pages: NoticePage;

  constructor(ex: Exchange, pages: NoticePage) {
    const { request } = ex;
    const scheme = requestScheme(ex);
    this.isSecure = scheme === "https";
    this.host = requestHost(request);
    this.origin = `${scheme}://${request.authority().toLowerCase()}`;
    this.target =
      request.path() + (request.queryTo > request.pathTo ? request.text(request.pathTo, request.queryTo) : "");
    this.wantsHtml = prefersHtml(request.headers);
    const mode = fieldOf(request.headers, SEC_FETCH_MODE);
    const isPlainGet = request.method === Method.Get && !request.upgrade && !request.hasBody();
    this.isNavigation = this.host !== "" && this.wantsHtml && isPlainGet && (mode === "" || mode === "navigate");
    const isSentElsewhere = fieldOf(request.headers, SEC_FETCH_SITE) === "cross-site" && mode !== "navigate";
    this.isForeign = isSentElsewhere || fieldOf(request.headers, SEC_PURPOSE).startsWith("prefetch");
    this.requestId = ex.pipeline.nameOf(ex);
    this.clientIp = ex.clientIp;
    this.place = placeOf(ex);
    this.pages = pages;
  }

  /** A response with a page for people, and JSON for programs. */
  notice(notice: VisitNotice, fields: Fields = []): PrebuiltResponse {
    const { status, sentence } = notice;
    const more = [...fields, ["X-Request-Id", this.requestId] as const];
    if (this.wantsHtml) {
      const page = this.pages(notice, this.requestId);
      return new PrebuiltResponse(status, [...page.fields, ...more], page.body);
    }
    const body = status < 400 ? { message: sentence } : errorBody(status, sentence);
    const type = [["Content-Type", "application/json"], NO_STORE, ["Vary", "Accept"]] as const;
    return new PrebuiltResponse(status, [...type, ...more], JSON.stringify(body));
  }
}

/** @param location absolute, or a path of the same origin */
export function redirectTo(location: string, fields: Fields): PrebuiltResponse {
  return new PrebuiltResponse(302, [["Location", location], NO_STORE, ...fields], "");
}

function fieldOf(headers: HeaderBlock, name: Uint8Array): string {
  const index = headers.findNamed(name);
  return index < 0 ? "" : headers.valueText(index).toLowerCase();
}

const NO_STORE = ["Cache-Control", "no-store"] as const;
const SEC_FETCH_MODE: Uint8Array = latin1("sec-fetch-mode");
const SEC_FETCH_SITE: Uint8Array = latin1("sec-fetch-site");
const SEC_PURPOSE: Uint8Array = latin1("sec-purpose");
