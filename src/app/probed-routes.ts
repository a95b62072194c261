import type { Router } from "../features/route/router.ts";
import type { RequestHead } from "../message/request-head.ts";

/** Built-in endpoints that a probe may ask for. docs/endpoints.md#proxy-test */
const PROBED_BUILT_INS: readonly string[] = ["/health", "/api/status"];

/** Whether a probe may be sent to this path: an active route takes it, or one of two built-in endpoints. */
export function isProbed(router: Router, canonicalPath: string, head: RequestHead): boolean {
  if (PROBED_BUILT_INS.includes(canonicalPath)) return true;
  if (router.prefixId(canonicalPath, head) >= 0) return true;
  const exact = router.findExactCanonical(canonicalPath, head) ?? router.findPattern(canonicalPath, head);
  return exact !== null && !exact.kind.isBuiltIn;
}
