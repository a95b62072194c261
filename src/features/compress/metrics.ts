import type { MetricRows } from "../../core/metric-row.ts";

/** The counts of compression. docs/compression.md */
export const COMPRESS_METRICS = {
  gateway_compressed_responses_total: {
    kind: "counter",
    help: "Responses compressed, by encoding.",
    labels: ["encoding"],
    group: "Compression",
    title: "Compressed responses",
    advice: "It follows your compressible traffic. You do not need to do anything.",
  },
  gateway_compression_bytes_total: {
    kind: "counter",
    help: "Bytes of response bodies before (in) and after compression (out).",
    labels: ["direction"],
    group: "Compression",
    title: "Bytes before and after",
    advice: "If `in` and `out` are close, these types do not shrink: check your `types`.",
  },
  gateway_compression_skipped_total: {
    kind: "counter",
    help: "Responses sent plain because too many were being compressed.",
    labels: [],
    group: "Compression",
    title: "Sent plain for want of CPU",
    advice: "Your CPU is short. Lower `level`, or let the cache keep compressed responses.",
  },
} as const satisfies MetricRows;
