import { expect, test } from "bun:test";
import type { ApiClient } from "../../../../../src/features/kubernetes/control/api-client.ts";
import { KindWatch } from "../../../../../src/features/kubernetes/control/kind-watch.ts";
import { KINDS_BY_NAME } from "../../../../../src/features/kubernetes/control/watched-kinds.ts";
import { ObjectStore } from "../../../../../src/features/kubernetes/object-store.ts";

test.each([
  ["that its place in history is gone", 410],
  ["nothing, and ends it at once", 200],
])("an API server that answers each watch %s gets no flood of requests", async (_, status) => {
  let asked = 0;
  const response = (code: number, body: object) => ({ status: code, body, waitMs: 0 });
  const client = {
    call: async () => response(200, { items: [], metadata: { resourceVersion: `${++asked}` } }),
    watch: async () => response(status, { asked: ++asked }),
  } as unknown as ApiClient;
  const kind = KINDS_BY_NAME.get("HTTPRoute")!;
  const watch = new KindWatch(client, new ObjectStore(), kind, "", { onState: () => {} });
  watch.start();
  await Bun.sleep(200);
  watch.stop();
  expect(asked).toBeGreaterThan(2);
  expect(asked).toBeLessThan(20);
});
