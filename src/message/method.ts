import { equalsBytes, latin1 } from "../core/ascii.ts";

/** Request methods as small integers. Methods are case-sensitive (RFC 9110 §9.1); unknown ones are Other. */
export const enum Method {
  Other = 0,
  Get,
  Head,
  Post,
  Put,
  Delete,
  Patch,
  Options,
  Connect,
  Trace,
}

/** Number of members of Method, for tables with one row a method. */
export const METHOD_COUNT = 10;

const NAMES: readonly string[] = [
  "OTHER",
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "PATCH",
  "OPTIONS",
  "CONNECT",
  "TRACE",
];
const BYTES: readonly Uint8Array[] = NAMES.map(latin1);

/** The name of a known method; `OTHER` for every unknown one, so that labels stay bounded. */
export function methodName(method: Method): string {
  return NAMES[method]!;
}

/** The method that `bytes[from, to)` names. */
export function methodOf(bytes: Uint8Array, from: number, to: number): Method {
  if (to - from === 3 && bytes[from] === 0x47 && bytes[from + 1] === 0x45 && bytes[from + 2] === 0x54)
    return Method.Get;
  for (let i = 1; i < METHOD_COUNT; i++) {
    if (equalsBytes(bytes, from, to, BYTES[i]!)) return i;
  }
  return Method.Other;
}

/** The method with this exact name, or Other. */
export function methodFromName(name: string): Method {
  const bytes = latin1(name);
  return methodOf(bytes, 0, bytes.length);
}

/** Whether repeating the request has the effect of making it once (RFC 9110 §9.2.2). */
export function isIdempotent(method: Method): boolean {
  return method !== Method.Other && method !== Method.Post && method !== Method.Patch && method !== Method.Connect;
}
