// Peers choose how small the pieces are that they send: an object for each of them takes a hundred times its bytes. What waits of them is
// kept by `src/core/kept-bytes.ts`, or copied into a buffer of one's own.
import { expect, test } from "bun:test";
import { SOURCE_MODULES } from "./source-module.ts";

/** A list of copies, one for each piece. */
const COPY_FOR_EACH = /\.push\(\s*Buffer\.from\(\s*\w+(\.subarray\(|\s*[,)])/;
/** A list of the pieces themselves. */
const LIST_OF_PIECES = /private (readonly )?#?(held|waiting|kept|pieces|backlog): (Uint8Array|Buffer)\[\] = /;

/** Lists that a bound of their own keeps short. */
const SHORT: ReadonlySet<string> = new Set([
  // Blocks, which are this file's work.
  "src/core/kept-bytes.ts",
  // What a codec gives, whose pieces it chooses itself.
  "src/features/compress/compressed-stream.ts",
  // Datagrams, which are counted one by one.
  "src/streams/datagrams.ts",
  // Messages of one piece that has come, and no more: the upstream is held meanwhile.
  "src/features/transcode/response-messages.ts",
]);

function keepsPieces(text: string): boolean {
  return COPY_FOR_EACH.test(text) || LIST_OF_PIECES.test(text);
}

test("no list grows by one object for each piece that a peer sends", () => {
  const found = SOURCE_MODULES.filter(
    ({ path, text }) => path.startsWith("src/") && !path.startsWith("src/cli/") && keepsPieces(text),
  );
  expect(found.map(({ path }) => path).filter((path) => !SHORT.has(path))).toEqual([]);
  expect([...SHORT].filter((path) => !found.some((one) => one.path === path))).toEqual([]);
});

test.each([
  "this.pieces.push(Buffer.from(bytes.subarray(from, to)));",
  "all.push(Buffer.from(piece));",
  "  private readonly held: Uint8Array[] = [];",
])("it is found in %s", (text) => expect(keepsPieces(text)).toBe(true));
