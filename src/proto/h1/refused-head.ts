import { Byte } from "../../core/ascii.ts";
import { HeaderId } from "../../message/header-id.ts";
import { Method, methodOf } from "../../message/method.ts";
import type { RequestHead } from "../../message/request-head.ts";

/**
 * Finds method, path and Host of a head that is refused, as far as they have been read: a HEAD gets no body even then
 * (RFC 9110 §9.3.2), and metrics and log say what was asked.
 */
export function describeRefused(head: RequestHead): void {
  const { bytes, targetFrom, targetTo } = head;
  if (head.method === Method.Other && head.methodTo > head.methodFrom) {
    head.method = methodOf(bytes, head.methodFrom, head.methodTo);
  }
  if (head.hostIndex < 0) head.hostIndex = head.headers.find(HeaderId.Host);
  if (head.pathTo > head.pathFrom || targetTo === targetFrom || bytes[targetFrom] !== Byte.Slash) return;
  let at = targetFrom;
  while (at < targetTo && bytes[at] !== Byte.Question && bytes[at] !== Byte.Hash) at++;
  head.pathFrom = targetFrom;
  head.pathTo = at;
}
