import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { AI_CRAWLER_NAMES } from "./agent-names.ts";

/** What robots.txt says. */
interface RobotsSettings {
  readonly ai: "disallow" | "allow";
  /** Names of crawlers for AI; null takes the built-in list. */
  readonly agents: readonly string[] | null;
  /** Rules that follow, one character a byte. */
  readonly rules: string;
}

/** Serves `/robots.txt`. RFC 9309, docs/bots.md#robotstxt */
export class RobotsHandler implements Handler {
  readonly name = "robots";
  private readonly response: PrebuiltResponse;

  constructor(settings: RobotsSettings) {
    const fields = [
      ["Content-Type", "text/plain; charset=utf-8"],
      ["Cache-Control", "public, max-age=3600"],
    ] as const;
    this.response = new PrebuiltResponse(200, fields, Buffer.from(robotsText(settings), "latin1"));
  }

  handle(ex: Exchange): Verdict {
    ex.sink.fixed(ex, this.response);
    return Verdict.Done;
  }
}

/** RFC 9309 §2.2.1: a crawler goes by the group that names it, all others by that of the star. */
function robotsText({ ai, agents, rules }: RobotsSettings): string {
  const names = ai === "disallow" ? (agents ?? AI_CRAWLER_NAMES) : [];
  const group = names.length === 0 ? "" : `${names.map((name) => `User-agent: ${name}\n`).join("")}Disallow: /\n\n`;
  return group + (rules.trim() === "" ? "User-agent: *\nDisallow:\n" : `${rules.trimEnd()}\n`);
}
