import { Byte } from "../../core/bytes.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import type { Batch } from "./wire.ts";

/** Writes fields into a record: how many, then names and values. @param drop 1 at the ids of all that are left out */
export function writeFields(out: Batch, headers: HeaderBlock, drop: Uint8Array): void {
  const { bytes, ids } = headers;
  let count = 0;
  for (let i = 0; i < headers.count; i++) if (drop[ids[i]!] === 0) count++;
  out.line(count);
  for (let i = 0; i < headers.count; i++) {
    if (drop[ids[i]!] === 1) continue;
    out.copy(bytes, headers.nameFrom(i), headers.nameTo(i));
    out.byte(Byte.Lf);
    out.copy(bytes, headers.valueFrom(i), headers.valueTo(i));
    out.byte(Byte.Lf);
  }
}
