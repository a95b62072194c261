import { expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runningWith } from "../../../src/cli/running-gateway.ts";
import { eventually } from "../../harness/eventually.ts";

const IS_LINUX = process.platform === "linux";
/** Root alone can start a process of another user. */
const AS_OTHER =
  process.getuid?.() === 0 && Bun.which("setpriv") !== null ? "setpriv --reuid=65534 --regid=65534 --clear-groups" : "";

test.if(IS_LINUX)(
  `a process that names a file${AS_OTHER === "" ? "" : ", and of other users only one that may read it,"} was started with it`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "edge-running-"));
    chmodSync(folder, 0o755);
    const config = join(folder, "config.yaml");
    writeFileSync(config, "server: [", { mode: 0o644 });
    writeFileSync(join(folder, "serve"), "kill -STOP $$", { mode: 0o644 });
    const start = (as: string) =>
      Bun.spawn([...as.split(" ").filter((word) => word !== ""), "bash", "serve", "--config", config], {
        cwd: folder,
        stdio: ["ignore", "ignore", "ignore"],
      });
    const [own, other] = [start(""), AS_OTHER === "" ? null : start(AS_OTHER)];
    try {
      const found = (): number[] => runningWith(config).map(({ pid }) => pid);
      await eventually(() => expect(found()).toEqual([own.pid, ...(other === null ? [] : [other.pid])]));
      chmodSync(config, 0o600);
      expect(found()).toEqual([own.pid]);
    } finally {
      for (const child of [own, other]) child?.kill("SIGKILL");
      rmSync(folder, { recursive: true });
    }
  },
);
