import { PageText } from "./page-text.ts";
import type { ErrorPages } from "./settings.ts";

/** The pages of one place: a status before its class, and both before what the place around it has. docs/pages.md#pages-of-your-own */
export class StatusPages {
  private readonly pages: ReadonlyMap<string, PageText>;
  private readonly around: StatusPages | null;

  constructor({ pages }: ErrorPages, around: StatusPages | null) {
    this.pages = new Map(pages.map(({ status, page }) => [status, new PageText(page.html)]));
    this.around = around;
  }

  /** The page for a status, or null. */
  find(status: number): PageText | null {
    const own = this.pages.get(String(status)) ?? this.pages.get(`${Math.floor(status / 100)}xx`);
    return own ?? this.around?.find(status) ?? null;
  }
}
