import { startModuleThread } from "../src/features/functions/control/module-thread-start.ts";
import { verifyTls } from "../src/net/verified-tls.ts";

verifyTls();
await startModuleThread();
