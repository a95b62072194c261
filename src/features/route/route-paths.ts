// Paths of routes as the routing tables know them.
import { canonicalRoutePath } from "../../proto/target/canonical-path.ts";

/** The path of an exact route as requests are compared with it. @param path as an operator wrote it */
export function exactRoutePath(path: string): string {
  return canonicalRoutePath(path);
}

/** The same of a prefix, without a slash at its end: `/node`, `/node/` and `/node/*` mean the same; "/" becomes "". */
export function prefixRoutePath(path: string): string {
  const canonical = exactRoutePath(path.endsWith("/*") ? path.slice(0, -1) : path);
  return canonical.endsWith("/") ? canonical.slice(0, -1) : canonical;
}
