import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inFolder, load } from "../../loading/config-case.ts";

const HASH = "$2y$10$AcDvzOS67HmwF6gPp3qkPOWsp1A9Yk7i4e9zMR0a1nQkGvGSYy4fK";
const CURE = 'make a new one with "edge passwd NAME" or htpasswd -B';

/** What a users file gives: its names, or the faults and warnings of the configuration. */
function usersOf(text: string): readonly string[] {
  return inFolder((dir) => {
    writeFileSync(join(dir, "config.yaml"), "server: {auth: {basic: {users_file: ./users}}}\n");
    writeFileSync(join(dir, "routes.yaml"), "[]\n");
    writeFileSync(join(dir, "users"), text);
    const result = load(dir, {});
    if (!result.ok) return result.faults.map(({ line, col, message }) => `${line}:${col}: ${message}`);
    return result.config.server.auth.basic!.users.map(({ name }) => name);
  });
}

test("names, comments, empty lines, further fields and line ends of other systems", () => {
  expect(usersOf(`# people\nalice:${HASH}\r\n\nbjörn@example.com:${HASH}:Björn\n`)).toEqual([
    "alice",
    "björn@example.com",
  ]);
});

test.each([
  ["alice", "line 1: expected name:hash"],
  [`:${HASH}`, "line 1: expected name:hash"],
  ["\nalice:hunter2", `line 2: expected a bcrypt or argon2id hash: ${CURE}`],
  ["alice:$apr1$abcdefgh$0123456789abcdefghijkl", `line 1: MD5 is too weak to be used: ${CURE}`],
  ["alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", `line 1: SHA-1 is too weak to be used: ${CURE}`],
  ["alice:rqXexS6ZhobKA", `line 1: crypt is too weak to be used: ${CURE}`],
  [`alice:${HASH}\nbob:${HASH}\nalice:${HASH}`, "line 3: the same name as line 1: remove one"],
  [
    "alice:$argon2id$v=19$m=1048576,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA",
    "line 1: an argon2 hash of at most 256 MiB is verified",
  ],
])("%j is a fault with its line, and without the hash", (text, fault) => {
  expect(usersOf(`${text}\n`)).toEqual([`1:37: ${fault}`]);
});
