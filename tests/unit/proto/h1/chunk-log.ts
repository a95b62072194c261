import { Fault } from "../../../../src/core/fault.ts";
import { faultRow } from "../../../../src/core/fault-rows.ts";
import { HeaderBlock } from "../../../../src/message/header-block.ts";
import { ChunkEvent, ChunkedDecoder, ChunkState } from "../../../../src/proto/h1/chunked-decoder.ts";
import { isFramingTrailer } from "../../../../src/proto/h1/trailer-names.ts";
import type { Carrier } from "../carriers.ts";
import { readVectors, textOf, type Vector, type VectorText } from "../vector-file.ts";

/** A chunk stream that ends where the input ends, and what the decoder makes of it. */
export interface ChunkVector extends Vector {
  /** Largest decoded body; 0, no limit, where it is left out. */
  readonly maxBodyBytes?: number;
  /** The decoded bytes, those before a fault included. */
  readonly data: VectorText;
  readonly trailers?: readonly (readonly [name: string, value: VectorText])[];
  /** Bytes of the input that belong to the body; only where there is no fault. */
  readonly consumed?: number;
  readonly fault?: string;
}

/** Files of chunk vectors. */
export const CHUNK_FILES: readonly string[] = [
  "chunk-sizes.jsonl",
  "chunk-extensions.jsonl",
  "chunk-data.jsonl",
  "chunk-trailers.jsonl",
];

/** Chunk vectors of origins that are read leniently. */
export const LENIENT_CHUNK_FILE = "lenient-chunks.jsonl";

const strict = new ChunkedDecoder();
const lenient = new ChunkedDecoder(isFramingTrailer, true, () => {});
const trailerFields = new HeaderBlock();

/** All chunk vectors, in the order of the files. */
export function chunkVectors(): ChunkVector[] {
  return CHUNK_FILES.flatMap((file) => readVectors<ChunkVector>(file));
}

/** What the decoder makes of the pieces, as text. */
export function chunkLog(pieces: readonly Uint8Array[], carrier: Carrier, maxBodyBytes = 0): string {
  return logOf(strict, pieces, carrier, maxBodyBytes);
}

/** What the decoder for old origins makes of them. */
export function lenientChunkLog(pieces: readonly Uint8Array[], carrier: Carrier): string {
  return logOf(lenient, pieces, carrier, 0);
}

/** Both ways of reading come to the same bytes, fields and faults; that which joins chunks writes over its input. */
function logOf(decoder: ChunkedDecoder, pieces: readonly Uint8Array[], carrier: Carrier, maxBodyBytes: number): string {
  const log = readWith(decoder, "next", pieces, carrier, maxBodyBytes);
  const own = pieces.map((piece) => Uint8Array.from(piece));
  const joined = readWith(decoder, "nextJoined", own, carrier, maxBodyBytes);
  if (joined !== log) throw new Error(`chunks that are joined make ${joined}, and else ${log}`);
  return log;
}

function readWith(
  decoder: ChunkedDecoder,
  way: "next" | "nextJoined",
  pieces: readonly Uint8Array[],
  carrier: Carrier,
  maxBodyBytes: number,
): string {
  decoder.begin(maxBodyBytes);
  let data = "";
  let consumed = 0;
  // Widened: the compiler does not see what the carrier's step assigns.
  let event = ChunkEvent.NeedMore as ChunkEvent;
  carrier.carry(pieces, ({ bytes, from, to }) => {
    event = ChunkEvent.Data;
    while (event === ChunkEvent.Data) {
      event = decoder[way](bytes, from + consumed, to);
      if (event !== ChunkEvent.Failed) consumed = decoder.consumed - from;
      // Who has no input left does not ask again.
      const isOver = decoder.state === ChunkState.Done || decoder.fault !== Fault.None;
      if (event === ChunkEvent.Data && isOver && decoder.consumed === to) throw new Error("the end is passed over");
      if (event === ChunkEvent.Data) data += latin1Of(bytes, decoder.dataFrom, decoder.dataTo);
    }
    return event !== ChunkEvent.NeedMore;
  });
  if (event === ChunkEvent.Failed) return failed(data, decoder.fault);
  if (event !== ChunkEvent.Done) return failed(data, decoder.finish());
  return JSON.stringify({ data, total: decoder.total, trailers: trailersOf(decoder), consumed });
}

/** The log that a vector asks for. */
export function expectedChunks(vector: ChunkVector): string {
  const data = textOf(vector.data);
  if (vector.fault !== undefined) return JSON.stringify({ data, fault: vector.fault });
  const trailers = (vector.trailers ?? []).map(([name, value]) => [name, textOf(value)]);
  return JSON.stringify({ data, total: data.length, trailers, consumed: vector.consumed });
}

/** The trailers that a decoder has read, as pairs. */
export function trailersOf(of: ChunkedDecoder): [string, string][] {
  trailerFields.resetOwn();
  if (of.trailers.count > 0) of.trailers.appendTo(trailerFields);
  return Array.from({ length: trailerFields.count }, (_, i) => [trailerFields.nameText(i), trailerFields.valueText(i)]);
}

function failed(data: string, fault: Fault): string {
  return JSON.stringify({ data, fault: fault === Fault.None ? "" : faultRow(fault).label });
}

function latin1Of(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1");
}
