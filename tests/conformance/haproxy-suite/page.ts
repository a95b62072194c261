import { writeSuitePage } from "../suite-page.ts";
import type { FileResult } from "./run.ts";
export function writeHaproxyPage(results: readonly FileResult[], version: string): void {
  writeSuitePage({
    name: "haproxy",
    title: "HAProxy reg-tests",
    intro: "",
    version,
    counts: (["passed", "failed", "closed", "skipped"] as const).map((k) => [
      k,
      results.filter((r) => r.outcome === k).length,
    ]),
    columns: ["file", "outcome", "held", "said", "noted"],
    rows: results
      .filter((r) => r.outcome !== "passed")
      .map((r) => [r.file, r.outcome, String(r.held), r.said, r.noted.join(", ")]),
  });
}
