import { runModuleThread } from "../src/app/module-thread.ts";
import { verifyTls } from "../src/net/verified-tls.ts";

verifyTls();
runModuleThread();
