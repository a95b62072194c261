import { startFunctionThread } from "../src/app/function-thread-start.ts";
import { verifyTls } from "../src/net/verified-tls.ts";

verifyTls();
await startFunctionThread();
