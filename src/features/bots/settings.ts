import { pathPattern } from "../../config/http-syntax.ts";
import { describe, type Kind, list, piece, type Spot, Wrong } from "../../config/piece.ts";
import { below, block, type ConfigOf, isFaultyAt, OFF, type Rows, type Values } from "../../config/row.ts";
import { cidr, duration, fileName, flag, integer, secret, word } from "../../config/scalars.ts";
import { CRAWLER_NAMES } from "./crawlers.ts";
import type { BrowserHandshake } from "./impostors.ts";

/** Names in a file of user agents, characters of each, and bytes of the file. docs/bots.md#what-is-suspicious */
const MAX_AGENT_NAMES = 2000;
export const MAX_AGENT_NAME_CHARS = 200;
const MAX_AGENTS_FILE_BYTES = 262_144;

const DAY_MS = 86_400_000;
/** Printable ASCII; shorter ones would be in most user agents. */
const AGENT_PART = new RegExp(`^[\\x20-\\x7e]{3,${MAX_AGENT_NAME_CHARS}}$`);
/** In `block`: all names of the built-in list. */
export const AI_CRAWLERS = "ai";
const BLOCKED_PART = new RegExp(`^ai$|${AGENT_PART.source}`);
const MIN_DIFFICULTY = 8;
const MAX_DIFFICULTY = 24;
/** From here on it takes a phone minutes. */
const LONG_DIFFICULTY = 20;
const MIN_SECRET_CHARS = 16;
const MAX_HANDSHAKES = 2000;
const HANDSHAKE_LINE = /^([A-Za-z][A-Za-z0-9_-]{1,31})[ \t]+([a-z0-9*]{1,12}_[0-9a-f*]{1,12}_[0-9a-f*]{1,12})$/;

const challenge = () => word("suspicious", "all", "off");
const difficulty = () => integer(MIN_DIFFICULTY, MAX_DIFFICULTY);
const ttl = () => duration(1000, 365 * DAY_MS);

const allow = block({
  crawlers: {
    type: list(word(...CRAWLER_NAMES), "crawlers"),
    default: CRAWLER_NAMES,
    doc: "search engines, verified by reverse DNS; [] is none",
  },
  user_agents: {
    type: list(agentPart(), "parts of user agents"),
    example: ["UptimeRobot/"],
    doc: "user agents that hold one of these texts; any client can claim one",
  },
  cidr: {
    type: list(cidr(), "networks"),
    example: ["192.0.2.0/24"],
    doc: "networks whose clients edge never challenges",
  },
  paths: {
    type: list(pathPattern(), "paths"),
    default: ["/robots.txt", "/.well-known/*", "/favicon.ico"],
    doc: "paths without a challenge: exact, or with * at the end",
  },
});

const routeAllow = block({
  crawlers: { type: allow.rows.crawlers.type, absent: null, example: ["googlebot"], doc: allow.rows.crawlers.doc },
  user_agents: {
    type: allow.rows.user_agents.type,
    absent: null,
    example: ["UptimeRobot/"],
    doc: allow.rows.user_agents.doc,
  },
  cidr: { type: allow.rows.cidr.type, absent: null, example: ["192.0.2.0/24"], doc: allow.rows.cidr.doc },
  paths: { type: allow.rows.paths.type, absent: null, example: ["/robots.txt", "/feed/*"], doc: allow.rows.paths.doc },
});

const robotsRows = {
  enabled: { type: flag(), default: true, doc: "false: requests for /robots.txt go to your routes" },
  ai: { type: word("disallow", "allow"), default: "disallow", doc: "the rule for crawlers that collect texts for AI" },
  agents_file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./ai-crawlers.txt",
    doc: "your own list of AI crawlers, one a line, in place of the built-in one",
  },
  rules_file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./robots.txt",
    doc: "your own rules, which follow the built-in ones",
  },
} as const satisfies Rows;

const robots = block(robotsRows, {
  absent: OFF,
  finish(_, { agents_file, rules_file }, spot) {
    const { files } = spot;
    return {
      agentsFile: files.absolute(agents_file),
      rulesFile: files.absolute(rules_file),
      // Null takes the built-in list.
      agents: agents_file === "" ? null : readAgents(agents_file, below(spot, "agents_file")),
      rules:
        rules_file === ""
          ? ""
          : files.contents([...spot.path, "rules_file"], rules_file, MAX_AGENTS_FILE_BYTES, "shorten it"),
    };
  },
  list({ enabled, ai, agentsFile, rulesFile }) {
    if (!enabled) return { enabled };
    return {
      ai,
      ...(agentsFile === "" ? {} : { agents_file: agentsFile }),
      ...(rulesFile === "" ? {} : { rules_file: rulesFile }),
    };
  },
});

