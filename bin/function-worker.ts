import { startFunctionThread } from "../src/features/functions/control/function-thread-start.ts";
import { verifyTls } from "../src/net/verified-tls.ts";

verifyTls();
await startFunctionThread();
