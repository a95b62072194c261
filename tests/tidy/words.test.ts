import { describe, expect, test } from "bun:test";
import { WORDS_AS_DATA } from "./exceptions.ts";
import { PROJECT_FILES, projectText } from "./project-files.ts";

interface BannedWord {
  readonly why: string;
  readonly pattern: RegExp;
  readonly where: RegExp;
}

// What users and engineers read. Test names and the change log keep the words of their time.
const PROSE = /^(src|docs|scripts|bin)\/|^(README|ARCHITECTURE|CONTRIBUTING|SECURITY)\.md$|^(config|routes)\.yaml$/;

// The patterns are put together from parts, so that this file keeps its own rule. `$bunfs` is Bun's name for the files
// inside a compiled binary.
const BANNED: readonly BannedWord[] = [
  {
    why: "a path of one machine",
    pattern: new RegExp("(?<!\\$bunfs)/(wo" + "rk|ro" + "ot|tmp/bunbo" + "ot)/"),
    where: /./,
  },
  { why: "unfinished", pattern: new RegExp(`\\b(TO${"DO"}|FIX${"ME"}|X${"XX"})\\b`), where: /^(?!bun\.lock$)/ },
  { why: "leaves other tests out", pattern: new RegExp("\\.only" + "\\("), where: /^tests\/.*\.ts$/ },
  {
    why: "not plain English: name the client, worker, process, connection or stream",
    pattern: new RegExp(
      `\\b(no${"body"}|some${"body"}|any${"body"}|every${"body"}|who${"ever"}|who${"mever"})\\b`,
      "i",
    ),
    where: PROSE,
  },
  {
    why: "not plain English: is notified of, receives; even, or; failed, in vain",
    pattern: new RegExp(`\\b(hear${"s?"} of|be${" it"}|came to no${"thing"})\\b`, "i"),
    where: PROSE,
  },
  {
    why: "one vocabulary: a response goes to a client or comes from an origin; to answer is the verb. docs/README.md",
    pattern: new RegExp(
      "(?<![.\\w/-])(the|an?|its|no|each|every|any|whole|stored|cached|stale|prebuilt|interim|final|proxied|fixed|own|of|in|malformed" +
        `|\\w+'s) (ans${"wer"}|rep${"ly"})(s|'s|s')?(?![\\w.-]*\\(|\\.\\w|-\\w)\\b|\\bans${"wers?"} (of|from|that (is|are|was|were))\\b`,
      "i",
    ),
    where: PROSE,
  },
  {
    why: "machines are it",
    pattern: new RegExp(`\\b(h${"e"}|h${"im"}|h${"is"}|h${"imself"})\\b`, "i"),
    where: PROSE,
  },
  {
    why: "a private name: say owner, table, handler, responder",
    pattern: new RegExp(`\\b([A-Z]\\w*(De${"sk"}|Kee${"per"}|He${"ir"}))\\b`),
    where: /^src\//,
  },
  { why: "an address of a registry", pattern: /https?:\/\//, where: /^bun\.lock$/ },
];

function wordFaults(path: string, text: string): string[] {
  const rules = BANNED.filter((rule) => rule.where.test(path));
  return text.split("\n").flatMap((line, index) =>
    rules.flatMap((rule) => {
      const match = rule.pattern.exec(line);
      return match === null ? [] : [`${path}:${index + 1}: ${match[0]} (${rule.why})`];
    }),
  );
}

const found = PROJECT_FILES.map((path) => ({ path, faults: wordFaults(path, projectText(path) ?? "") }));

describe("words", () => {
  test("no text holds a word that does not belong there", () => {
    expect(found.filter(({ path }) => !(path in WORDS_AS_DATA)).flatMap(({ faults }) => faults)).toEqual([]);
  });

  test("every exception is still needed", () => {
    const needed = found.filter(({ faults }) => faults.length > 0).map(({ path }) => path);
    expect(Object.keys(WORDS_AS_DATA).filter((path) => !needed.includes(path))).toEqual([]);
  });

  test.each([
    ["src/core/a.ts", "// see /wo" + "rk/notes"],
    ["src/core/a.ts", "// TO" + "DO later"],
    ["src/core/a.ts", "// No" + "body waits"],
    ["docs/wire.md", "the client hears" + " of it"],
    ["docs/wire.md", "Each part of the rep" + "ly is sent."],
    ["src/core/a.ts", "// A stored ans" + "wer is sent"],
    ["src/core/a.ts", "/** The peer and h" + "is socket. */"],
    ["src/app/a.ts", "class CacheKee" + "per {"],
    ["tests/unit/a.test.ts", "test.on" + "ly('x', f)"],
    ["bun.lock", '"x": ["x@1.0.0", "https://registry.example/x-1.0.0.tgz", {}]'],
  ])("a word is found in %s", (path, text) => {
    expect(wordFaults(path, text)).toHaveLength(1);
  });

  test("harmless texts pass", () => {
    expect(
      wordFaults("src/core/a.ts", "import x from '/$bunfs/ro" + "ot/edge'; // framework/x, mktemp x.XXXXXX"),
    ).toEqual([]);
  });
});
