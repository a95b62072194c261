import type { MetricRows } from "../../core/metric-row.ts";

/** The counts of functions. docs/functions.md */
export const FUNCTION_METRICS = {
  gateway_function_calls_total: {
    kind: "counter",
    help: "Calls of functions and hooks, by how they have ended.",
    labels: ["module", "outcome"],
    group: "Functions",
    title: "Calls of functions",
    advice:
      "error: find `function_failed` in your log for the place. timeout, gone: your module is too slow, or ends its thread. busy: you get more requests than `functions.concurrency` and `functions.queue` have room for.",
  },
  gateway_function_seconds_total: {
    kind: "counter",
    help: "Time from calls to the heads of their responses, added up.",
    labels: ["module"],
    group: "Functions",
    title: "Time in functions",
    advice: "Divide it by the calls for their mean time. If that grows, find out why your module waits.",
  },
  gateway_function_queued: {
    kind: "gauge",
    help: "Calls that waited for a place in a thread when they were last counted.",
    labels: ["module"],
    group: "Functions",
    title: "Calls that wait for a thread",
    advice:
      "If it stays above 0, raise `functions.workers` if your module computes, `functions.concurrency` if it waits.",
  },
  gateway_function_thread_ends_total: {
    kind: "counter",
    help: "Threads of modules that have ended otherwise than by a reload, by reason.",
    labels: ["module", "reason"],
    group: "Functions",
    title: "Threads of functions that ended",
    advice:
      "Each one cost the requests in it. stuck: find the loop in your module. memory: find the data that grows. exit: remove `process.exit`.",
  },
  gateway_function_threads: {
    kind: "gauge",
    help: "Threads that serve calls of a module.",
    labels: ["module"],
    group: "Functions",
    title: "Threads of functions",
    advice: "0: edge cannot load your module; `function_load_failed` says why.",
  },
  gateway_function_heap_bytes: {
    kind: "gauge",
    help: "Memory of the heaps of a module's threads.",
    labels: ["module"],
    group: "Functions",
    title: "Memory of functions",
    advice: "If it grows without end, your module has a memory leak; at `functions.memory` edge replaces its thread.",
  },
  gateway_scheduled_runs_total: {
    kind: "counter",
    help: "Scheduled runs, by result.",
    labels: ["module", "result"],
    group: "Functions",
    title: "Scheduled runs",
    advice:
      "`error`, `timeout` and `died` are runs that came to no end: find `function_scheduled` in your log for the reason. `overlap`: a run takes longer than the time between two. In a fleet `elsewhere` counts the runs of other gateways.",
  },
  gateway_scheduled_last_success_timestamp_seconds: {
    kind: "gauge",
    help: "Time of the last successful run on this gateway.",
    labels: ["module"],
    group: "Functions",
    title: "Last good scheduled run",
    advice: "Alert if the largest value of all your gateways is older than two times between runs.",
  },
} as const satisfies MetricRows;
