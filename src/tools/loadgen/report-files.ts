import { writeFileSync } from "node:fs";
import { extname } from "node:path";
import { writeFault } from "../writable-file.ts";
import { consolidate } from "./consolidated-report.ts";
import { type DurationTier, durationKey } from "./duration-tier.ts";
import { reportCsv } from "./report-csv.ts";
import { consolidatedMarkdown, reportMarkdown } from "./report-markdown.ts";
import type { SaturationReport } from "./saturation-report.ts";

/** Where the reports go; "" for one that is not wanted. */
export interface ReportPaths {
  readonly json: string;
  readonly csv: string;
  readonly md: string;
}

/**
 * Writes reports: with one tier to the paths as they are; with several, one JSON and one Markdown file a tier beside
 * them (`report_60s.json`), and all tiers together to the paths as they are.
 */
export class ReportFiles {
  private readonly isSingle: boolean;

  constructor(
    private readonly paths: ReportPaths,
    private readonly tiers: readonly DurationTier[],
  ) {
    this.isSingle = tiers.length === 1;
  }

  /** Every file that will be written. */
  get all(): string[] {
    const { json, csv, md } = this.paths;
    const perTier = this.isSingle ? [] : this.tiers.flatMap((tier) => [beside(json, tier), beside(md, tier)]);
    return [json, csv, md, ...perTier].filter((path) => path !== "");
  }

  /** Looks whether every file can be written, and leaves no trace. Gives a text about the first that cannot, or "". */
  fault(): string {
    const seen = new Set<string>();
    for (const path of this.all) {
      if (seen.has(path)) return `${path} is named twice`;
      seen.add(path);
      const fault = writeFault(path);
      if (fault !== "") return fault;
    }
    return "";
  }

  /** Writes the files of one tier, when there are several. Throws what the system says. */
  writeTier(tier: DurationTier, report: SaturationReport): void {
    if (!this.isSingle) this.write(beside(this.paths.json, tier), beside(this.paths.md, tier), report);
  }

  /** Writes the files of the whole call; `reports` holds one of each tier that ran. Throws what the system says. */
  writeAll(reports: readonly SaturationReport[]): void {
    const { json, csv, md } = this.paths;
    if (csv !== "") writeFileSync(csv, reportCsv(reports));
    if (this.isSingle) {
      this.write(json, md, reports[0]!);
      return;
    }
    const whole = consolidate(reports);
    if (json !== "") writeFileSync(json, jsonText(whole));
    if (md !== "") writeFileSync(md, consolidatedMarkdown(whole));
  }

  private write(json: string, md: string, report: SaturationReport): void {
    if (json !== "") writeFileSync(json, jsonText(report));
    if (md !== "") writeFileSync(md, reportMarkdown(report));
  }
}

function beside(path: string, tier: DurationTier): string {
  if (path === "") return "";
  const extension = extname(path);
  const base = path.slice(0, path.length - extension.length);
  return `${base}_${durationKey(tier.durationMs)}${extension}`;
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
