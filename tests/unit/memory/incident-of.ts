import type { Incident } from "../../../src/memory/incident-ring.ts";

/** An incident all of whose fields follow from one number, with texts of many lengths, so that a mixture shows. */
export function incidentOf(number: number): Incident {
  const mark = String.fromCharCode(0x61 + (number % 26));
  return {
    timestampMs: number,
    clientIp: `10.0.0.${number % 250}`,
    method: mark,
    path: `/${mark.repeat(number % 300)}`,
    category: `category-${number % 7}`,
    ruleId: `RULE-${number % 1000}`,
    anomalyScore: number % 97,
    action: number % 2 === 0 ? "blocked" : "logged",
    payloadSnippet: mark.repeat((number * 7) % 257),
    location: "query id",
  };
}
