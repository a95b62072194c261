import { runModuleThread } from "../src/app/module-thread.ts";

runModuleThread();
