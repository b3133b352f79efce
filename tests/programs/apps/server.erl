-module(server).
-export([start/0]).
%% A server of OTP's own, without a drainer: /?3 answers after three seconds.

start() ->
    %% The process that listens has to live on.
    spawn(fun listen/0).

listen() ->
    Port = list_to_integer(os:getenv("PORT")),
    {ok, Listener} = gen_tcp:listen(Port, [
        binary, {ip, {127, 0, 0, 1}}, {active, false}, {reuseaddr, true}, {packet, http_bin}
    ]),
    accept(Listener).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Pid = spawn(fun() -> receive go -> serve(Socket, 0) end end),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! go,
    accept(Listener).

serve(Socket, Seconds) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, {http_request, _, {abs_path, Path}, _}} -> serve(Socket, seconds(Path));
        {ok, http_eoh} ->
            timer:sleep(round(1000 * Seconds)),
            gen_tcp:send(Socket, <<"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok">>),
            serve(Socket, 0);
        {ok, _} -> serve(Socket, Seconds);
        _ -> gen_tcp:close(Socket)
    end.

seconds(Path) ->
    case binary:split(Path, <<"?">>) of
        [_, Text] ->
            try binary_to_float(Text) catch _:_ -> binary_to_integer(Text) end;
        _ -> 0
    end.
