import { expect } from "bun:test";
import { longTest } from "../harness/long-lane.ts";
import { everythingAtOnce } from "../soak/everything.ts";

longTest(
  "everything at once for 45 s: nothing is lost, doubled or mixed up beyond what is promised",
  async () => {
    const { report, broken } = await everythingAtOnce(45_000, 1);
    if (broken.length > 0) console.log(JSON.stringify(report, null, 2));
    expect(broken).toEqual([]);
  },
  150_000,
);
