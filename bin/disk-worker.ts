import { runDiskThread } from "../src/features/cache/control/disk/disk-thread.ts";
import { verifyTls } from "../src/net/verified-tls.ts";

verifyTls();
runDiskThread();
