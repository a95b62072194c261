import { headerOf } from "./benign-client.ts";
import type { Scenario } from "./catalogue.ts";
import { Concern, type Discrepancy } from "./finding.ts";
import { jsonBody } from "./h1-answers.ts";
import { judgeOrigin } from "./origin-judge.ts";
import type { VectorOutcome } from "./probe-run.ts";
import { quotedText } from "./quoted-text.ts";
import { isRefused } from "./refusal.ts";
import type { ProbeRound, ScenarioSight } from "./scenario-result.ts";
import { Requirement, TOKEN_FIELD, type Vector } from "./vector.ts";

/** Everything that speaks against the gateway in a scenario; nothing when it did all that the vector requires. */
export function judge(scenario: Scenario, sight: ScenarioSight): Discrepancy[] {
  const { vector } = scenario;
  return [
    ...sight.rounds.flatMap((round) => judgeOutcome(vector, round)),
    ...sight.rounds.flatMap(({ sweep }) => sweep.filter(({ fault }) => fault !== "").map(({ fault }) => pool(fault))),
    ...sight.rounds.flatMap(({ sweep }) => sweep.filter(({ isMixedUp }) => isMixedUp).map(() => mixedUp())),
    ...judgeCanary(sight),
    ...judgeCount(vector, sight),
    ...(sight.origin === null ? [] : judgeOrigin(scenario, sight, sight.origin)),
  ];
}

function judgeOutcome(vector: Vector, { outcome, token }: ProbeRound): Discrepancy[] {
  const { name, status, answers: responses, fault } = outcome;
  const wrong = (text: string): Discrepancy => ({ concern: Concern.Vector, text: `${name}: ${text}` });
  if (fault !== "") return [wrong(fault)];
  if (vector.requirement === Requirement.Forwarded) {
    if (status !== 200) return [wrong(`wanted 200, got ${status || outcome.reset || "no response"}`)];
    return judgeEcho(vector, outcome, token).map(wrong);
  }
  const findings: Discrepancy[] = [];
  if (!isRefused(outcome))
    findings.push(wrong(`not refused: ${status || "no response, and no end of the connection"}`));
  else if (vector.protocol === "HTTP/1.1" && !outcome.isClosed) {
    findings.push(wrong("refused, but the connection stayed open"));
  }
  if (responses > 1) {
    const text = `${name}: ${responses} responses came, so something after the first request was run`;
    findings.push({ concern: Concern.Desync, text });
  }
  return findings;
}

/** What an origin says that it was given, as far as it says so. */
function judgeEcho({ forwards }: Vector, { body }: VectorOutcome, token: string): string[] {
  if (forwards === undefined || !forwards.isEcho) return [];
  const json = jsonBody(body);
  const names = json === null ? null : json.headers;
  if (json === null || typeof names !== "object" || names === null) return ["the response is not the origin's echo"];
  const faults = Object.keys(names)
    .filter((name) => name.startsWith(":"))
    .map((name) => `the origin was given a header ${quotedText(name)}`);
  const sent = forwards.body(token);
  const told = [
    ["the token", headerOf(json, TOKEN_FIELD), token],
    ["the content type", headerOf(json, "content-type"), "application/json"],
    // A gateway may send chunks instead.
    ["the Content-Length", headerOf(json, "content-length") || `${sent.length}`, `${sent.length}`],
    ["a body of length", json.length ?? sent.length, sent.length],
    ["a body of SHA-256", json.sha256 ?? sha256(sent), sha256(sent)],
  ];
  for (const [what, got, wanted] of told) {
    if (got !== wanted)
      faults.push(`the origin was given ${what} ${quotedText(String(got))}, not ${quotedText(String(wanted))}`);
  }
  return faults;
}

function sha256(bytes: Buffer): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

function judgeCanary({ canary, expectedSequence }: ScenarioSight): Discrepancy[] {
  const findings: Discrepancy[] = [];
  if (canary.fault !== "") findings.push(pool(canary.fault));
  if (canary.isMixedUp) findings.push(mixedUp());
  if (expectedSequence !== null && canary.sequence !== null && canary.sequence !== expectedSequence) {
    const text = `the canary has sequence ${canary.sequence} where ${expectedSequence} was due`;
    findings.push({ concern: Concern.Desync, text });
  }
  return findings;
}

/** Where an origin numbers its requests: it must have been given all that were answered, and no others. */
function judgeCount(vector: Vector, { rounds, canary, originRequestBefore }: ScenarioSight): Discrepancy[] {
  if (canary.originRequest === 0 || originRequestBefore === 0) return [];
  if (rounds.some(({ sweep }) => sweep.some(({ status }) => status !== 200))) return [];
  const benign = rounds.reduce((sum, round) => sum + round.sweep.length + Number(round.outcome.hasControl), 1);
  const isDue = ({ outcome }: ProbeRound) => vector.requirement === Requirement.Forwarded && outcome.status === 200;
  const least = benign + rounds.filter(isDue).length;
  // What was neither refused nor answered as it must be may have been forwarded; that is held against it elsewhere.
  const most = benign + rounds.filter(({ outcome }) => !isRefused(outcome)).length;
  const given = canary.originRequest - originRequestBefore;
  if (given >= least && given <= most) return [];
  const text = `the origin numbered ${given} requests where ${least} were due`;
  return [{ concern: Concern.Desync, text }];
}

function mixedUp(): Discrepancy {
  return { concern: Concern.Desync, text: "responses and requests no longer match" };
}

function pool(text: string): Discrepancy {
  return { concern: Concern.Pool, text };
}
