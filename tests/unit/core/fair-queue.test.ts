import { expect, test } from "bun:test";
import { FairQueue } from "../../../src/core/fair-queue.ts";
import { SeededRandom } from "../../harness/seeded-random.ts";

interface Item {
  readonly group: string;
  readonly member: object;
  readonly name: string;
}

const [one, two, three] = [{}, {}, {}];
const item = (group: string, member: object, name: string): Item => ({ group, member, name });

function drain(queue: FairQueue<Item>): string {
  const names: string[] = [];
  for (let next = queue.take(() => true); next !== null; next = queue.take(() => true)) names.push(next.name);
  return names.join(" ");
}

test("groups take turns, and the members of each, in their own order", () => {
  const queue = new FairQueue<Item>();
  for (let n = 1; n <= 4; n++) queue.add(item("a", one, `a1.${n}`));
  for (let n = 1; n <= 2; n++) queue.add(item("a", two, `a2.${n}`));
  for (let n = 1; n <= 2; n++) queue.add(item("b", three, `b.${n}`));
  expect([queue.size, queue.countOf("a"), queue.countOf("b")]).toEqual([8, 6, 2]);
  expect(drain(queue)).toBe("a1.1 b.1 a2.1 b.2 a1.2 a2.2 a1.3 a1.4");
  expect([queue.size, queue.countOf("a"), queue.countOf("b")]).toEqual([0, 0, 0]);
});

test("what may not come stays where it is, and what is removed does not come", () => {
  const queue = new FairQueue<Item>();
  const items = ["1", "2", "3"].map((name) => item("a", one, name));
  for (const each of items) queue.add(each);
  queue.add(item("a", two, "other"));
  expect(queue.take(({ member }) => member === two)?.name).toBe("other");
  expect(queue.take(() => false)).toBeNull();
  expect([queue.remove(items[1]!), queue.remove(items[1]!), queue.remove(item("x", one, "1"))]).toEqual([
    true,
    false,
    false,
  ]);
  expect(drain(queue)).toBe("1 3");
  expect([queue.remove(items[0]!), queue.size]).toEqual([false, 0]);
});

test("the largest group is known without a look at all", () => {
  const random = new SeededRandom(7);
  const queue = new FairQueue<Item>();
  const waiting: Item[] = [];
  for (let i = 0; i < 3000; i++) {
    const group = `g${Math.floor(random.next() * 8)}`;
    if (random.next() < 0.52 || waiting.length === 0) {
      const added = item(group, one, String(i));
      queue.add(added);
      waiting.push(added);
    } else {
      const at = Math.floor(random.next() * waiting.length);
      const way = random.next();
      const gone = way < 0.4 ? waiting[at]! : way < 0.7 ? queue.take(() => true)! : queue.takeNewestOfMost()!;
      if (way < 0.4) queue.remove(gone);
      waiting.splice(waiting.indexOf(gone), 1);
    }
    const sizes = Object.values(Object.groupBy(waiting, (one) => one.group)).map((all) => all!.length);
    const own = waiting.filter((one) => one.group === group).length;
    expect(queue.longest > own + 1).toBe(sizes.some((size) => size > own + 1));
  }
});
