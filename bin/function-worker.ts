import { runFunctionThread } from "../src/app/function-thread.ts";
import { verifyTls } from "../src/app/verified-tls.ts";

verifyTls();
runFunctionThread();
