// Whatever the state of a gateway, the dashboard, edge status and edge top say the same of it, in the same words. docs/tools.md#status
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { LiveState } from "../../src/features/dashboard/live-state.ts";
import { wellCard } from "../../src/features/dashboard/page/answers.ts";
import { LiveRates } from "../../src/tools/watch/rates.ts";
import { statusJson, statusText } from "../../src/tools/watch/status-view.ts";
import { ENDLESS, NO_COLORS } from "../../src/tools/watch/text.ts";
import { topText } from "../../src/tools/watch/top-view.ts";
import { liveState, module, target } from "../unit/features/dashboard/live-states.ts";

const { gateway, totals, workers, at } = liveState();
const name = fc.constantFrom("a", "b", "c", "d", "e");

const states: fc.Arbitrary<LiveState> = fc
  .record({
    gateway: fc.record({
      status: fc.constantFrom("ok", "draining"),
      lastReloadOk: fc.boolean(),
      failedLogs: fc.array(fc.constantFrom("stdout", "/var/log/x"), { maxLength: 1 }),
      lacksDescriptors: fc.boolean(),
      connectionLimit: fc.constantFrom(1, 100_000),
      maintenance: fc.array(
        name.map((one) => `/${one}`),
        { maxLength: 4 },
      ),
      logLevel: fc.constantFrom("info", "debug", "warn"),
    }),
    logDropped: fc.constantFrom(0, 1, 12_345),
    workers: fc.array(fc.record({ load: fc.constantFrom(-1, 0.2, 0.95), moves: fc.boolean() }), { maxLength: 4 }),
    targets: fc.array(
      fc.record({
        route: name.map((one) => `/${one}`),
        upstream: name.map((one) => `http://${one}`),
        breaker: fc.constantFrom("closed", "half-open", "open"),
        healthy: fc.boolean(),
        drained: fc.boolean(),
      }),
      { maxLength: 6 },
    ),
    modules: fc.array(fc.record({ name, threads: fc.nat(1) }), { maxLength: 3 }),
    certificates: fc.array(fc.record({ domain: name, notAfterS: fc.constantFrom(-1, 3600, 5e5, 7e5, 1e7) }), {
      maxLength: 3,
    }),
    classes: fc.tuple(fc.nat(100), fc.nat(10)),
  })
  .map((one) =>
    liveState({
      gateway: { ...gateway, ...one.gateway } as LiveState["gateway"],
      totals: { ...totals, logDropped: one.logDropped, classes: [0, 0, one.classes[0], 0, 0, one.classes[1]] },
      workers: one.workers.map((each) => ({ ...workers[0]!, ...each })),
      targets: one.targets.map((each) => target(each as Partial<LiveState["targets"][number]>)),
      modules: one.modules.map((each) => module(each)),
      certificates: one.certificates.map(({ domain, notAfterS }) => ({ domain, notAfterS: at / 1000 + notAfterS })),
      history: [[at - 30_000, [0, 0, 0, 0, 0, 0], null, 0, 0, 0]],
    }),
  );

/** What each face says: whether it is well, the word for it, and the reasons in order, as far as the face has room. */
function facesOf(state: LiveState) {
  const card = wellCard(state.verdict);
  const status = statusText(state, "x", ENDLESS, NO_COLORS);
  const json = JSON.parse(statusJson(state));
  const rates = new LiveRates();
  rates.add(state);
  const [head, reasons] = topText(state, rates, "x", { width: ENDLESS, height: 0, paints: NO_COLORS }).split("\n");
  const wordOf = (line: string) => /● (.*?)(?: {3}|$)/.exec(line)![1];
  return {
    words: [card.headline, wordOf(status), wordOf(head!), json.verdict.word],
    isWell: [card.grade !== "bad", json.well, !status.includes("\n  ✗ ")],
    hasNotes: [card.grade !== "good", /\n {2}[✗!] /.test(status), reasons !== ""],
    card: card.lines.slice(0, 5),
    status: [...status.matchAll(/\n {2}[✗!] (.*)/g)].map(([, text]) => text),
    top: reasons!,
    json: json.findings.map(({ text }: { text: string }) => text),
  };
}

test("all faces say the same verdict with the same reasons", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(states, (state) => {
      const { word, isWell, findings } = state.verdict;
      const texts = findings.map(({ text }) => text);
      const faces = facesOf(state);
      seen.add(word);
      expect(faces).toEqual({
        words: [word, word, word, word],
        isWell: [isWell, isWell, isWell],
        hasNotes: [texts.length > 0, texts.length > 0, texts.length > 0],
        card: texts.slice(0, 5),
        status: texts,
        top: texts.join("   "),
        json: texts,
      });
    }),
    { numRuns: 500, examples: [[liveState()], [liveState({ gateway: { ...gateway, logLevel: "debug" } })]] },
  );
  expect(seen).toEqual(new Set(["well", "well, with notes", "not well"]));
});
