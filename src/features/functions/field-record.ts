import { Byte } from "../../core/bytes.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import type { Batch } from "./wire.ts";

/** Writes fields into a record: how many, then names and values. @param drop 1 at the ids of those that are left out */
export function writeFields(out: Batch, headers: HeaderBlock, drop: Uint8Array): void {
  const { bytes, spans, ids } = headers;
  let count = 0;
  for (let i = 0; i < headers.count; i++) if (drop[ids[i]!] === 0) count++;
  out.line(count);
  for (let i = 0; i < headers.count; i++) {
    if (drop[ids[i]!] === 1) continue;
    const at = i * 4;
    out.copy(bytes, spans[at]!, spans[at + 1]!);
    out.byte(Byte.Lf);
    out.copy(bytes, spans[at + 2]!, spans[at + 3]!);
    out.byte(Byte.Lf);
  }
}
