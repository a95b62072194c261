import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { chmodSync, closeSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { Fault } from "../../../../src/core/fault.ts";
import { ContainedRoot, FileLookup } from "../../../../src/features/files/contained-root.ts";
import { get, TestSite } from "./test-site.ts";

const site = new TestSite();
afterAll(() => site.dispose());
afterEach(() => {
  expect(site.openFiles()).toBe(0);
});

site.write("a.txt", "a");
site.write("dir/b.txt", "b");
site.write("data/v1/c.txt", "c");
site.writeOutside("secret.txt", "secret");
site.writeOutside("index.html", "outside index");
site.link("inside.txt", "a.txt");
site.link("indir", "dir");
site.link("..data", "data/v1");
site.link("c.txt", "..data/c.txt");
site.link("absolute.txt", `${site.dir}/a.txt`);
site.link("out.txt", "../outside/secret.txt");
site.link("out-absolute.txt", `${site.outside}/secret.txt`);
site.link("outdir", "../outside");
site.link("chain1", "chain2");
site.link("chain2", "out.txt");
site.link("detour.txt", "../outside/../www/a.txt");
site.link("loop", "loop");
site.link("loop1", "loop2");
site.link("loop2", "loop1");
site.link("dangling", "nothing");
site.link("gone", "../outside/nothing");
site.link("further", "gone");
site.link("nowhere", "../no/such/folder");
site.link("roundabout", `${site.dir}/nothing/../nothing`);
site.link("self", ".");
site.link("up", "..");
Bun.spawnSync(["mkfifo", `${site.dir}/fifo`]);
site.link("device", "/dev/null");

describe("containment", () => {
  for (const [target, body] of [
    ["/inside.txt", "a"],
    ["/indir/b.txt", "b"],
    ["/absolute.txt", "a"],
    ["/c.txt", "c"],
    ["/detour.txt", "a"],
    ["/self/self/a.txt", "a"],
  ] as const) {
    test(`${target} stays within`, () => {
      expect(get(site.mount(), target).text).toBe(body);
    });
  }

  for (const target of [
    "/out.txt",
    "/out-absolute.txt",
    "/outdir/secret.txt",
    "/chain1",
    "/chain2",
    "/outdir",
    "/outdir/",
    "/outdir/nope",
    "/outdir/nope/nope",
    "/outdir/secret.txt/nope",
    "/indir/../outdir/secret.txt",
    "/up/outside/secret.txt",
    "/up",
    "/device",
  ]) {
    test(`${target} leads outside`, () => {
      for (const settings of [{}, { spa: true }, { fallback: "a.txt" }]) {
        const sink = get(site.mount(settings), target);
        expect([sink.fault, sink.status]).toEqual([Fault.SymlinkEscape, 0]);
      }
    });
  }

  test.each(["/gone", "/gone/x", "/further", "/nowhere"])("%s says as little as if it were there", (target) => {
    expect(get(site.mount(), target).fault).toBe(Fault.SymlinkEscape);
  });

  for (const target of [
    "/loop",
    "/loop1",
    "/dangling",
    "/roundabout",
    "/fifo",
    "/fifo/",
    "/loop/x",
    `/${"self/".repeat(45)}a.txt`,
  ]) {
    test(`${target.slice(0, 30)} leads nowhere`, () => {
      expect(get(site.mount(), target).status).toBe(404);
    });
  }

  test("a file that is replaced by a link between two requests", () => {
    const handler = site.mount();
    const path = site.write("swap.txt", "harmless");
    expect(get(handler, "/swap.txt").text).toBe("harmless");
    unlinkSync(path);
    symlinkSync("../outside/secret.txt", path);
    expect(get(handler, "/swap.txt").text).not.toContain("secret");
    site.wait(1000);
    expect(get(handler, "/swap.txt").fault).toBe(Fault.SymlinkEscape);
    expect(get(handler, "/swap.txt").fault).toBe(Fault.SymlinkEscape);
  });

  test("a directory that is replaced by a link to the same files elsewhere", () => {
    const handler = site.mount();
    site.write("moved/x.txt", "x");
    expect(get(handler, "/moved/x.txt").text).toBe("x");
    renameSync(`${site.dir}/moved`, `${site.outside}/moved`);
    symlinkSync("../outside/moved", `${site.dir}/moved`);
    site.wait(1000);
    expect(get(handler, "/moved/x.txt").fault).toBe(Fault.SymlinkEscape);
  });

  test("a root that is a link follows it to a new release", () => {
    mkdirSync(`${site.outside}/r1`);
    site.writeOutside("r1/x.txt", "one");
    site.writeOutside("r2/x.txt", "two");
    symlinkSync("r1", `${site.outside}/current`);
    const handler = site.mount({ dir: `${site.outside}/current` });
    expect(get(handler, "/x.txt").text).toBe("one");
    rmSync(`${site.outside}/current`);
    symlinkSync("r2", `${site.outside}/current`);
    site.wait(1000);
    expect(get(handler, "/x.txt").text).toBe("two");
    expect(get(handler, "/../r1/x.txt").text).not.toBe("one");
  });

  test("a sibling of the root whose name begins alike is outside", () => {
    site.writeOutside("../www-private/x.txt", "secret");
    site.link("alike", "../www-private");
    expect(get(site.mount(), "/alike/x.txt").fault).toBe(Fault.SymlinkEscape);
  });
});

describe("files that cannot be read", () => {
  const isRoot = process.getuid?.() === 0;

  /** Runs as a user that permissions apply to. */
  function unprivileged<T>(run: () => T): T {
    if (!isRoot) return run();
    process.seteuid!(65534);
    try {
      return run();
    } finally {
      process.seteuid!(0);
    }
  }

  test("an unreadable file is 403, in its own words", () => {
    chmodSync(site.write("locked.txt", "x"), 0);
    const sink = unprivileged(() => get(site.mount(), "/locked.txt"));
    expect([sink.status, sink.fault]).toEqual([403, null]);
    expect(JSON.parse(sink.text).error).toBe("403 Forbidden");
  });

  test("what lies in a closed directory is 403, also for a single-page mount", () => {
    site.write("closed/x.txt", "x");
    chmodSync(`${site.dir}/closed`, 0);
    expect(unprivileged(() => get(site.mount({ spa: true }), "/closed/x.txt")).status).toBe(403);
    chmodSync(`${site.dir}/closed`, 0o755);
  });

  test("a link to an unreadable file outside is an escape", () => {
    chmodSync(site.writeOutside("locked.txt", "x"), 0);
    site.link("out-locked.txt", "../outside/locked.txt");
    expect(unprivileged(() => get(site.mount(), "/out-locked.txt")).fault).toBe(Fault.SymlinkEscape);
  });
});

describe("without /proc", () => {
  const root = new ContainedRoot(site.dir, false);

  for (const [path, found] of [
    ["a.txt", FileLookup.File],
    ["inside.txt", FileLookup.File],
    ["indir/b.txt", FileLookup.File],
    ["dir", FileLookup.Directory],
    ["", FileLookup.Directory],
    ["fifo", FileLookup.Missing],
    ["nope", FileLookup.Missing],
    ["loop", FileLookup.Missing],
    ["out.txt", FileLookup.Escapes],
    ["outdir/secret.txt", FileLookup.Escapes],
    ["outdir/nope", FileLookup.Escapes],
  ] as const) {
    test(`"${path}"`, () => {
      expect(root.open(path)).toBe(found);
      if (found === FileLookup.File) closeSync(root.fd);
    });
  }
});

test("the root of the file system may be served", () => {
  const root = new ContainedRoot("/");
  expect(root.open(site.dir.slice(1))).toBe(FileLookup.Directory);
});
