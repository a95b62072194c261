import { type PathPattern, SegmentKind } from "../../core/path-pattern.ts";
import type { Route } from "../../message/exchange.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { decodeOnce } from "../../proto/target/percent-decoding.ts";
import { grown, RouteGroup } from "./router.ts";

/**
 * Routes with path patterns, as a tree of segments. Where several take a path, a literal segment wins over a variable
 * one, from the left on; a pattern whose routes lack the method is passed over, so that no route hides another.
 */
export class PatternTable {
  private readonly root: PatternNode = new PatternNode();
  /** The most colons before and in a verb. */
  private verbColons = 0;

  /** Adds a route of a host. @param newId numbers a group that this makes */
  add(pattern: PathPattern, host: number, route: Route, newId: () => number): void {
    let node = this.root;
    for (const { kind, text } of pattern.segments) node = node.childFor(kind, text);
    if (pattern.verb !== "") this.verbColons = Math.max(this.verbColons, pattern.verb.split(":").length);
    const groups = node.byVerb.get(pattern.verb) ?? new Map<number, RouteGroup>();
    node.byVerb.set(pattern.verb, groups);
    groups.set(host, grown(groups.get(host) ?? new RouteGroup(newId()), route));
  }

  /**
   * The routes for a path.
   * @param path raw or sanitised: escapes are decoded a segment at a time, so that an encoded slash ends none
   * @param method a Method, or ANY_METHOD
   * @param hosts that take the request, the most specific first
   */
  find(path: string, head: RequestHead, method: number, hosts: readonly number[]): RouteGroup | null {
    const wanted = { verb: "", head, method, hosts };
    const segments = path.slice(1).split("/");
    if (this.verbColons > 0) {
      const found = this.findVerb(segments, wanted);
      if (found !== null) return found;
    }
    return findIn(this.root, segments, 0, wanted);
  }

  /** The longest verb wins. It leaves the segments as they are. */
  private findVerb(segments: string[], wanted: Wanted): RouteGroup | null {
    const last = segments.at(-1)!;
    const colons: number[] = [];
    for (
      let at = last.lastIndexOf(":");
      at >= 0 && colons.length < this.verbColons;
      at = last.lastIndexOf(":", at - 1)
    ) {
      colons.unshift(at);
      if (at === 0) break;
    }
    let found: RouteGroup | null = null;
    for (const colon of colons) {
      segments[segments.length - 1] = last.slice(0, colon);
      found ??= findIn(this.root, segments, 0, { ...wanted, verb: last.slice(colon + 1) });
    }
    segments[segments.length - 1] = last;
    return found;
  }
}

class PatternNode {
  readonly literals: Map<string, PatternNode> = new Map();
  one: PatternNode | null = null;
  rest: PatternNode | null = null;
  /** By the verb, then by the number of the host. */
  readonly byVerb: Map<string, Map<number, RouteGroup>> = new Map();

  childFor(kind: SegmentKind, text: string): PatternNode {
    if (kind === SegmentKind.One) {
      this.one ??= new PatternNode();
      return this.one;
    }
    if (kind === SegmentKind.Rest) {
      this.rest ??= new PatternNode();
      return this.rest;
    }
    const child = this.literals.get(text) ?? new PatternNode();
    this.literals.set(text, child);
    return child;
  }
}

interface Wanted {
  readonly verb: string;
  readonly head: RequestHead;
  readonly method: number;
  readonly hosts: readonly number[];
}

/** It visits no node twice, whatever the path. */
function findIn(node: PatternNode, segments: readonly string[], at: number, wanted: Wanted): RouteGroup | null {
  if (at === segments.length) return groupAt(node, wanted) ?? (node.rest === null ? null : groupAt(node.rest, wanted));
  const segment = segments[at]!;
  const literal = node.literals.get(segment.includes("%") ? decodeOnce(segment) : segment);
  const found = literal === undefined ? null : findIn(literal, segments, at + 1, wanted);
  if (found !== null) return found;
  const other = node.one === null || segment === "" ? null : findIn(node.one, segments, at + 1, wanted);
  return other ?? (node.rest === null ? null : groupAt(node.rest, wanted));
}

function groupAt(node: PatternNode, { verb, head, method, hosts }: Wanted): RouteGroup | null {
  const groups = node.byVerb.get(verb);
  if (groups === undefined) return null;
  for (const host of hosts) {
    const group = groups.get(host);
    if (group?.has(head, method) === true) return group;
  }
  return null;
}
