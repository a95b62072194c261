import { runGeneratorThread } from "../src/tools/loadgen/generator-thread.ts";

runGeneratorThread();
