import { expect, test } from "bun:test";
import { PrefixGuard } from "../../../../src/features/route/prefix-guard.ts";
import { headOfTarget } from "../../proto/target/head-of-target.ts";
import { type RouteVector, routeInit } from "./route-inits.ts";

function guardOf(...paths: string[]): PrefixGuard {
  const vectors: RouteVector[] = paths.map((path) => ({ kind: "static", label: path, path }));
  return new PrefixGuard([...vectors, { kind: "upstream", label: "/node", path: "/node" }].map(routeInit));
}

function refused(guard: PrefixGuard, target: string): boolean {
  const head = headOfTarget(target);
  return guard.refuses(head.path(), head);
}

test("a mount on the root is left by climbing above it, and by nothing else", () => {
  const guard = guardOf("/");
  for (const target of ["/..", "/a/../../b", "/%2e%2e/x", "/a/..%2f../x", "//../x"]) {
    expect([target, refused(guard, target)]).toEqual([target, true]);
  }
  for (const target of ["/a/../b", "/%41", "//a", "/a/b/../../c"]) {
    expect([target, refused(guard, target)]).toEqual([target, false]);
  }
});

test("each of nested mounts is guarded", () => {
  const guard = guardOf("/files", "/files/private");
  expect(refused(guard, "/files/private/../x")).toBe(true);
  expect(refused(guard, "/files/a/../x")).toBe(false);
  expect(refused(guard, "/files/a/../private/x")).toBe(false);
});

test("upstream prefixes are not guarded", () => {
  expect(refused(guardOf("/files"), "/node/../x")).toBe(false);
  expect(refused(guardOf(), "/files/../x")).toBe(false);
});

test("the time does not grow with the number of mounts or slashes", () => {
  const guard = guardOf(...Array.from({ length: 10_000 }, (_, i) => `/mount-${i}`));
  const target = `/mount-5/${"../x/".repeat(1500)}`;
  for (let i = 0; i < 20; i++) expect(refused(guard, target)).toBe(true);
});
