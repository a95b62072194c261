import { FieldEvent, type HpackDecoder } from "../../../../src/proto/hpack/decoder.ts";
import { LineBuffer } from "../../../../src/proto/hpack/line-buffer.ts";

/** The fields of a block as `name: value`; null where it is malformed. */
export function decodeBlock(decoder: HpackDecoder, block: Uint8Array): string[] | null {
  const lines = new LineBuffer();
  const fields: string[] = [];
  decoder.begin(block, 0, block.length);
  for (;;) {
    const event = decoder.next(lines);
    if (event === FieldEvent.Done) return fields;
    if (event === FieldEvent.Failed) return null;
    const { nameFrom, nameTo, valueFrom, valueTo } = decoder;
    const name = lines.bytes.latin1Slice(nameFrom, nameTo);
    fields.push(`${name}: ${lines.bytes.latin1Slice(valueFrom, valueTo)}`);
    // Half of the lines stay, as those of a head do.
    if (fields.length % 2 === 0) lines.end = valueTo + 2;
  }
}
