import { ERROR, numberField, OK, optional, textField, texts } from "../../core/event-row.ts";

/** What lists in files write to the log. docs/answers.md#lists */
export const LIST_EVENTS = {
  list_reload: {
    meaning:
      "A list in a file has changed: redirects, a map or API keys. With `ok: false`, `error` says why the list before stays.",
    advice: "With `ok: false`, write your file anew. Fix the lines that `broken` names: the others serve.",
    fields: {
      ok: OK,
      list: textField("redirects, map or keys"),
      file: textField("its file"),
      entries: optional(numberField("how many entries it has")),
      broken_lines: optional(numberField("lines that are left out")),
      broken: optional(texts("the first of them, each with its number")),
      error: optional(ERROR),
    },
  },
} as const;
