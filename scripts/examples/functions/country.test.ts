import { beforeAll, expect, test } from "bun:test";
import { edge as elsewhere, type Gateway, startEdge } from "edge:test";

let swiss: Gateway;

beforeAll(async () => {
  swiss = await startEdge({ env: { COUNTRY: "CH" } });
});

const placeOf = (response: Response) => [response.status, response.headers.get("Location")];

test("the country decides", async () => {
  expect(placeOf(await swiss.fetch("/welcome"))).toEqual([302, "/de/"]);
  expect(placeOf(await elsewhere.fetch("/welcome"))).toEqual([302, "/en/"]);
});

test("a header of the client does not", async () => {
  const headers = { "X-Country": "FR" };
  expect(placeOf(await swiss.fetch("/welcome", { headers }))).toEqual([302, "/de/"]);
});

test("a choice wins, if it is one of the languages", async () => {
  const asked = (language: string) => swiss.fetch("/welcome", { headers: { Cookie: `language=${language}` } });
  expect(placeOf(await asked("fr"))).toEqual([302, "/fr/"]);
  expect(placeOf(await asked("xx"))).toEqual([302, "/de/"]);
  expect(placeOf(await asked("/evil.example"))).toEqual([302, "/de/"]);
});
