import { Fault } from "../../core/fault.ts";
import { MAX_REQUEST_LINE_BYTES } from "../../core/limits.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { type Expression, LateExpression } from "../../proto/expression/expression.ts";
import { canonicalise, deeperReadings, pathFrom } from "../../proto/target/canonical-path.ts";
import { decodeOnce } from "../../proto/target/percent-decoding.ts";
import { encodedPart, routedPath, shownPath } from "../../proto/target/routed-path.ts";
import { keepGroups } from "../../proto/template/captured-groups.ts";
import { type Template, templateOf } from "../../proto/template/template.ts";

/**
 * `rewrite` of a route: the path that goes upstream, or is looked up, in the place of the client's. What a request says can fill
 * segments of the path that the file says and nothing else: no query, no host, no way out. docs/routing.md#rewrite
 */
export class PathRewrite {
  private readonly template: Template;
  private readonly expression: Expression | null;

  constructor({ path, regex, to }: RewriteConfig) {
    this.template = templateOf(regex === "" ? path : to);
    this.expression = regex === "" ? null : new LateExpression(regex);
  }

  /**
   * The path in the place of the client's, percent-encoded, with one slash at its beginning and no dot segments; null if the
   * expression does not fit. What its groups have found is left in `captures`.
   * @param routed the path by which the route was chosen
   * @returns a Fault if a value of the request makes no path of it
   */
  pathOf(ex: Exchange, routed: string = routedPath(ex.request, ex.canonicalPath)): string | null | Fault {
    if (this.expression !== null) {
      const groups = this.expression.match(routed);
      if (groups === null) return null;
      ex.captures = groups.map(encodedPart);
    }
    const path = this.template.render(ex, "url");
    if (path.length > MAX_REQUEST_LINE_BYTES) return Fault.RequestLineTooLong;
    const single = pathFrom(path, 0);
    return keepsItsForm(single) ? single : Fault.BadTarget;
  }
}

/** The path that a rewrite gives a request, for the key of its response: "" if there is none. The exchange stays as it is. */
export class KeyedPath {
  private readonly rewrite: PathRewrite;

  constructor(config: RewriteConfig) {
    this.rewrite = new PathRewrite(config);
  }

  of(ex: Exchange): string {
    const { captures } = ex;
    // The handler of a folder has another canonical path afterwards.
    const path = this.rewrite.pathOf(ex, decodeOnce(shownPath(ex.request)));
    ex.captures = captures;
    return typeof path === "string" ? path : "";
  }
}

/**
 * Whether a percent-encoded path is one whose segments all readers take alike: one slash at its beginning, and no dot segments, after any
 * number of decodings.
 */
export function keepsItsForm(path: string): boolean {
  const { sanitised, canonical } = canonicalise(path);
  return sanitised === path && deeperReadings(canonical) !== null;
}

/** Puts the path of a rewrite in its place before a route's own handler is asked. */
export class RewritingHandler implements Handler {
  readonly name = "rewrite";
  private readonly rewrite: PathRewrite;
  private readonly inner: Handler;
  private readonly mount: string | null;

  /** @param mount the prefix of a folder, whose handler looks up what is below it; null if the path goes upstream */
  constructor(config: RewriteConfig, inner: Handler, mount: string | null) {
    this.rewrite = new PathRewrite(config);
    this.inner = inner;
    this.mount = mount === "/" ? "" : mount;
  }

  handle(ex: Exchange): Verdict {
    const path = this.rewrite.pathOf(ex);
    if (typeof path === "number") {
      ex.sink.abort(ex, path);
      return Verdict.Done;
    }
    if (path !== null && this.mount !== null) {
      // The path by which the route was found is not known after this.
      keepGroups(ex);
      ex.canonicalPath = this.mount + canonicalise(path).canonical;
    }
    if (path !== null && this.mount === null) {
      ex.forwardPath = path;
      ex.prefixLength = -1;
    }
    return this.inner.handle(ex);
  }
}

/** The path in the place of the client's: `path`, or `to` where `regex` fits; "" for what is not said. docs/routing.md#rewrite */
interface RewriteConfig {
  readonly path: string;
  readonly regex: string;
  readonly to: string;
}
