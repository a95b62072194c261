<?php
// An error for the log, and one that ends the script.
error_log("a note of the script\n with \x1b[31mcolour\x07 and a second line");
no_such_function();
