import type { RouteInit } from "../../message/exchange.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { requestHost, takesHost } from "../../message/request-host.ts";
import { canonicalise } from "../../proto/target/canonical-path.ts";
import { climbsAboveRoot, isWithin, mergeSlashes, removeDotSegments } from "../../proto/target/dot-segments.ts";
import {
  decodeAllButSlashes,
  decodeFully,
  decodeOnce,
  type FullyDecoded,
} from "../../proto/target/percent-decoding.ts";
import { prefixRoutePath } from "./route-paths.ts";

/**
 * Does a path aim at a static prefix and, under some reading, lead out of it? docs/guards.md#the-prefix-guard
 * A path is read raw and percent-decoded to the end, and each of these with repeated slashes as they stand and
 * merged. One look-up an end of segment, whatever the number of mounts.
 */
export class PrefixGuard {
  /** What the mounts ask of requests, by prefix as `prefixRoutePath` writes it. */
  private readonly mounts: Map<string, Pick<RouteInit, "hosts" | "match">[]> = new Map();
  private readonly maxLength: number;

  /** @param inits all routes; static prefixes are picked out */
  constructor(inits: readonly RouteInit[]) {
    let maxLength = 0;
    for (const init of inits) {
      if (!init.kind.isFolder || init.exact) continue;
      const prefix = prefixRoutePath(init.path);
      const those = this.mounts.get(prefix) ?? [];
      those.push(init);
      this.mounts.set(prefix, those);
      maxLength = Math.max(maxLength, prefix.length);
    }
    this.maxLength = maxLength;
  }

  /** Whether the request must be refused. @param raw its raw path, one character a byte */
  refuses(raw: string, head: RequestHead): boolean {
    if (this.mounts.size === 0) return false;
    const readings = new PathReadings(raw);
    return (
      this.escapesFrom(readings, readings.merged, head) ||
      (readings.decodedMerged !== readings.merged && this.escapesFrom(readings, readings.decodedMerged, head))
    );
  }

  /** Whether the path escapes one of the mounts that `reading` aims at. */
  private escapesFrom(readings: PathReadings, reading: string, head: RequestHead): boolean {
    const limit = Math.min(reading.length, this.maxLength);
    for (let at = reading.indexOf("/"); at >= 0 && at <= limit; at = endOfSegment(reading, at + 1)) {
      const mounts = this.mounts.get(reading.slice(0, at));
      if (mounts === undefined || !readings.escapes(reading.slice(0, at))) continue;
      if (mounts.some(({ hosts, match }) => takesHost(hosts, requestHost(head)) && match?.fits(head) !== false))
        return true;
    }
    return false;
  }
}

/** What a path may mean to those behind the gateway. Most paths aim at no mount: what only those need is made late. */
class PathReadings {
  readonly merged: string;
  readonly decodedMerged: string;
  private readonly raw: string;
  private readonly decoded: FullyDecoded;

  constructor(raw: string) {
    this.raw = raw;
    this.decoded = decodeFully(raw);
    this.merged = mergeSlashes(raw);
    this.decodedMerged = mergeSlashes(this.decoded.text);
  }

  /** Whether some reading lies outside the prefix; "" is the root, which is left by climbing above it. */
  escapes(prefix: string): boolean {
    if (this.decoded.tooDeep) return true;
    const { raw, merged, decodedMerged } = this;
    const decoded = this.decoded.text;
    if (prefix === "") return [raw, merged, decoded, decodedMerged].some(climbsAboveRoot);
    // Of the raw readings, escapes other than slashes are decoded before they are compared: a prefix may hold
    // characters that have to be encoded, while an encoded slash makes it another path.
    const stays =
      isWithin(decodeAllButSlashes(resolved(raw)), prefix) &&
      isWithin(decodeAllButSlashes(resolved(merged)), prefix) &&
      isWithin(resolved(decoded), prefix) &&
      isWithin(resolved(decodedMerged), prefix) &&
      isWithin(mergeSlashes(decodeOnce(raw)), prefix) &&
      isWithin(canonicalise(raw).canonical, prefix);
    return !stays;
  }
}

function resolved(path: string): string {
  return mergeSlashes(removeDotSegments(path));
}

/** Where the segment that holds `from` ends: at the next slash or at the end of the path; -1 after the end. */
function endOfSegment(path: string, from: number): number {
  if (from > path.length) return -1;
  const slash = path.indexOf("/", from);
  return slash < 0 ? path.length : slash;
}
