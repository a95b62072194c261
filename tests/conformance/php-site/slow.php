<?php
// Says in a file that it runs, and that its client has gone.
file_put_contents($_GET['note'], "begun");
ignore_user_abort(false);
register_shutdown_function(function () {
    file_put_contents($_GET['note'], connection_aborted() ? "aborted" : "done");
});
for ($i = 0; $i < 4000; $i++) {
    echo str_repeat(' ', 8192);
    flush();
    usleep(5000);
}
