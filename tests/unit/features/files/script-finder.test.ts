import { afterAll, describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { ContainedRoot, FileLookup } from "../../../../src/features/files/contained-root.ts";
import { PathVerdict, RelativePath } from "../../../../src/features/files/relative-path.ts";
import { ScriptFinder, ScriptLookup, withheldFiles } from "../../../../src/features/files/script-finder.ts";
import { slashedPath } from "../../../../src/proto/target/canonical-path.ts";
import { readParams } from "../../../harness/fastcgi-records.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "edge-scripts-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const root = join(folder, "site");
const FILES = [
  "index.php",
  "tool.php",
  "old.PHP",
  "page.phtml",
  "tool.php.bak",
  "tool.php~",
  ".hidden.php",
  "a.b/x.php",
  "dir.php/inner.php",
  "dir.php/file.txt",
  "sub/index.php",
  "pages/index.html",
  "empty/note.txt",
  "uploads/picture.jpg",
  "uploads/shell.php",
  "uploads/deep/shell.php",
  "style.css",
  "lib/code.inc",
  "lib/app.phar",
  "sp ace.php",
];
for (const file of FILES) {
  mkdirSync(join(root, file, ".."), { recursive: true });
  writeFileSync(join(root, file), `<?php secret("${file}");`);
}
writeFileSync(join(folder, "outside.php"), "<?php secret();");
symlinkSync("../outside.php", join(root, "leads-out.php"));
symlinkSync("..", join(root, "up"));
symlinkSync("uploads/picture.jpg", join(root, "picture.php"));
symlinkSync("tool.php", join(root, "source.txt"));
symlinkSync("tool.php", join(root, "alias.php"));
symlinkSync("uploads", join(root, "media"));
symlinkSync("nowhere.php", join(root, "broken.php"));
linkSync(join(root, "tool.php"), join(root, "hard.php"));

const mount = {
  dir: root,
  prefix: "/",
  index: "index.php",
  splitPath: [".php"],
  frontController: true,
  checkFiles: true,
  noScripts: ["uploads"],
  env: [],
};
const finder = new ScriptFinder(mount, "");
const strict = new ScriptFinder({ ...mount, frontController: false }, "/app");

interface Seen {
  readonly file: string;
  readonly info: string;
  readonly params: ReadonlyMap<string, string>;
}

/** What a decoded path leads to: a script with what comes after it, or a word. */
function find(path: string, one: ScriptFinder = finder, prefix = ""): Seen | string {
  const relative = new RelativePath(prefix + path, prefix);
  if (relative.verdict !== PathVerdict.Ok) return "refused";
  const { what, call, refusal } = one.find(relative);
  if (what === ScriptLookup.File) return "file";
  if (what === ScriptLookup.Folder) return "folder";
  if (what === ScriptLookup.Nothing) return "nothing";
  if (what === ScriptLookup.Refused) return refusal === FileLookup.Escapes ? "escapes" : "failed";
  const params = new Map(readParams(call!.params));
  return { file: params.get("SCRIPT_FILENAME")!, info: params.get("PATH_INFO")!, params };
}

/** The script below the root, and what comes after it. */
function runs(path: string): string {
  const found = find(path);
  return typeof found === "string" ? found : `${found.file.slice(root.length)} ${found.info}`;
}

describe("which script runs", () => {
  const cases: Readonly<Record<string, string>> = {
    "/": "/index.php ",
    "/2026/post": "/index.php ",
    "/index.php": "/index.php ",
    "/index.php/2026/post/": "/index.php /2026/post/",
    "/tool.php": "/tool.php ",
    "/tool.php/": "/tool.php /",
    "/tool.php/x.php": "/tool.php /x.php",
    "/a.b/x.php/y": "/a.b/x.php /y",
    "/dir.php/inner.php/more": "/dir.php/inner.php /more",
    "/dir.php/file.txt": "nothing",
    "/sub": "folder",
    "/sub/": "/sub/index.php ",
    "/sub/none": "/index.php ",
    "/pages": "file",
    "/pages/": "file",
    "/empty": "/index.php ",
    "/empty/": "/index.php ",
    "/style.css": "file",
    "/style.css/": "/index.php ",
    "/uploads/picture.jpg": "file",
    "/alias.php": "/tool.php ",
    "/hard.php": "/hard.php ",
    "/sp ace.php/a": "/sp ace.php /a",
    "/../site/tool.php": "refused",
    "/sub/../tool.php": "/tool.php ",
  };
  for (const [path, wanted] of Object.entries(cases)) test(path, () => expect(runs(path)).toBe(wanted));

  test("below a prefix scripts have the names that clients ask for", () => {
    const found = find("/tool.php/x", strict, "/app") as Seen;
    expect([found.params.get("SCRIPT_NAME"), found.params.get("DOCUMENT_URI")]).toEqual([
      "/app/tool.php",
      "/app/tool.php",
    ]);
    expect(found.params.get("PATH_TRANSLATED")).toBe(`${root}/x`);
    expect(find("/none", strict, "/app")).toBe("nothing");
  });
});

describe("attacks", () => {
  // What PHP would run with cgi.fix_pathinfo, and what leads elsewhere.
  const cases: Readonly<Record<string, string>> = {
    "/uploads/picture.jpg/x.php": "nothing",
    "/uploads/picture.jpg/.php": "refused",
    "/style.css/index.php": "nothing",
    "/none.php": "nothing",
    "/none.php/index.php": "nothing",
    "/picture.php": "nothing",
    "/picture.php/x": "nothing",
    "/broken.php": "nothing",
    "/leads-out.php": "escapes",
    "/up/outside.php": "escapes",
    "/up/site/tool.php": "/tool.php ",
    "/old.PHP": "nothing",
    "/tool.PHP": "nothing",
    "/tool.pHp/x": "nothing",
    "/tool.php.": "nothing",
    "/tool.php . ": "nothing",
    "/tool.php ": "nothing",
    "/uploads/shell.php": "nothing",
    "/uploads/deep/shell.php/x": "nothing",
    "/media/shell.php": "nothing",
    "/.hidden.php": "refused",
    "/tool.php\0.jpg": "refused",
    "/uploads/picture.jpg\0.php": "refused",
  };
  for (const [path, wanted] of Object.entries(cases)) test(JSON.stringify(path), () => expect(runs(path)).toBe(wanted));

  test("whatever a path is made of, what runs is a script within the root, and is found in the path or is an index", () => {
    const segment = fc.oneof(
      fc.constantFrom(
        ...FILES.flatMap((file) => file.split("/")),
        "media",
        "up",
        "site",
        "..",
        ".",
        "",
        "picture.php",
        "leads-out.php",
      ),
      fc.constantFrom(
        ".php",
        "x.php",
        "tool.php.",
        "tool.php;x",
        "TOOL.PHP",
        "tool.php\\x",
        "tool.php%00",
        "alias.php",
        "source.txt",
      ),
    );
    const property = (segments: string[]): void => {
      const path = `/${segments.join("/")}`;
      const found = find(path);
      if (typeof found === "string") return;
      const { file, info } = found;
      expect(file.startsWith(`${root}/`) && file.endsWith(".php") && realpathSync(file) === file).toBe(true);
      expect(file.includes("/uploads/")).toBe(false);
      expect(info).not.toInclude("\\");
      expect(
        info === "" ||
          slashedPath(path).endsWith(info) ||
          path.includes("..") ||
          path.includes("/.") ||
          path.includes("//"),
      ).toBe(true);
    };
    fc.assert(fc.property(fc.array(segment, { maxLength: 5 }), property), { numRuns: 3000 });
  });
});

describe("no script leaves as a file", () => {
  const files = new ContainedRoot(root, undefined, withheldFiles([".php"]));
  const secret = [
    "tool.php",
    "old.PHP",
    "page.phtml",
    "tool.php.bak",
    "tool.php~",
    "source.txt",
    "lib/code.inc",
    "lib/app.phar",
    "hard.php",
    "alias.php",
  ];
  for (const file of secret) test(file, () => expect(files.open(file)).toBe(FileLookup.Missing));

  test("and other files do", () => {
    for (const file of ["style.css", "uploads/picture.jpg", "pages/index.html"])
      expect(files.open(file)).toBe(FileLookup.File);
  });
});
