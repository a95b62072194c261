import type { MetricRows } from "../../core/metric-row.ts";

/** The counts of challenges for bots. docs/bots.md */
export const BOT_METRICS = {
  gateway_bot_challenges_total: {
    kind: "counter",
    help: "Bot challenges sent, by form: the page, or JSON to programs.",
    labels: ["form"],
    group: "Firewall and guards",
    title: "Challenges for bots",
    advice:
      "It rises if scrapers come. Compare with solutions: challenges without solutions are bots. If most are solved, you challenge people too often.",
  },
  gateway_bot_solutions_total: {
    kind: "counter",
    help: "Challenge solutions received, by result.",
    labels: ["result"],
    group: "Firewall and guards",
    title: "Solutions of challenges",
    advice:
      "`forged` and `weak` are programs that try. If many are `expired`, your `difficulty` is too high for the clients' machines.",
  },
  gateway_bot_impostors_total: {
    kind: "counter",
    help: "Requests of clients that name a browser and have another handshake, by action.",
    labels: ["action"],
    group: "Firewall and guards",
    title: "Impostors",
    advice:
      "Check `bot_impostor` in the log before you block: programs that scan TLS on users' machines look like this as well.",
  },
  gateway_bot_crawlers_total: {
    kind: "counter",
    help: "Verifications of clients that name a crawler, by result.",
    labels: ["result"],
    group: "Firewall and guards",
    title: "Crawlers looked up",
    advice: "`refused`: clients that falsely claim to be a search engine.",
  },
} as const satisfies MetricRows;
