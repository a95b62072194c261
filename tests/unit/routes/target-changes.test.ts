import { expect, test } from "bun:test";
import { targetChanges } from "../../../src/routes/target-changes.ts";
import { configOf } from "../loading/any-config.ts";

const shop = (targets: string, more = "") =>
  `- {type: respond, path: /first, body: x}\n- {type: upstream, prefix: /shop, targets: [${targets}]${more}}\n`;
const ONE = '{url: "http://127.0.0.1:1"}';
const TWO = '{url: "http://127.0.0.1:2"}';
const LIMITED = '{url: "http://127.0.0.1:2", concurrency: {limit: 4}}';

test.each([
  ["nothing", shop(ONE), shop(ONE), 0],
  ["a line above", shop(ONE), `\n${shop(ONE)}`, 0],
  ["a target more", shop(ONE), shop(`${ONE}, ${TWO}`), 1],
  ["another one", shop(ONE), shop(TWO), 1],
  ["a weight", shop(`${ONE}, ${TWO}`), shop(`${ONE}, {url: "http://127.0.0.1:2", weight: 7}`), 1],
  ["retries with them", shop(ONE), shop(`${ONE}, ${TWO}`, ", retries: {attempts: 3}"), 1],
  ["retries alone", shop(ONE), shop(ONE, ", retries: {attempts: 3}"), null],
  ["fields", shop(ONE), shop(ONE, ', headers: {response: {set: {X-A: "1"}}}'), 1],
  ["fields with values of requests", shop(ONE), shop(ONE, ', headers: {response: {set: {X-A: "{host}"}}}'), null],
  [
    "fields of requests that a cache goes by",
    shop(ONE, ", cache: {enabled: true}"),
    shop(ONE, ", cache: {enabled: true}, headers: {request: {set: {X-A: b}}}"),
    null,
  ],
  ["a key of phases", shop(ONE), shop(TWO, ", host: a.test"), null],
  ["a route more", shop(ONE), `${shop(ONE)}- {type: respond, path: /x, body: x}\n`, null],
  [
    "another type",
    shop(ONE),
    "- {type: respond, path: /first, body: x}\n- {type: respond, prefix: /shop, body: x}\n",
    null,
  ],
  ["what origins speak", shop(ONE), shop('{url: "h2c://127.0.0.1:1"}'), null],
  ["slots of targets", shop(`${ONE}, ${LIMITED}`), shop(LIMITED), null],
])("%s", (_, before, after, changes) => {
  const config = configOf("", before);
  const found = targetChanges(config, { ...config, routes: configOf("", after).routes });
  expect(found === null ? null : found.routes.length).toBe(changes);
  if (changes === 1) expect(found!.routes[0]!.index).toBe(1);
});

test("a section is no target", () => {
  const config = configOf("", shop(ONE));
  const server = { ...config.server, maxHeaderFields: 50 };
  expect(targetChanges(config, { ...config, server, routes: configOf("", shop(TWO)).routes })).toBeNull();
});
