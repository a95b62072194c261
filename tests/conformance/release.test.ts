// docs/install.md#a-release: what scripts/release makes, taken up by the tools that its users have.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { REPOSITORIES } from "../../scripts/packaging/publication.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { OwnRoot } from "../harness/own-root.ts";
import { runProcess } from "../harness/run-process.ts";

const TOP = join(import.meta.dir, "../..");
const folder = mkdtempSync(join(tmpdir(), "edge-release-"));
const first = join(folder, "first");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function release(out: string, targets: string): Promise<void> {
  const { code, stderr } = await runProcess([join(TOP, "scripts/release"), "--targets", targets, "--out", out], {
    timeout: 600_000,
  });
  expect([code, stderr]).toEqual([0, ""]);
}

function fileIn(out: string, end: string): string {
  const found = readdirSync(out).find((name) => name.endsWith(end));
  if (found === undefined) throw new Error(`the release has no ${end}`);
  return join(out, found);
}

async function done(...command: string[]): Promise<string> {
  const run = await runProcess(command, { timeout: 120_000 });
  if (run.code !== 0) throw new Error(`${command.join(" ")}: ${run.stderr}${run.stdout}`);
  return run.stdout;
}

/** Whether a program is here; one that is not is named in one line. */
function has(program: string, origin: string): boolean {
  if (!IS_LONG) return false;
  if (Bun.which(program) !== null) return true;
  console.log(`skipped: ${program} is not here (${origin})`);
  return false;
}

describe.skipIf(!IS_LONG)("a release", () => {
  beforeAll(() => release(first, "linux-x64,windows-x64"), 700_000);

  test("is the same in every bit when it is made again", async () => {
    const second = join(folder, "second");
    await release(second, "linux-x64,windows-x64");
    expect(readFileSync(join(second, "SHA256SUMS"), "utf8")).toBe(readFileSync(join(first, "SHA256SUMS"), "utf8"));
    rmSync(second, { recursive: true });
  }, 700_000);

  test("has checksums that sha256sum takes, one for each file", async () => {
    await done("sh", "-c", `cd ${first} && sha256sum --check --strict --quiet SHA256SUMS`);
    expect(readFileSync(join(first, "SHA256SUMS"), "utf8").trim().split("\n")).toHaveLength(
      readdirSync(first).length - 1,
    );
  });

  test("has an archive whose binary runs", async () => {
    const at = join(folder, "archive");
    mkdirSync(at);
    await done("tar", "-xzf", fileIn(first, "linux-x64.tar.gz"), "-C", at);
    const [top = ""] = readdirSync(at);
    expect(await done(join(at, top, "edge"), "version")).toContain("edge ");
    expect(readdirSync(join(at, top))).toEqual(expect.arrayContaining(["LICENSE", "THIRD-PARTY-LICENSES.txt", "man"]));
    expect(await done("unzip", "-l", fileIn(first, "windows-x64.zip"))).toMatch(/\d{9} .*\/edge\.exe$/m);
  });

  test("names every package in the binary with its licence", async () => {
    const list = JSON.parse(readFileSync(fileIn(first, ".spdx.json"), "utf8"));
    const names = list.packages.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["edge", "bun", "yaml", "acme-client", "prom-client", "libc6"]));
    const places = list.packages.flatMap((one: { externalRefs?: { referenceLocator: string }[] }) =>
      (one.externalRefs ?? []).map(({ referenceLocator }) => referenceLocator.replace(/@[^@]*$/, "")),
    );
    expect(places).toEqual(expect.arrayContaining(["pkg:npm/yaml", "pkg:deb/debian/libc6"]));
    const unsaid = list.packages.filter((one: { licenseDeclared: string }) => one.licenseDeclared === "NOASSERTION");
    expect(unsaid).toEqual([]);
  });

  test.skipIf(!has("python3", "Debian: python3-venv"))(
    "its list of packages is SPDX for SPDX's own reader",
    async () => {
      const venv = join(folder, "spdx");
      await done("python3", "-m", "venv", venv);
      await done(join(venv, "bin/pip"), "install", "-q", "spdx-tools==0.8.3");
      await done(join(venv, "bin/pyspdxtools"), "-i", fileIn(first, ".spdx.json"));
    },
    130_000,
  );
});

