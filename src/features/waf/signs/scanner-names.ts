import type { ValueReading } from "../match/value-reading.ts";
import { SCANNER_NAMES } from "../rules/scanners.ts";
import { Sign } from "../rules/sign.ts";
import type { SignListener } from "./sign-listener.ts";

/** Finds the names that attack tools give themselves. The keyword search has found one already: this says where. */
export function findScannerName(value: ValueReading, listener: SignListener): void {
  const { bytes, length } = value;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, length);
  let first = -1;
  for (const name of SCANNER_NAMES) {
    const at = text.indexOf(name, 0, "latin1");
    if (at >= 0 && (first < 0 || at < first)) first = at;
  }
  if (first >= 0) listener.found(Sign.ScannerAgent, first);
}
