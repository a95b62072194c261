import { NormalizePhase } from "../../../../src/features/ingest/normalize.ts";
import type { BodyBudget } from "../../../../src/memory/body-budget.ts";
import { type Phase, Verdict } from "../../../../src/message/exchange.ts";
import { bodyRoute, budgetOf, SILENT } from "../ingest/body-route.ts";

/** Phases that put every request on a route which gathers chunked bodies, and the budget that these draw on. */
export function gathering(): { budget: BodyBudget; phases: Phase[] } {
  const budget = budgetOf(8);
  const route: Phase = {
    name: "route",
    run(ex) {
      ex.route = bodyRoute();
      return Verdict.Next;
    },
  };
  return { budget, phases: [route, new NormalizePhase(budget, SILENT)] };
}