/** Notes what it is told, and answers what scripts of packages ask. */
const SYSTEMCTL = `#!/bin/sh
echo "$*" >>/tmp/asked
case "$*" in
  *is-active*) [ -e /tmp/active ] ;;
  *is-enabled*) if [ -L WANTED ]; then echo enabled; else echo disabled; fi ;;
  *preset*) exec /usr/bin/systemctl "$@" ;;
esac
`;

describe.skipIf(!has("dpkg", "Debian"))("the package of Debian", () => {
  const root = OwnRoot.make();
  if (root === null && IS_LONG) console.log("skipped: a root of its own needs root and overlayfs");
  afterAll(() => root?.remove());

  test.skipIf(root === null)(
    "is installed, keeps a changed configuration, and leaves nothing when it is purged",
    async () => {
      const own = root!;
      cpSync(fileIn(first, "_amd64.deb"), join(own.path, "tmp/edge.deb"));
      const install = () => own.run("dpkg", "-i", "/tmp/edge.deb");
      expect(await install()).toMatchObject({ code: 0 });
      expect((await own.run("id", "-un", "edge")).stdout).toBe("edge\n");
      expect((await own.run("edge", "version")).stdout).toContain("edge ");
      expect((await own.run("edge", "check", "--config", "/etc/edge/config.yaml")).code).toBe(0);
      for (const path of ["/usr/bin/edge", "/usr/lib/systemd/system/edge.service", "/usr/share/man/man1/edge.1.gz"]) {
        expect((await own.run("dpkg", "-S", path)).stdout).toBe(`edge: ${path}\n`);
      }
      const unit = await own.run("systemd-analyze", "verify", "--man=no", "/usr/lib/systemd/system/edge.service");
      expect([unit.code, unit.stderr]).toEqual([0, ""]);
      const config = join(own.path, "etc/edge/config.yaml");
      const changed = readFileSync(config, "utf8").replace("port: 8080", "port: 8999");
      writeFileSync(config, changed);
      expect(await install()).toMatchObject({ code: 0 });
      expect(readFileSync(config, "utf8")).toBe(changed);
      expect(await own.run("dpkg", "-r", "edge")).toMatchObject({ code: 0 });
      expect([own.has("/usr/bin/edge"), own.has("/etc/edge/config.yaml")]).toEqual([false, true]);
      mkdirSync(join(own.path, "var/lib/edge/acme"), { recursive: true });
      expect(await own.run("dpkg", "-P", "edge")).toMatchObject({ code: 0 });
      expect([own.has("/etc/edge/config.yaml"), own.has("/var/lib/edge")]).toEqual([false, false]);
    },
    120_000,
  );

  test.skipIf(root === null || Bun.which("deb-systemd-helper") === null)(
    "is enabled and started, again after it was removed, and never against its administrator",
    async () => {
      const own = root!;
      cpSync(fileIn(first, "_amd64.deb"), join(own.path, "tmp/edge.deb"));
      const wanted = "/etc/systemd/system/multi-user.target.wants/edge.service";
      // What would be asked of systemd, which does not run in that root.
      mkdirSync(join(own.path, "run/systemd/system"), { recursive: true });
      rmSync(join(own.path, "usr/sbin/policy-rc.d"), { force: true });
      writeFileSync(join(own.path, "usr/local/bin/systemctl"), SYSTEMCTL.replace("WANTED", wanted), { mode: 0o755 });
      const asked = async (...command: string[]) => {
        writeFileSync(join(own.path, "tmp/asked"), "");
        const env = "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        expect(await own.run("env", env, ...command)).toMatchObject({ code: 0 });
        return (
          readFileSync(join(own.path, "tmp/asked"), "utf8").match(/(?<![-\w])(?:start|stop|kill|disable)(?= )/g) ?? []
        );
      };
      const install = () => asked("dpkg", "-i", "/tmp/edge.deb");
      expect([await install(), own.has(wanted)]).toEqual([["start"], true]);
      writeFileSync(join(own.path, "tmp/active"), "");
      expect(await install()).toEqual(["kill"]);
      rmSync(join(own.path, "tmp/active"));
      expect(await install()).toEqual([]);
      expect(await asked("dpkg", "-r", "edge")).toEqual(["stop"]);
      expect([await install(), own.has(wanted)]).toEqual([["start"], true]);
      rmSync(join(own.path, wanted));
      expect([await install(), own.has(wanted)]).toEqual([[], false]);
      await asked("dpkg", "-r", "edge");
      expect([await install(), own.has(wanted)]).toEqual([[], false]);
      expect((await own.run("dpkg", "-V", "edge")).stdout).toBe("");
      await asked("dpkg", "-P", "edge");
    },
    120_000,
  );

  test.skipIf(!has("lintian", "Debian: lintian"))(
    "has no errors and warnings of lintian",
    async () => {
      const { stdout } = await runProcess(["lintian", "--allow-root", fileIn(first, "_amd64.deb")], {
        timeout: 100_000,
      });
      expect(stdout.split("\n").filter((line) => /^[EW]: /.test(line))).toEqual([]);
    },
    120_000,
  );

  test.skipIf(root === null || !has("rpm", "Debian: rpm"))(
    "and that of RPM is installed and removed",
    async () => {
      const own = root!;
      cpSync(fileIn(first, ".x86_64.rpm"), join(own.path, "tmp/edge.rpm"));
      // What a package of RPM needs is known to RPM alone, and here all else is Debian's.
      expect(await own.run("rpm", "-i", "--nodeps", "/tmp/edge.rpm")).toMatchObject({ code: 0 });
      expect((await own.run("rpm", "-qf", "/usr/bin/edge")).stdout).toMatch(/^edge-[\d.]+-1\.x86_64$/m);
      expect((await own.run("rpm", "-qc", "edge")).stdout).toContain("/etc/edge/config.yaml");
      expect((await own.run("edge", "check", "--config", "/etc/edge/config.yaml")).code).toBe(0);
      expect(await own.run("rpm", "-e", "edge")).toMatchObject({ code: 0 });
      expect(own.has("/usr/bin/edge")).toBe(false);
    },
    120_000,
  );
});

