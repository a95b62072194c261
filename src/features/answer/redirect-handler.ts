import { Fault } from "../../core/fault.ts";
import { reasonOf } from "../../core/status.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { RedirectList } from "./redirect-list.ts";
import { RedirectTarget } from "./redirect-target.ts";

/** `type: redirect`: sends clients somewhere else. docs/answers.md#redirects */
export class RedirectHandler implements Handler {
  readonly name = "redirect";
  private readonly target: RedirectTarget;
  private readonly status: number;
  /** The response, if it is the same for all requests. */
  private readonly constant: PrebuiltResponse | null;

  /**
   * @param to as RedirectTarget takes it
   * @param status 301, 302, 303, 307 or 308
   */
  constructor(to: string, status: number) {
    this.target = new RedirectTarget(to);
    this.status = status;
    const { constant } = this.target;
    this.constant = constant === "" ? null : response(status, constant);
  }

  handle(ex: Exchange): Verdict {
    if (this.constant !== null) {
      ex.sink.fixed(ex, this.constant);
      return Verdict.Done;
    }
    const location = this.target.locationOf(ex);
    if (location === "") ex.sink.abort(ex, Fault.BadHost);
    else ex.sink.fixed(ex, response(this.status, location));
    return Verdict.Done;
  }
}

/** `type: redirect` with `list`: the redirects are in a file. docs/answers.md#lists */
export class ListedRedirectHandler implements Handler {
  readonly name = "redirect";
  private readonly list: RedirectList;
  private readonly status: number;

  /** @param status of redirects that name none */
  constructor(list: RedirectList, status: number) {
    this.list = list;
    this.status = status;
  }

  handle(ex: Exchange): Verdict {
    const found = this.list.find(ex.request);
    // The router has found the path in the same list, in the same turn.
    if (found === null) ex.sink.abort(ex, Fault.NotFound);
    else ex.sink.fixed(ex, response(found.status || this.status, found.to));
    return Verdict.Done;
  }
}

/** RFC 9110 §15.4: a short note with a link, for clients that do not follow. @param location in the characters of a URL */
function response(status: number, location: string): PrebuiltResponse {
  const link = location.replaceAll("&", "&amp;").replaceAll("'", "&#39;").replaceAll('"', "&quot;");
  return new PrebuiltResponse(
    status,
    [
      ["Content-Type", "text/html; charset=utf-8"],
      ["Location", location],
    ],
    `<a href="${link}">${reasonOf(status)}</a>\n`,
  );
}
