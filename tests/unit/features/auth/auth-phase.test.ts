import { expect, test } from "bun:test";
import { AuthPhase } from "../../../../src/features/auth/auth-phase.ts";
import { LEFT_ALONE, letIn } from "../../../../src/features/auth/judgement.ts";
import { type AuthIdentity, NO_IDENTITY_PARTS } from "../../../../src/message/client-peer.ts";
import { Exchange, type Route, Verdict } from "../../../../src/message/exchange.ts";
import { IDLE_PORTS } from "../../../../src/message/idle-ports.ts";

type Fields = AuthIdentity["fields"];

/** What a request and its response get of a method that lets in with these fields. */
function givenBy(fields: Fields, responseFields: Fields = []) {
  const ex = new Exchange(IDLE_PORTS);
  ex.request.headers.resetOwn();
  ex.route = { index: 0 } as Route;
  const dropped: string[] = [];
  const identity = { ...NO_IDENTITY_PARTS, user: "al", hidesCredentials: false, fields, responseFields };
  const method = { name: "scripted", challenge: "", judge: () => letIn(identity) };
  const listener = {
    onUnauthenticated() {},
    onFieldDropped: (_ex: Exchange, _method: string, name: string) => dropped.push(name),
  };
  const verdict = new AuthPhase([method], { inTurn: (work) => work() }, listener).run(ex);
  const { headers } = ex.request;
  const request = Array.from({ length: headers.count }, (_, i) => [headers.nameText(i), headers.valueText(i)]);
  return { verdict, request, response: ex.response.extra?.fields ?? [], dropped };
}

test("fields of a method go on as they are", () => {
  const found = givenBy(
    [
      ["X-User", "al"],
      ["X-Groups", "a,b\tc"],
      ["X-Name", "Bj\xc3\xb6rn"],
    ],
    [["Set-Cookie", "a=b"]],
  );
  expect(found).toMatchObject({ verdict: Verdict.Next, dropped: [] });
  expect(found.request).toEqual([
    ["X-User", "al"],
    ["X-Groups", "a,b\tc"],
    ["X-Name", "Bj\xc3\xb6rn"],
  ]);
  expect(found.response).toEqual([["Set-Cookie", "a=b"]]);
});

test.each(["admin\r\nX-Role: root", "ad\0min", "admin\x7f", " admin", "admin ", "\u0100dmin", "x".repeat(8193)])(
  "a value that is none of a field is left out and told, not mended: %j",
  (value) => {
    const found = givenBy(
      [
        ["X-User", value],
        ["X-Groups", "a"],
      ],
      [
        ["Set-Cookie", value],
        ["Set-Cookie", "a=b"],
      ],
    );
    expect(found.request).toEqual([["X-Groups", "a"]]);
    expect(found.response).toEqual([["Set-Cookie", "a=b"]]);
    expect(found.dropped).toEqual(["X-User", "Set-Cookie"]);
  },
);

test("an empty one is no field, and nothing to tell", () => {
  expect(givenBy([["X-User", ""]])).toMatchObject({ request: [], dropped: [] });
});

test("a request that is left alone goes on without an identity", () => {
  const ex = new Exchange(IDLE_PORTS);
  ex.route = { index: 0 } as Route;
  const method = { name: "scripted", challenge: "", judge: () => LEFT_ALONE };
  const listener = { onUnauthenticated() {}, onFieldDropped() {} };
  expect(new AuthPhase([method], { inTurn: (work) => work() }, listener).run(ex)).toBe(Verdict.Next);
  expect(ex.identity).toBeNull();
});
