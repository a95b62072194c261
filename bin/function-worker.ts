import { noteOpenedFiles } from "../src/features/functions/thread/opened-files.ts";

// Before anything imports `node:fs`, so that names which a module imports of it are the noted ones.
noteOpenedFiles();
const { startFunctionThread } = await import("../src/app/function-thread-start.ts");
startFunctionThread();