const rows = {
  enabled: { type: flag(), default: true, doc: "false: edge judges no client" },
  challenge: {
    type: challenge(),
    default: "suspicious",
    guard: ["suspicious", "all"],
    doc: "which clients must send a proof of work first: suspicious, all or off",
  },
  difficulty: {
    type: difficulty(),
    default: 16,
    doc: "bits of work, each of which doubles it; 16 takes a browser well below a second",
  },
  ttl: { type: ttl(), default: "7d", doc: "how long one proof of work counts" },
  allow: { type: allow, doc: "clients that edge never challenges" },
  scrapers_file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./scrapers.txt",
    doc: "your own list of suspicious user agents, one a line, in place of the built-in one",
  },
  block: {
    type: list(blockedPart(), "parts of user agents, or ai"),
    default: [],
    example: ["ai", "BadBot/"],
    doc: "user agents with one of these texts get 403 on every route; ai stands for the built-in list of AI crawlers",
  },
  impostors: {
    type: word("off", "detection", "challenge", "block"),
    default: "off",
    guard: ["challenge", "block"],
    doc: "clients that claim to be a browser without the TLS handshake of one: detection logs, challenge, block (403)",
  },
  handshakes_file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./handshakes.txt",
    doc: "your own list of browsers and their JA4, in place of the built-in one",
  },
  secret: {
    type: secret("the secret"),
    absent: "",
    example: "${EDGE_BOTS_SECRET:-0123456789abcdef}",
    doc: "the key that signs proofs; use the same on all machines of a fleet",
  },
  robots: { type: robots, doc: "a /robots.txt from edge. Off without this section" },
} as const satisfies Rows;

/** `server.bots`. docs/bots.md */
export const bots = block(rows, {
  absent: OFF,
  isSwitch: true,
  check: checkBots,
  finish: (_, { scrapers_file, handshakes_file }, spot) => ({
    handshakesFile: spot.files.absolute(handshakes_file),
    // Null takes the built-in list.
    handshakes: handshakes_file === "" ? null : readHandshakes(handshakes_file, below(spot, "handshakes_file")),
    scrapersFile: spot.files.absolute(scrapers_file),
    // Null takes the built-in list.
    scrapers: scrapers_file === "" ? null : readAgents(scrapers_file, below(spot, "scrapers_file")),
  }),
  list({ enabled, scrapersFile, handshakesFile }, { enabled: _, ...lines }) {
    if (!enabled) return { enabled };
    return {
      ...lines,
      ...(scrapersFile === "" ? {} : { scrapers_file: scrapersFile }),
      ...(handshakesFile === "" ? {} : { handshakes_file: handshakesFile }),
    };
  },
});

/** What the server says of programs that pass for people. */
export type BotsConfig = ConfigOf<typeof bots>;

const routeRows = {
  enabled: { type: flag(), default: true, doc: "false: edge judges no client of this route" },
  challenge: { type: challenge(), absent: null, example: "all", doc: "in place of server.bots.challenge" },
  difficulty: { type: difficulty(), absent: null, example: 18, doc: "in place of server.bots.difficulty" },
  ttl: { type: ttl(), absent: null, example: "1h", doc: "in place of server.bots.ttl" },
  allow: { type: routeAllow, doc: "in place of server.bots.allow, key by key" },
} as const satisfies Rows;

/** `bots` at a route: what is not said is the server's. docs/bots.md#at-a-route */
export const routeBots = block(routeRows, { isSwitch: true, check: checkBots });

/** Who must solve a task at a route. */
export type RouteBots = Pick<
  BotsConfig,
  "enabled" | "challenge" | "difficulty" | "ttlMs" | "allow" | "impostors" | "block"
> & {
  /** Whether the route has a section of its own. */
  readonly isOwn: boolean;
};

/**
 * The settings in force at a route: its own, and for what they leave out the server's.
 * @param isOwn whether the route has a section of its own, which switches the task on where the server's is off
 */
export function botsAt(values: Values<typeof routeRows>, server: BotsConfig, isOwn: boolean, spot: Spot): RouteBots {
  const own = routeAllow.resolve(values.allow, below(spot, "allow"));
  return {
    enabled: values.enabled && (isOwn || server.enabled),
    challenge: values.challenge ?? server.challenge,
    difficulty: values.difficulty ?? server.difficulty,
    ttlMs: values.ttl ?? server.ttlMs,
    impostors: server.impostors,
    block: isOwn || server.enabled ? server.block : [],
    allow: {
      crawlers: own.crawlers ?? server.allow.crawlers,
      userAgents: own.userAgents ?? server.allow.userAgents,
      cidr: own.cidr ?? server.allow.cidr,
      paths: own.paths ?? server.allow.paths,
    },
    isOwn,
  };
}

