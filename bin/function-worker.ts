import { startFunctionThread } from "../src/app/function-thread-start.ts";
import { verifyTls } from "../src/app/verified-tls.ts";

verifyTls();
await startFunctionThread();
