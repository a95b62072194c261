import { CODING_NAMES, type Coding } from "../../proto/semantics/accept-encoding.ts";
import { MediaTypes } from "../../proto/semantics/media-types.ts";
import type { CompressionConfig } from "./settings.ts";

/** What a route says of the compression of its responses. */
export interface CompressionPolicy {
  /** In the order of preference, Identity never. */
  readonly codings: readonly Coding[];
  readonly types: MediaTypes;
  /** Bodies that are known to be shorter go out as they are. */
  readonly minBytes: number;
  /** By Coding. */
  readonly levels: readonly number[];
  /** Longest body that waits until all of it is compressed, so that the cache gets it with a length; 0 if there is no cache. */
  readonly storedBytes: number;
}

/** Makes a policy of settings. @param storedBytes see CompressionPolicy */
export function compressionPolicy(settings: CompressionConfig, storedBytes: number): CompressionPolicy {
  const { encodings, types, minBytes, level } = settings;
  return {
    codings: [...new Set(encodings)].map((name): Coding => CODING_NAMES.indexOf(name)),
    types: new MediaTypes(types),
    minBytes,
    levels: level === 0 ? DEFAULT_LEVELS : DEFAULT_LEVELS.map(() => level),
    storedBytes,
  };
}

/** By Coding: what each does well with some 100 µs to 300 µs for 64 KiB of JSON. */
const DEFAULT_LEVELS: readonly number[] = [0, 4, 3, 5];
/** The fastest level of every coding. */
export const FASTEST_LEVEL = 1;
