import { equalsBytes } from "../core/ascii.ts";
import type { InputBuffer } from "../net/input-buffer.ts";
import { PREFACE } from "../proto/h2/frame.ts";

/** How much of HTTP/2's preface a client has begun with. */
export const enum Preface {
  None = 0,
  Begun,
  Whole,
}

/** Whether what has come is HTTP/2's preface (RFC 9113 §3.4), or can become it. */
export function sniffPreface(input: InputBuffer): Preface {
  const { bytes, from, to } = input;
  const length = Math.min(to - from, PREFACE.length);
  if (!equalsBytes(bytes, from, from + length, PREFACE.subarray(0, length))) return Preface.None;
  return length === PREFACE.length ? Preface.Whole : Preface.Begun;
}
