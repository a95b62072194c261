import { expect, test } from "bun:test";
import type { ApiClient } from "../../../../../src/features/kubernetes/control/api-client.ts";
import { StatusWriter } from "../../../../../src/features/kubernetes/control/status-writer.ts";
import { KINDS_BY_NAME } from "../../../../../src/features/kubernetes/control/watched-kinds.ts";
import { ObjectStore } from "../../../../../src/features/kubernetes/object-store.ts";
import { refKey } from "../../../../../src/features/kubernetes/objects.ts";
import { eventually } from "../../../../harness/eventually.ts";

const GATEWAY = "gateway.networking.k8s.io/v1";
const route = (i: number, version: number, status?: object) => ({
  ...{ apiVersion: GATEWAY, kind: "HTTPRoute", ...(status === undefined ? {} : { status }) },
  metadata: { name: `r${i}`, namespace: "web", resourceVersion: `${i}.${version}` },
});
const patch = (i: number, reason: string) => ({
  object: { kind: "HTTPRoute", namespace: "web", name: `r${i}`, apiVersion: GATEWAY },
  status: { parents: [{ parentRef: { name: "gw" }, conditions: [{ type: "Accepted", status: "True", reason }] }] },
});

const byKey = (patches: readonly ReturnType<typeof patch>[]) =>
  new Map(patches.map((one) => [refKey(one.object), one]));

/** A writer of so many objects, by an API server that takes statuses as the store does. */
function writerOf(count: number, respond = () => 200) {
  const store = new ObjectStore();
  for (let i = 0; i < count; i++) store.put(route(i, 0) as never);
  const seen = { asked: 0, written: [] as string[] };
  const get = store.get.bind(store);
  store.get = ((...place: Parameters<typeof get>) => {
    seen.asked++;
    return get(...place);
  }) as typeof store.get;
  const client = {
    call: async (_: string, path: string, body: { status: object }) => {
      const status = respond();
      const i = Number(/\/r(\d+)\/status\?/.exec(path)![1]);
      if (status < 300) {
        seen.written.push(`r${i}`);
        store.put(route(i, seen.written.length, body.status) as never);
      }
      return { status, body: {}, waitMs: 0 };
    },
  } as unknown as ApiClient;
  const writer = new StatusWriter(client, store, KINDS_BY_NAME, () => {});
  writer.activate(true);
  return { seen, writer };
}

test("a status is judged once a change, however many wait: the work is in proportion to the statuses", async () => {
  const asked: number[] = [];
  for (const count of [200, 1600]) {
    const { seen, writer } = writerOf(count);
    const patches = Array.from({ length: count }, (_, i) => patch(i, "Accepted"));
    writer.use(byKey(patches), []);
    await eventually(() => expect(seen.written.length).toBe(count));
    // The same ones, once the objects have them, and then one other.
    writer.use(byKey(patches), []);
    writer.use(byKey([patch(0, "Other"), ...patches.slice(1)]), []);
    await eventually(() => expect(seen.written.length).toBe(count + 1));
    expect(seen.written.at(-1)).toBe("r0");
    asked.push(seen.asked / count);
    writer.stop();
  }
  expect(asked[1]!).toBeLessThan(asked[0]! * 2);
});

test("events have names that an API server takes, however the object is called", async () => {
  const names: string[] = [];
  const client = {
    call: async (_: string, __: string, { metadata }: { metadata: { name: string } }) => {
      names.push(metadata.name);
      return { status: 201, body: {}, waitMs: 0 };
    },
  } as unknown as ApiClient;
  const writer = new StatusWriter(client, new ObjectStore(), KINDS_BY_NAME, () => {});
  writer.activate(true);
  const event = { type: "Warning" as const, reason: "Odd", message: "" };
  const objects = ["a", "n".repeat(253), `${"n".repeat(235)}.${"-".repeat(5)}n`];
  for (const name of objects)
    writer.use(byKey([]), [{ ...event, object: { kind: "Ingress", namespace: "web", name } }]);
  await eventually(() => expect(names).toHaveLength(objects.length));
  for (const name of names) {
    expect(name).toMatch(/^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/);
    expect(name.length).toBeLessThan(254);
  }
  writer.stop();
});

test("a refused write is tried again, and a status that has changed meanwhile is the one that counts", async () => {
  const statuses = [409];
  const { seen, writer } = writerOf(1, () => statuses.shift() ?? 200);
  writer.use(byKey([patch(0, "Accepted")]), []);
  await eventually(() => expect(statuses).toEqual([]));
  writer.use(byKey([patch(0, "Other")]), []);
  await eventually(() => expect(seen.written).toEqual(["r0"]), 15_000);
  writer.stop();
}, 20_000);