describe.skipIf(!IS_LONG)("the folders for package managers, from a web server,", () => {
  /** Everything of apt and of GnuPG stands in here: the machine's own lists, caches and keys are neither read nor written. */
  const own = join(folder, "own");
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => new Response(Bun.file(join(first, new URL(url).pathname))),
    error: () => new Response(null, { status: 404 }),
  });
  const keyring = join(own, "edge.gpg");
  afterAll(() => server.stop(true));

  function make(name: string): void {
    REPOSITORIES.find((one) => one.name === name)!.make(first);
  }

  async function apt(options: string, ...command: string[]) {
    for (const one of ["lists/partial", "archives/partial", "empty"]) mkdirSync(join(own, one), { recursive: true });
    writeFileSync(join(own, "sources.list"), `deb [${options}] http://127.0.0.1:${server.port}/apt ./\n`);
    const places = {
      "Dir::Etc::SourceList": join(own, "sources.list"),
      "Dir::Etc::SourceParts": join(own, "empty"),
      "Dir::Etc::Trusted": join(own, "none.gpg"),
      "Dir::Etc::TrustedParts": join(own, "empty"),
      "Dir::State::Lists": join(own, "lists"),
      "Dir::Cache": own,
      "APT::Sandbox::User": "root",
      "Acquire::http::Proxy": "DIRECT",
    };
    const flags = Object.entries(places).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
    return runProcess(["apt-get", "-q", ...flags, ...command], { cwd: own, timeout: 60_000 });
  }

  const hasApt = has("apt-get", "Debian: apt") && has("apt-ftparchive", "Debian: apt-utils") && has("gpg", "gnupg");
  test.skipIf(!hasApt)(
    "apt installs the signed package, and refuses lists that were changed afterwards",
    async () => {
      make("apt");
      const home = join(own, "gnupg");
      mkdirSync(home, { recursive: true, mode: 0o700 });
      const gpg = (...args: string[]) =>
        done("gpg", "--homedir", home, "--batch", "--yes", "--passphrase", "", ...args);
      await gpg("--quick-generate-key", "edge <edge@example.com>", "ed25519", "sign", "never");
      await gpg("--output", keyring, "--export");
      const signed = `signed-by=${keyring}`;
      const release = join(first, "apt/Release");
      expect((await apt(signed, "update")).stderr).toContain("is not signed");
      await gpg("--clearsign", "--output", join(first, "apt/InRelease"), release);
      expect(await apt(signed, "update")).toMatchObject({ code: 0, stderr: "" });
      const simulated = await apt(signed, "install", "--simulate", "edge");
      expect(simulated.stdout).toMatch(/^Inst edge \(/m);
      expect(await apt(signed, "download", "edge")).toMatchObject({ code: 0 });
      expect(readFileSync(fileIn(own, "_amd64.deb"))).toEqual(readFileSync(fileIn(first, "_amd64.deb")));
      const lists = join(first, "apt/Packages.gz");
      const packages = readFileSync(lists);
      for (const name of ["Packages", "Packages.gz"]) writeFileSync(join(first, "apt", name), "Package: edge\n");
      rmSync(join(own, "lists"), { recursive: true });
      expect((await apt(signed, "update")).code).not.toBe(0);
      writeFileSync(lists, packages);
    },
    120_000,
  );

  test.skipIf(!has("createrepo_c", "Debian: createrepo-c"))(
    "dnf reads the lists, and they lead to the package by its checksum",
    async () => {
      make("dnf");
      const top = `http://127.0.0.1:${server.port}/dnf`;
      const bytesOf = async (href: string) => new Uint8Array(await (await fetch(`${top}/${href}`)).arrayBuffer());
      const sumOf = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      const about = new TextDecoder().decode(await bytesOf("repodata/repomd.xml"));
      const [, listSum, listHref] =
        /<data type="primary">\s*<checksum type="sha256">(\w+)<\/checksum>[\s\S]*?<location href="([^"]+)"/.exec(
          about,
        )!;
      const list = await bytesOf(listHref!);
      expect(sumOf(list)).toBe(listSum!);
      const text = new TextDecoder().decode(unpacked(listHref!, list));
      expect(text).toMatch(/<name>edge<\/name>\s*<arch>x86_64<\/arch>/);
      const [, sum, href] =
        /<checksum type="sha256" pkgid="YES">(\w+)<\/checksum>[\s\S]*?<location href="([^"]+)"/.exec(text)!;
      const bytes = await bytesOf(href!);
      expect(sumOf(bytes)).toBe(sum!);
      expect(bytes).toEqual(new Uint8Array(readFileSync(fileIn(first, ".x86_64.rpm"))));
      if (!has("dnf", "Debian: dnf")) return;
      const places = ["reposdir=/dev/null", `cachedir=${join(own, "dnf")}`, `logdir=${join(own, "dnf")}`].map(
        (one) => `--setopt=${one}`,
      );
      const args = [...places, `--repofrompath=edge,${top}`, "--repo=edge", "--nogpgcheck"];
      const root = `--installroot=${join(own, "root")}`;
      const found = await done("dnf", "-q", root, "--releasever=1", ...args, "repoquery", "--location", "edge");
      expect(found.trim()).toBe(`${top}/${href}`);
    },
    120_000,
  );
});

