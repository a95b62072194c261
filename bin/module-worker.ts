import { runModuleThread } from "../src/app/module-thread.ts";
import { verifyTls } from "../src/app/verified-tls.ts";

verifyTls();
runModuleThread();
