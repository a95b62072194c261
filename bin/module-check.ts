import { runModuleCheck } from "../src/app/module-check-thread.ts";

runModuleCheck();
