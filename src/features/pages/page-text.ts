import { escapeHtml } from "../../core/printable.ts";
import { reasonOf } from "../../core/status.ts";

/** What a page says of one response. */
export interface PageFacts {
  readonly status: number;
  /** Of printable ASCII, as the log has it. */
  readonly requestId: string;
}

/**
 * A page in HTML in which `{status}`, `{reason}` and `{request_id}` are filled in. Nothing else of it is examined: a page
 * may be full of braces. docs/pages.md#the-built-in-page
 */
export class PageText {
  /** Texts and names of placeholders in turns, beginning and ending with a text. */
  private readonly parts: readonly string[];

  constructor(html: string) {
    this.parts = html.split(PLACEHOLDER);
  }

  /** The page for one response. */
  fill({ status, requestId }: PageFacts): string {
    const values: Readonly<Record<string, string>> = {
      status: String(status),
      reason: escapeHtml(reasonOf(status)),
      request_id: escapeHtml(requestId),
    };
    return this.parts.map((part, i) => (i % 2 === 0 ? part : values[part]!)).join("");
  }
}

const PLACEHOLDER = /\{(status|reason|request_id)\}/;
