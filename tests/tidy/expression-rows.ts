// What the rule about regular expressions lets pass, and examples of the expressions that are put together as the gateway runs.

import { anyOf } from "../../src/features/bots/agents.ts";
import { PASS_COOKIE, SOLUTION_COOKIE } from "../../src/features/bots/bot-tokens.ts";
import { MAX_AGENT_NAME_CHARS } from "../../src/features/bots/settings.ts";
import { withheldFiles } from "../../src/features/files/script-finder.ts";
import { LEAK_LEAD_CHARS, LEAK_REST_CHARS, LEAK_RULES } from "../../src/features/waf/responses/leak-rules.ts";

/** Expressions that may cost more than linear time, since their input is short. */
export interface ShortInput {
  readonly path: string;
  /** Most characters that they are ever tried on. */
  readonly maxChars: number;
  /** What bounds it, and who writes it. */
  readonly why: string;
  /** As they are written, without `String.raw`. */
  readonly texts: readonly string[];
}

/** The code of the gateway, without the endpoints that are there to hold a worker, in the build for tests alone. */
export function isJudged(path: string): boolean {
  return /^(?:bin|src)\//.test(path) && path !== "src/worker/test-hooks.ts";
}

const { raw } = String;

/** Each is run on what is worst for it, at full length, by tests/property/expression-cost.test.ts. */
export const SHORT_INPUTS: readonly ShortInput[] = [
  {
    path: "src/features/waf/detectors/strict-sql.ts",
    maxChars: 97,
    why: "the shape of a value has one letter a token, MAX_TOKENS at most, and one in front",
    texts: [
      raw`/^[OW]+[(WO]*([SNVFK(]|B[SOW])/`,
      raw`/^(W+|OO?(?=[SF(]))[(WO]*([NVFK]|S[OWCS])/`,
      raw`/(?:[NSVFB)]|^)[OW]+[(W]*[NSVFB(]/`,
      raw`/[NSV)]C$|[NS)]C.*[Kk]/`,
      raw`/S[OW]+[(W]*[SNVFB]/`,
      raw`/W[(O]*[NSV]\)*O+[(O]*[NSV]/`,
      raw`/W\(?F\(|F\(+[KF]|KF\(|F\(+k?\(*\)[)O]/`,
      raw`/k.*W.*k/`,
    ],
  },
  {
    path: "src/features/waf/responses/leak-rules.ts",
    maxChars: LEAK_LEAD_CHARS + LEAK_REST_CHARS,
    why: "a sign looks at so many characters around its words, at MAX_TRIES places of a piece",
    texts: LEAK_RULES.flatMap(({ signs }) =>
      signs.flatMap(({ around }) => (around === undefined ? [] : String(around))),
    ),
  },
];

/** Expressions that are put together: of what, and examples of them. */
export interface MadeExpressions {
  readonly path: string;
  /** How often one is made in the file. */
  readonly calls: number;
  readonly of: string;
  readonly examples: readonly RegExp[];
}

export const MADE: readonly MadeExpressions[] = [
  {
    path: "src/explain/redirect-loops.ts",
    calls: 1,
    of: "a label of this program",
    examples: [/^https?:\/\/edge-check-sample\.invalid/],
  },
  { path: "src/cli/flags.ts", calls: 1, of: "names of flags", examples: [/^--?(?:config|c)(?:=(.*))?$/s] },
  {
    path: "src/features/bots/settings.ts",
    calls: 2,
    of: "a number",
    examples: [
      new RegExp(`^[\\x20-\\x7e]{3,${MAX_AGENT_NAME_CHARS}}$`),
      new RegExp(`^ai$|^[\\x20-\\x7e]{3,${MAX_AGENT_NAME_CHARS}}$`),
    ],
  },
  {
    path: "src/features/bots/agents.ts",
    calls: 1,
    of: "names of crawlers, as they are",
    examples: [anyOf(["GPTBot", "Claude-Web", "aaaa", "aa"])!],
  },
  {
    path: "src/features/bots/bot-phase.ts",
    calls: 2,
    of: "names of cookies",
    examples: [
      new RegExp(`${PASS_COOKIE}|${SOLUTION_COOKIE}`),
      new RegExp(`^\\s*(${PASS_COOKIE}|${SOLUTION_COOKIE})\\s*=`),
    ],
  },
  {
    path: "src/features/files/script-finder.ts",
    calls: 2,
    of: "ends of the names of scripts, as they are",
    examples: [withheldFiles([".php", ".phtml"]), /(?:\.php|\.phtml)[. ]*(?:\/|$)/i],
  },
  {
    path: "src/features/functions/thread/function-thread.ts",
    calls: 1,
    of: "a name that a module exports",
    examples: [/\bonRequest\s*[(:=]/g],
  },
  {
    path: "src/features/fleet/remote/kept-pair.ts",
    calls: 1,
    of: "digits of a hash",
    examples: [/^(config|routes)-0a1b2c-.*|^kept-0a1b2c\.json\..*/],
  },
  {
    path: "src/features/telemetry/rotating-file.ts",
    calls: 1,
    of: "the name of the log, as it is",
    examples: [/^access-\d{8}T\d{6}(-\d+)?\.log(\.zst|\.gz)?$/],
  },
  {
    path: "src/features/waf/responses/leak-rules.ts",
    calls: 6,
    of: "the ways to write a quote and the end of a line",
    examples: LEAK_RULES.flatMap(({ signs }) => signs.flatMap(({ around }) => around ?? [])),
  },
  {
    path: "src/features/functions/schedule.ts",
    calls: 1,
    of: "names of days and months",
    examples: [/^[\d*,/-]+$/i, /^(?:[\d*,/-]|sun|mon|tue|wed|thu|fri|sat)+$/i],
  },
];
