import { runCodecThread } from "../src/features/transcode/control/codec-thread.ts";
import { verifyTls } from "../src/net/verified-tls.ts";

verifyTls();
runCodecThread();
