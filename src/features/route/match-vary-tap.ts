import type { Exchange, ResponseTap } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { requestHost, takesHost } from "../../message/request-host.ts";
import type { Expression } from "../../proto/expression/expression.ts";
import { isPlainPath } from "../../proto/h1/request-rules.ts";
import { canonicaliseDeeply } from "../../proto/target/canonical-path.ts";
import { routedPath } from "../../proto/target/routed-path.ts";

/** A route that asks for fields or cookies by `match`, and may be asked before another one. */
export interface ChoosyRoute {
  /** Its path in canonical form; of a prefix, without a slash at its end. */
  readonly path: string;
  readonly exact: boolean;
  /** Empty means every host. */
  readonly hosts: readonly string[];
  /** Its paths fit this; null for all. */
  readonly expression: Pick<Expression, "test"> | null;
  /** The fields that decide whether it takes a request, `Cookie` among them. */
  readonly names: readonly string[];
}

/**
 * Tells caches behind which the clients are that a response depends on what `match` asks: Vary. The gateway's own cache
 * tells such routes apart by its key. docs/routing.md#match-and-caches
 */
export class MatchVaryTap implements ResponseTap {
  readonly name = "matchVary";
  private readonly asked: readonly (readonly ChoosyRoute[])[];
  private readonly unrouted: readonly ChoosyRoute[];
  private readonly made: Map<string, ExtraFields> = new Map();

  /**
   * @param asked by the routes' numbers, the routes that may have been asked before
   * @param unrouted all that may have been asked if none took the request
   */
  constructor(asked: readonly (readonly ChoosyRoute[])[], unrouted: readonly ChoosyRoute[]) {
    this.asked = asked;
    this.unrouted = unrouted;
  }

  onHead(ex: Exchange): void {
    const asked = ex.route === null ? this.unrouted : this.asked[ex.route.index]!;
    // Before the first phase, no route has been asked.
    if (asked.length === 0 || ex.step === 0) return;
    const fields = this.fieldsFor(ex.request, asked);
    if (fields !== null) ex.response.addExtra(fields);
  }

  onFixed(ex: Exchange): void {
    this.onHead(ex);
  }

  onEnd(_ex: Exchange): void {}

  private fieldsFor(head: RequestHead, asked: readonly ChoosyRoute[]): ExtraFields | null {
    const path = routedPath(head, isPlainPath(head) ? "" : canonicaliseDeeply(head.path()).canonical);
    const host = requestHost(head);
    const names = new Set<string>();
    for (const route of asked) {
      if (isBelow(path, route) && takesHost(route.hosts, host)) for (const name of route.names) names.add(name);
    }
    if (names.size === 0) return null;
    const value = [...names].join(", ");
    let fields = this.made.get(value);
    if (fields === undefined) {
      fields = new ExtraFields([["Vary", value]]);
      this.made.set(value, fields);
    }
    return fields;
  }
}

/** Whether a canonical path is one of a route's. */
function isBelow(path: string, { path: own, exact, expression }: ChoosyRoute): boolean {
  if (expression?.test(path || "/") === false) return false;
  if (exact) return path === own || (path === "" && own === "/");
  return path.startsWith(own) && (path.length === own.length || path[own.length] === "/");
}
