import { expect, test } from "bun:test";
import { type PathPattern, patternShape } from "../../../../src/core/path-pattern.ts";
import { colonPattern, templatePattern } from "../../../../src/proto/grpc/path-template.ts";

test.each([
  ["/v1/items", "/v1/items", []],
  ["/v1/{id}", "/v1/*", [["id", 1, 2]]],
  ["/v1/{id=*}", "/v1/*", [["id", 1, 2]]],
  ["/v1/{name=shelves/*/books/*}", "/v1/shelves/*/books/*", [["name", 1, 5]]],
  ["/v1/{name=**}", "/v1/**", [["name", 1, -1]]],
  [
    "/v1/{a.b}/x/{c}:do",
    "/v1/*/x/*:do",
    [
      ["a.b", 1, 2],
      ["c", 3, 4],
    ],
  ],
  ["/v1/*/**", "/v1/*/**", []],
  ["/v1/{id}:y:z", "/v1/*:y:z", [["id", 1, 2]]],
  ["/v1/{name=shelves/**}:verb", "/v1/shelves/**:verb", [["name", 1, -1]]],
] as const)("the template %s", (template, shape, variables) => {
  const pattern = templatePattern(template) as PathPattern;
  expect(patternShape(pattern)).toBe(shape);
  expect(pattern.variables.map(({ name, from, to }) => [name, from, to])).toEqual(variables.map((one) => [...one]));
});

test.each(["v1/x", "/v1/{id", "/v1/id}", "/v1/{}", "/v1/{a=**}/x", "/v1/**/x", "/v1/{a={b}}", "/", "/v1/{a=}", ""])(
  "the template %p cannot be served",
  (template) => {
    expect(typeof templatePattern(template)).toBe("string");
  },
);

test("a parameter is one segment", () => {
  const { segments, variables, verb } = colonPattern("/v1/users/:id/books/:book");
  expect([segments.length, verb]).toEqual([5, ""]);
  expect(variables).toEqual([
    { name: "id", from: 2, to: 3 },
    { name: "book", from: 4, to: 5 },
  ]);
});
