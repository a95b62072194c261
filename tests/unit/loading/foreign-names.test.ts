import { describe, expect, test } from "bun:test";
import type { ForeignKeys } from "../../../src/config/foreign-names.ts";
import { FOREIGN_CACHE_KEYS } from "../../../src/features/cache/settings.ts";
import { FOREIGN_LIMIT_KEYS } from "../../../src/features/limit/foreign-limit-keys.ts";
import { KeyList } from "../../../src/loading/key-list.ts";
import { FOREIGN_ROUTE_KEYS } from "../../../src/routes/foreign-route-keys.ts";
import { FOREIGN_SECTIONS, FOREIGN_SERVER_KEYS } from "../../../src/settings/foreign-server-keys.ts";

const list = new KeyList();
/** Words of which the advice may say "no" or "without", each read by a person. */
const LACKS: ReadonlySet<string> = new Set(["try_files", "websocket"]);
const TABLES: readonly (readonly [string, readonly ForeignKeys[]])[] = [
  ["routes", FOREIGN_ROUTE_KEYS],
  ["server", FOREIGN_SERVER_KEYS],
  ["server.cache", FOREIGN_CACHE_KEYS],
  ["server.rate_limit", FOREIGN_LIMIT_KEYS],
  ["", FOREIGN_SECTIONS],
];

/** A key, also where its section is the same as another. */
function isKey(section: string, path: string): boolean {
  const key = list.ofFault(section === "" ? path : `${section}.${path}`);
  return key !== "" && key.split(".").at(-1) === path.split(".").at(-1);
}

describe.each(TABLES)("words of other products at %s", (section, table) => {
  test("lead to keys that are there", () => {
    const gone = table.flatMap(({ keys }) => keys.filter((key) => !isKey(section, key)));
    expect(gone).toEqual([]);
  });

  test("are no keys here that every entry has", () => {
    const known = table.flatMap(({ names }) =>
      names.filter((name) => list.find(`${section}.${name}`)?.types.length === 0),
    );
    expect(known).toEqual([]);
  });

  test("say of nothing that edge does not have it", () => {
    const denied = table.filter(({ advice }) => /\b(no|not|without|none)\b(?! is needed)/.test(advice));
    expect(denied.map(({ names: [name] }) => name).filter((name) => !LACKS.has(name!))).toEqual([]);
  });

  test("name every key of their advice", () => {
    const all = new Set(list.keys.map(({ path }) => path.split(".").at(-1)!));
    for (const { names, keys, advice } of table) {
      const called = /^unknown key: here it is called (\w+)/.exec(advice)?.[1];
      if (called === undefined) continue;
      expect([names[0], all.has(called)]).toEqual([names[0], true]);
      expect(keys.some((key) => key.split(".")[0] === called)).toBe(true);
    }
  });
});
