import type { MetricRows } from "../../core/metric-row.ts";

/** Counters of signed agents. docs/agents.md */
export const AGENT_METRICS = {
  gateway_agent_signatures_total: {
    kind: "counter",
    help: "Signatures of agents, by result: verified, or refused.",
    labels: ["result"],
    group: "Firewall and guards",
    title: "Signatures of agents",
    advice:
      "`refused` rises: an agent has new keys that its directory does not show, or a client tries names of others. Look at your log at level debug.",
  },
  gateway_agent_directory_fetches_total: {
    kind: "counter",
    help: "Fetches of key directories, by URL and result.",
    labels: ["url", "result"],
    group: "Firewall and guards",
    title: "Fetches of key directories",
    advice: "Failures: `edge agents check URL` says why. The keys from before stay.",
  },
} as const satisfies MetricRows;
