import { expect, test } from "bun:test";
import { unservedObjects } from "../../../../../src/features/kubernetes/control/unserved-objects.ts";

const CONTROLLER = "edge.dev/gateway";
const bad = (type: string, reason: string, message = "") => ({ type, status: "False" as const, reason, message });
const event = (namespace: string, name: string) => ({
  ...{ object: { kind: "Ingress", namespace, name }, type: "Warning" as const },
  ...{ reason: "PathInvalid", message: name },
});

test("a namespace with many objects hides none of another one", () => {
  const many = Array.from({ length: 500 }, (_, i) => event("many", `i${i}`));
  const shown = unservedObjects([], [...many, event("few", "a"), event("few", "b")], CONTROLLER);
  expect(shown).toHaveLength(100);
  expect(shown.filter(({ object }) => object.startsWith("Ingress few/")).map(({ message }) => message)).toEqual([
    ...["a", "b"],
  ]);
});

test("a condition of a listener names it, and what only follows from another one is left out", () => {
  const object = { kind: "Gateway", namespace: "web", name: "gw" };
  const conditions = [bad("ResolvedRefs", "InvalidCertificateRef", "no Secret"), bad("Programmed", "Invalid")];
  const status = { conditions: [bad("Programmed", "Invalid")], listeners: [{ name: "https", conditions }] };
  expect(unservedObjects([{ object, status }], [], CONTROLLER)).toEqual([
    { object: "Gateway web/gw", reason: "Invalid", message: "" },
    { object: "Gateway web/gw", reason: "InvalidCertificateRef", message: "listener https: no Secret" },
  ]);
});
