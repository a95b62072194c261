import type { HeaderBlock } from "../../message/header-block.ts";
import type { Batch } from "./wire.ts";

/** Writes fields into a record: how many, then names and values. @param drop 1 at the ids of those that are left out */
export function writeFields(out: Batch, headers: HeaderBlock, drop: Uint8Array): void {
  let count = 0;
  for (let i = 0; i < headers.count; i++) if (drop[headers.ids[i]!] === 0) count++;
  out.line(count);
  for (let i = 0; i < headers.count; i++) {
    if (drop[headers.ids[i]!] === 1) continue;
    out.line(headers.nameText(i));
    out.line(headers.valueText(i));
  }
}
