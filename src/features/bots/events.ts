import { OF_REQUEST, OF_TARGET, ROUTE, STATUS, textField } from "../../core/event-row.ts";

/** What challenges for bots write to the log. docs/bots.md */
export const BOT_EVENTS = {
  bot_challenge: {
    meaning: "403: the gateway asked a client for proof of work (`server.bots`).",
    advice: "You do not need to do anything. If your users complain, check `reason` and allow their clients.",
    perSecond: 20,
    fields: {
      ...OF_REQUEST,
      ...OF_TARGET,
      route: ROUTE,
      reason: textField("the suspicious sign, or all"),
      solution: textField("why the solution that it brought does not count, else none"),
      form: textField("page, or json for a program"),
      user_agent: textField("its User-Agent"),
      status: STATUS,
    },
  },
  bot_impostor: {
    meaning: "A client names a browser, and has a TLS handshake that is none of this browser (`bots.impostors`).",
    advice: "If a browser is among them, add `ja4` to `bots.handshakes_file`.",
    perSecond: 20,
    fields: {
      ...OF_REQUEST,
      ...OF_TARGET,
      route: ROUTE,
      action: textField("detection, challenge or block"),
      ja4: textField("its fingerprint"),
      user_agent: textField("its User-Agent"),
    },
  },
  bot_solved: {
    meaning: "A browser has sent its proof of work and got a pass.",
    advice: "You do not need to do anything.",
    perSecond: 20,
    fields: { ...OF_REQUEST, route: ROUTE },
  },
} as const;