function unpacked(name: string, bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  if (name.endsWith(".zst")) return Bun.zstdDecompressSync(bytes);
  return Bun.gunzipSync(bytes);
}

describe.skipIf(!has("skopeo", "Debian: skopeo"))("the image", () => {
  test("is one for skopeo, runs as no root, and serves from a root that cannot be written", async () => {
    const image = `oci-archive:${fileIn(first, "-oci.tar")}`;
    const config = JSON.parse(await done("skopeo", "inspect", "--config", image)).config;
    expect([config.User, config.Entrypoint]).toEqual(["65532:65532", ["/usr/bin/edge"]]);
    const layout = join(folder, "layout");
    const root = join(folder, "image");
    mkdirSync(root);
    await done("skopeo", "copy", "-q", image, `dir:${layout}`);
    const { layers } = JSON.parse(readFileSync(join(layout, "manifest.json"), "utf8"));
    for (const { digest } of layers) await done("tar", "-xzf", join(layout, digest.slice(7)), "-C", root);
    const port = freePort();
    const yaml = join(root, "etc/edge/config.yaml");
    writeFileSync(yaml, readFileSync(yaml, "utf8").replace("port: 8080", `port: ${port}`));
    for (const one of ["proc", "dev"]) mkdirSync(join(root, one));
    chmodSync(root, 0o755);
    const program = [...config.Entrypoint, ...config.Cmd].join(" ");
    const ways = [
      `mount --bind ${root} ${root}`,
      `mount -o remount,ro,bind ${root}`,
      `mount -t proc proc ${root}/proc`,
      `exec chroot --userspec=65532:65532 ${root} ${program}`,
    ];
    const served = Bun.spawn(["unshare", "--mount", "sh", "-ec", ways.join("\n")], {
      stdout: "ignore",
      stderr: "pipe",
    });
    try {
      await eventually(async () => expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200), 30_000);
      expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toContain("<html");
    } finally {
      served.kill("SIGTERM");
      await served.exited;
    }
  }, 120_000);
});
