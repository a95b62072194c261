import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Gateway } from "../../harness/gateway.ts";
import { startRecipe } from "../../harness/recipe.ts";
import { Application, PYTHON } from "./application.ts";

if (PYTHON === null) console.log("skipped: Datasette is not here (scripts/install-peers, from PyPI)");

const ROWS = 5000;

describe.skipIf(PYTHON === null)("Datasette", () => {
  let server: Application;
  let gateway: Gateway;

  beforeAll(async () => {
    server = await Application.start({
      path: "/-/versions.json",
      prepare: fill,
      command: (port, folder) => [
        ...[PYTHON!, "-m", "datasette", "serve", "--host=127.0.0.1", `--port=${port}`, join(folder, "data.db")],
      ],
    });
    gateway = await startRecipe("recipes.md", "Datasette", { "http://127.0.0.1:8001": server.url });
  }, 90_000);
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  }, 30_000);

  const get = (path: string, query: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${gateway.port}${path}?${new URLSearchParams(query)}`);

  test.each<[string, string, Record<string, string>, string]>([
    ["the list of tables", "/data", {}, "buyers"],
    ["a table", "/data/buyers", {}, "5,000 rows"],
    ["a filter with a quote", "/data/buyers", { name__contains: "O'Brien" }, "O&#39;Brien 3"],
    ["a facet, sorted", "/data/buyers", { _facet: "city", _sort_desc: "id" }, "Łódź"],
    ["a row", "/data/buyers/17", {}, "buyer 17"],
    [
      "a query of one's own",
      "/data",
      {
        sql: "select city, count(*) as n from buyers where name like '%buyer%' or 1=1 group by city order by n desc limit 3",
      },
      "Łódź",
    ],
    ["a union", "/data", { sql: "select name from buyers where id = 1 union select 'x' -- the end" }, "buyer 1"],
    ["the schema", "/data", { sql: "select name, sql from sqlite_master where type = 'table'" }, "buyers"],
    [
      "a query as JSON",
      "/data.json",
      { sql: "select name from buyers where id = :id", id: "17", _shape: "array" },
      '"name": "buyer 17"',
    ],
  ])("shows %s", async (_what, path, query, expected) => {
    const response = await get(path, query);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining(expected)]);
  });

  test("streams a whole table as CSV", async () => {
    const lines = (await (await get("/data/buyers.csv", { _stream: "on", _size: "max" })).text())
      .trimEnd()
      .split("\r\n");
    expect([lines.length, lines[0]]).toEqual([ROWS + 1, "id,name,city"]);
  });

  test("is protected from all that is no query", async () => {
    const attacks = [
      get("/data/buyers", { q: "<script>alert(1)</script>" }),
      get("/data", { sql: "select 1", file: "/etc/passwd" }),
    ];
    expect((await Promise.all(attacks)).map(({ status }) => status)).toEqual([403, 403]);
  });
});

function fill(folder: string): void {
  const data = new Database(join(folder, "data.db"));
  data.run("CREATE TABLE buyers (id INTEGER PRIMARY KEY, name TEXT, city TEXT)");
  const add = data.prepare("INSERT INTO buyers VALUES (?, ?, ?)");
  data.transaction(() => {
    for (let id = 1; id <= ROWS; id++)
      add.run(id, id === 3 ? "O'Brien 3" : `buyer ${id}`, id % 3 === 0 ? "Paris" : "Łódź");
  })();
  data.close();
}
