// A program of its own, run within the network namespace of the control plane: it furnishes the API server, then is its node and its controllers.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { furnish } from "./control-plane.ts";
import { runControllers } from "./controllers.ts";
import { ProcessNode } from "./node.ts";

const [home = "", channel = "standard"] = process.argv.slice(2);
const api = await furnish(home, channel, JSON.parse(await Bun.stdin.text()));
writeFileSync(join(home, "ready"), "");
await Promise.all([runControllers(api), new ProcessNode(api, home).run()]);
