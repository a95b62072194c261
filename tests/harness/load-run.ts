import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SaturationReport } from "../../src/tools/loadgen/saturation-report.ts";
import { EDGE_BINARY } from "./gateway.ts";
import { type FinishedRun, runProcess } from "./run-process.ts";

/** What `edge loadgen` left behind. */
export interface LoadOutcome extends FinishedRun {
  readonly report: SaturationReport;
}

/** Runs `edge loadgen` to its end and reads its JSON report; later flags win over the short ones set here. */
export async function loadgen(url: string, flags: readonly string[]): Promise<LoadOutcome> {
  const folder = mkdtempSync(join(tmpdir(), "edge-load-"));
  try {
    const json = join(folder, "report.json");
    const short = ["-d", "250ms", "-rate", "800", "-a", "0.5", "-c", "4"];
    const run = await runProcess([EDGE_BINARY, "loadgen", "-url", url, ...short, "-json", json, ...flags], {
      timeout: LIMIT_MS,
    });
    if (run.code > 1) throw new Error(`edge loadgen left with ${run.code}: ${run.stderr}`);
    return { ...run, report: JSON.parse(readFileSync(json, "utf8")) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** More than the time after which the load generator gives a request up. */
const LIMIT_MS = 45_000;
