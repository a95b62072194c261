import { startModuleThread } from "../src/app/module-thread-start.ts";
import { verifyTls } from "../src/net/verified-tls.ts";

verifyTls();
await startModuleThread();
