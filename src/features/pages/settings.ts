import type { PageFile } from "../../config/configured-file.ts";
import { parseDuration } from "../../config/duration.ts";
import { TEXT } from "../../config/form.ts";
import { type Kind, list, pairs, piece, resolved, type Spot, Wrong, written } from "../../config/piece.ts";
import { block, type ConfigOf, orWritten } from "../../config/row.ts";
import { cidr, duration, fileName, flag } from "../../config/scalars.ts";

// What is shown in place of refusals: `errors` and `maintenance`, of the server or of a route.

/** `errors`: pages by status or class, and whether they also take the place of what origins say. docs/pages.md#pages-of-your-own */
export interface ErrorPages {
  readonly pages: readonly ErrorPage[];
  /** Null if the key is not there. */
  readonly intercept: boolean | null;
}

/** A page and what it is for: `404`, or `5xx`. */
interface ErrorPage {
  readonly status: string;
  readonly page: PageFile;
}

/** The key `errors`. */
export function errorPages(): Kind<[string, string | boolean][], ErrorPages> {
  const lines = pairs(pageOrFlag(), "404: ./404.html");
  const kind = resolved(lines, (found, spot): ErrorPages => {
    let intercept: boolean | null = null;
    const pages: ErrorPage[] = [];
    for (const [name, value] of found) {
      if (name === INTERCEPT) intercept = interceptOf(value, spot);
      else pages.push(...pageAt(name.toLowerCase(), value, { ...spot, path: [...spot.path, name] }));
    }
    return { pages, intercept };
  });
  return written(kind, ({ pages, intercept }) => ({
    ...Object.fromEntries(pages.map(({ status, page }) => [status, page.file])),
    ...(intercept === null ? {} : { intercept }),
  })) as Kind<[string, string | boolean][], ErrorPages>;
}

function pageOrFlag(): Kind<string | boolean> {
  const name = fileName();
  return piece(
    (value) => {
      if (typeof value === "boolean") return value;
      const result = name["~run"]({ value }, {});
      return result.issues === undefined ? (result.value as string) : new Wrong(result.issues[0].message);
    },
    { is: "either", forms: [{ is: "flag" }, name.form] },
  );
}

function interceptOf(value: string | boolean, { path, log }: Spot): boolean {
  if (typeof value === "boolean" || value === "true" || value === "false") return String(value) === "true";
  log.fault([...path, INTERCEPT], "expected true or false: whether errors of the origin get these pages, too");
  return false;
}

function pageAt(status: string, value: string | boolean, { path, log, files }: Spot): ErrorPage[] {
  if (!STATUS.test(status)) {
    log.fault(path, "expected a status from 400 to 599, a class (4xx or 5xx), or intercept", true);
    return [];
  }
  if (typeof value === "boolean" || value === "") {
    log.fault(path, "expected the name of an HTML file, such as ./404.html");
    return [];
  }
  const page = files.page(path, value);
  return page === null ? [] : [{ status, page }];
}

const DAY_MS = 86_400_000;
const RETRY_AFTER = "5m";

const maintenanceBlock = block(
  {
    enabled: { type: flag(), default: true, doc: "false: requests go to your routes" },
    page: {
      type: written(
        resolved(fileName(), (name, { files, path }) => files.page(path, name)),
        (page) => page?.file ?? "",
      ) as Kind<string, PageFile | null>,
      absent: null,
      example: "./maintenance.html",
      doc: "your page for browsers; a built-in one by default",
    },
    allow: { type: list(cidr(), "networks"), example: ["192.0.2.0/24"], doc: "networks that get in all the same" },
    retry_after: { type: duration(1000, DAY_MS), default: RETRY_AFTER, doc: "time after which clients may come again" },
  },
  { isSwitch: true },
);

/** `maintenance`: everything but the built-in endpoints is 503. A bare text is the name of the page. docs/pages.md#maintenance */
export const maintenance: typeof maintenanceBlock = orWritten(maintenanceBlock, TEXT, (value) => {
  if (typeof value !== "string") return value;
  return value === "true" || value === "false" ? { enabled: value } : { page: value };
});

/** What `maintenance` says, where it is there. */
export type MaintenanceConfig = ConfigOf<typeof maintenanceBlock>;

/** Maintenance that an operator switches on where the files say nothing of it. */
export const PLAIN_MAINTENANCE: MaintenanceConfig = {
  enabled: true,
  page: null,
  allow: [],
  retryAfterMs: parseDuration(RETRY_AFTER),
};

/** For the settings references. */
export const ERROR_PAGES_EXAMPLE = { 404: "./404.html", "5xx": "./sorry.html", intercept: true };

const INTERCEPT = "intercept";
const STATUS = /^([45]\d\d|[45]xx)$/;
