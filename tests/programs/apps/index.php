<?php
// /?3 answers after three seconds.
usleep((int) ((float) $_SERVER["QUERY_STRING"] * 1000000));
header("Content-Length: 2");
echo "ok";
