import { ERROR, numberField, OK, optional, textField } from "../../core/event-row.ts";

/** Events of bans in the log. docs/bans.md */
export const BAN_EVENTS = {
  client_banned: {
    meaning:
      "A client is banned for a while: too many of its requests were refused, or an operator or the fleet wants it.",
    advice:
      "You do not need to do anything. If the client is yours, check the reasons of its refusals, lift the ban with `edge bans rm`, and add it to `bans.allow`.",
    fields: {
      client_ip: textField("its address, or the /64 or network"),
      source: textField("blocks, operator or fleet"),
      until: textField("when the ban ends"),
      count: numberField("bans of this client in a row: each is twice as long"),
    },
  },
  ban_lifted: {
    meaning: "A ban was lifted before its end.",
    advice: "You do not need to do anything.",
    fields: {
      client_ip: textField("the address, the /64 or the network"),
      source: textField("operator or fleet"),
    },
  },
  ban_feed: {
    meaning: "A list of addresses to ban has changed. With `ok: false`, `error` says why the list before stays.",
    advice: "With `ok: false`, check the program that makes the list. It is not logged again until that changes.",
    fields: {
      ok: OK,
      feed: textField("its file or URL"),
      networks: optional(numberField("how many networks it has")),
      skipped: optional(numberField("lines that are left out")),
      error: optional(ERROR),
    },
  },
} as const;
