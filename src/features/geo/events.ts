import { ERROR, OK, optional, textField } from "../../core/event-row.ts";

/** What databases of addresses write to the log. docs/guards.md#countries-and-networks */
export const GEO_EVENTS = {
  geo_reload: {
    meaning: "A database of addresses has changed. With `ok: false`, `error` says why the one before stays.",
    advice: "With `ok: false`, fetch your file again.",
    fields: {
      ok: OK,
      database: textField("country_db or asn_db"),
      file: textField("its file"),
      built: optional(textField("when it was built")),
      error: optional(ERROR),
    },
  },
} as const;
