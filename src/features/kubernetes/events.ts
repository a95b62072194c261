import { flagField, textField } from "../../core/event-row.ts";

/** Lines of the log about a cluster, beside those of every source. docs/gateway-api.md */
export const KUBERNETES_EVENTS = {
  kubernetes_leader: {
    meaning: "This gateway writes the statuses of a cluster's objects from now on, or leaves them to another one.",
    advice: "You do not need to do anything: exactly one gateway of a cluster holds the Lease.",
    fields: { leader: flagField("whether it writes them"), identity: textField("its name in the Lease") },
  },
} as const;
