import { expect, test } from "bun:test";
import { memoryLimit, processorLimit } from "../../../src/memory/process-limits.ts";

const reader = (files: Readonly<Record<string, string>>) => (path: string) => files[path] ?? "";

test("the least of the machine's memory and of what the control groups around the process say counts", () => {
  const group = { "/proc/self/cgroup": "0::/a/b\n" };
  expect(memoryLimit(reader(group), 100)).toBe(100);
  expect(memoryLimit(reader({ ...group, "/sys/fs/cgroup/a/b/memory.max": "max\n" }), 100)).toBe(100);
  expect(memoryLimit(reader({ ...group, "/sys/fs/cgroup/a/memory.max": "70\n" }), 100)).toBe(70);
  const old = { "/proc/self/cgroup": "4:memory:/x\n1:cpu,cpuacct:/y\n" };
  expect(memoryLimit(reader({ ...old, "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "50\n" }), 100)).toBe(50);
  const huge = { ...old, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n" };
  expect(memoryLimit(reader(huge), 100)).toBe(100);
});

test("so it is with processors, parts of one among them", () => {
  const group = { "/proc/self/cgroup": "0::/a\n" };
  expect(processorLimit(reader({ ...group, "/sys/fs/cgroup/a/cpu.max": "max 100000\n" }), 4)).toBe(4);
  expect(processorLimit(reader({ ...group, "/sys/fs/cgroup/a/cpu.max": "150000 100000\n" }), 4)).toBe(1.5);
  const old = { "/proc/self/cgroup": "1:cpu,cpuacct:/y\n", "/sys/fs/cgroup/cpu/y/cpu.cfs_quota_us": "-1" };
  expect(processorLimit(reader({ ...old, "/sys/fs/cgroup/cpu/y/cpu.cfs_period_us": "100000" }), 4)).toBe(4);
});