/** Whether some client may be asked for a task, or be an impostor. */
export function asksClients({
  enabled,
  challenge: who,
  impostors,
}: Pick<RouteBots, "enabled" | "challenge" | "impostors">): boolean {
  return enabled && (who !== "off" || impostors !== "off");
}

/** Whether some client may be asked for a task, or be kept out by its name. */
export function judgesClients(bots: Pick<RouteBots, "enabled" | "challenge" | "impostors" | "block">): boolean {
  return asksClients(bots) || (bots.enabled && bots.block.length > 0);
}

interface CheckedValues {
  readonly enabled: boolean;
  readonly difficulty: number | null;
  readonly secret?: string;
  readonly allow: {
    readonly cidr: readonly { readonly text: string }[] | null;
    readonly paths: readonly string[] | null;
  };
}

function checkBots({ enabled, difficulty: bits, secret: key = "", allow: open }: CheckedValues, spot: Spot): void {
  const { log, path } = spot;
  if (!enabled) return;
  if (key !== "" && key.length < MIN_SECRET_CHARS && !isFaultyAt(spot, "secret"))
    log.fault([...path, "secret"], `expected a secret of ${MIN_SECRET_CHARS} characters at least`);
  if (bits !== null && bits > LONG_DIFFICULTY)
    log.warn([...path, "difficulty"], "keeps people with a phone waiting for minutes: each bit doubles the work");
  if (open.cidr?.some(({ text }) => text.endsWith("/0")) === true)
    log.warn([...path, "allow", "cidr"], "holds every address of its kind: edge challenges none of these clients");
  if (open.paths?.includes("/*") === true)
    log.warn([...path, "allow", "paths"], "opens every path: edge challenges no client");
}

/** A part of a user agent, as a name to look for. */
function agentPart(): Kind<string> {
  return piece(
    (value) => {
      const part = typeof value === "string" ? value.trim() : "";
      return AGENT_PART.test(part)
        ? part
        : new Wrong(`expected a part of a user agent, 3 to 200 plain characters, found ${describe(value)}`);
    },
    { is: "text", pattern: AGENT_PART },
  );
}

/** The same, or `ai`. */
function blockedPart(): Kind<string> {
  return piece(
    (value) => {
      const part = typeof value === "string" ? value.trim() : "";
      return part === AI_CRAWLERS || AGENT_PART.test(part)
        ? part
        : new Wrong(`expected ai, or a part of a user agent, 3 to 200 plain characters, found ${describe(value)}`);
    },
    { is: "text", pattern: BLOCKED_PART },
  );
}

/** A browser, and the JA4 of one of its handshakes, in lines of a file. */
function readHandshakes(file: string, { path, log, files }: Spot): readonly BrowserHandshake[] {
  const text = files.contents(path, file, MAX_AGENTS_FILE_BYTES, "shorten it");
  const found: BrowserHandshake[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    const words = line.trim();
    if (words === "" || words.startsWith("#")) continue;
    const parts = HANDSHAKE_LINE.exec(words);
    if (parts === null)
      log.fault(path, `line ${i + 1}: expected a browser and a JA4, such as chrome t13d1516h2_8daaf6152771_*`);
    else found.push({ name: parts[1]!.toLowerCase(), ja4: parts[2]! });
  }
  if (found.length > MAX_HANDSHAKES) log.fault(path, `expected at most ${MAX_HANDSHAKES} lines, found ${found.length}`);
  return found;
}

/** The names in a file, one a line; `#` begins a comment. Faults name the line. */
function readAgents(file: string, { path, log, files }: Spot): readonly string[] {
  const text = files.contents(path, file, MAX_AGENTS_FILE_BYTES, "shorten it");
  const names: string[] = [];
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const comment = line.search(/(?:^|\s)#/);
    const name = (comment < 0 ? line : line.slice(0, comment)).trim();
    if (name === "") continue;
    if (AGENT_PART.test(name)) names.push(name);
    else
      log.fault(path, `line ${i + 1}: expected a part of a user agent, 3 to ${MAX_AGENT_NAME_CHARS} plain characters`);
  }
  if (names.length > MAX_AGENT_NAMES)
    log.fault(path, `expected at most ${MAX_AGENT_NAMES} names, found ${names.length}`);
  if (names.length === 0 && !log.isFaulty(path)) log.warn(path, "has no names");
  return names;
}
