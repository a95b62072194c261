import { writeFileSync } from "node:fs";
import { extname } from "node:path";
import { writeFault } from "../writable-file.ts";
import { consolidate } from "./consolidated-report.ts";
import { type DurationTier, durationKey } from "./duration-tier.ts";
import { reportCsv } from "./report-csv.ts";
import { type ReportPage, reportHtml } from "./report-html.ts";
import { consolidatedMarkdown, reportMarkdown, sweepMarkdown } from "./report-markdown.ts";
import type { SaturationReport } from "./saturation-report.ts";

/** Where the reports go; "" for one that is not wanted, "-" for the standard output. */
interface ReportPaths {
  readonly json: string;
  readonly csv: string;
  readonly md: string;
  readonly html: string;
}

/**
 * Writes reports: with one tier to the paths as they are; with several, one JSON and one Markdown file a tier beside
 * them (`report_60s.json`), and all tiers together to the paths as they are.
 */
export class ReportFiles {
  private readonly isSingle: boolean;

  /** @param out takes what goes to the standard output */
  constructor(
    private readonly paths: ReportPaths,
    private readonly tiers: readonly DurationTier[],
    private readonly out: (text: string) => void,
  ) {
    this.isSingle = tiers.length === 1;
  }

  /** Whether a report goes to the standard output, so that nothing else may. */
  get takesOutput(): boolean {
    return Object.values(this.paths).includes(OUTPUT);
  }

  /** Every file that will be written. */
  get all(): string[] {
    const { json, csv, md, html } = this.paths;
    const perTier = this.isSingle ? [] : this.tiers.flatMap((tier) => [beside(json, tier), beside(md, tier)]);
    return [json, csv, md, html, ...perTier].filter((path) => path !== "");
  }

  /** Looks whether every file can be written, and leaves no trace. Gives a text about the first that cannot, or "". */
  fault(): string {
    const seen = new Set<string>();
    for (const path of this.all) {
      if (seen.has(path))
        return path === OUTPUT ? "only one report can go to standard output" : `${path} is named twice`;
      seen.add(path);
      const fault = path === OUTPUT ? "" : writeFault(path);
      if (fault !== "") return fault;
    }
    return "";
  }

  /** Writes the files of one tier, when there are several. Throws what the system says. */
  writeTier(tier: DurationTier, report: SaturationReport): void {
    if (!this.isSingle) this.writeOne(beside(this.paths.json, tier), beside(this.paths.md, tier), report);
  }

  /** Writes the files of the whole call; `page.reports` holds one of each tier or rate that ran. Throws what the system says. */
  writeAll(page: ReportPage): void {
    const { json, csv, md, html } = this.paths;
    const { reports, sweep } = page;
    this.write(csv, () => reportCsv(reports));
    this.write(html, () => reportHtml(page));
    if (sweep !== null) {
      this.write(json, () => jsonText({ ...sweep, tiers: reports }));
      this.write(md, () => sweepMarkdown(sweep));
    } else if (this.isSingle) this.writeOne(json, md, reports[0]!);
    else {
      const whole = consolidate(reports);
      this.write(json, () => jsonText(whole));
      this.write(md, () => consolidatedMarkdown(whole));
    }
  }

  private writeOne(json: string, md: string, report: SaturationReport): void {
    this.write(json, () => jsonText(report));
    this.write(md, () => reportMarkdown(report));
  }

  private write(path: string, text: () => string): void {
    if (path === OUTPUT) this.out(text());
    else if (path !== "") writeFileSync(path, text());
  }
}

function beside(path: string, tier: DurationTier): string {
  if (path === "" || path === OUTPUT) return "";
  const extension = extname(path);
  const base = path.slice(0, path.length - extension.length);
  return `${base}_${durationKey(tier.durationMs)}${extension}`;
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

const OUTPUT = "-";
