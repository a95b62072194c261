import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import { beginPage } from "../../message/page-part.ts";

/** Keeps the fields of a client's request for a page: requests for its parts have the same credentials and cookies. docs/ssi.md#includes */
export class PageFieldsPhase implements Phase {
  readonly name = "pageFields";
  private readonly routes: readonly boolean[];

  /** @param routes by their numbers, whether they have pages of parts */
  constructor(routes: readonly boolean[]) {
    this.routes = routes;
  }

  run(ex: Exchange): Verdict {
    if (this.routes[ex.route!.index]!) beginPage(ex, linesOf(ex));
    return Verdict.Next;
  }
}

function linesOf({ request: { headers } }: Exchange): readonly string[] {
  const lines: string[] = [];
  for (let i = 0; i < headers.count; i++)
    if (!NOT_COPIED.has(headers.ids[i]!)) lines.push(`${headers.nameText(i)}: ${headers.valueText(i)}`);
  return lines;
}

/** Fields of the body of the request, of a form of the response, or of the connection. */
const NOT_COPIED: ReadonlySet<number> = new Set<number>([
  ...HOP_BY_HOP,
  HeaderId.Host,
  HeaderId.ContentType,
  HeaderId.AcceptEncoding,
  HeaderId.Expect,
  HeaderId.Range,
  HeaderId.IfRange,
  HeaderId.IfNoneMatch,
  HeaderId.IfModifiedSince,
  HeaderId.IfMatch,
  HeaderId.IfUnmodifiedSince,
  HeaderId.ContentEncoding,
]);
