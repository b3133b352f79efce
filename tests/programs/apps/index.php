<?php
// /?3 answers after three seconds. A signal ends a sleep early, so there are many short ones.
$end = microtime(true) + (float) $_SERVER["QUERY_STRING"];
while (microtime(true) < $end) {
    usleep(10000);
}
header("Content-Length: 2");
echo "ok";
