#!/usr/bin/env escript
main([Text]) ->
    {ok, _} = application:ensure_all_started(ftp),
    #{host := Host, path := Path} = Url = uri_string:parse(Text),
    {User, Password} =
        case string:split(maps:get(userinfo, Url, "anonymous:guest@"), ":") of
            [Name, Secret] -> {Name, Secret};
            [Name] -> {Name, ""}
        end,
    {ok, Ftp} = ftp:open(Host, [{port, maps:get(port, Url, 21)}]),
    ok = ftp:user(Ftp, User, Password),
    ok = ftp:type(Ftp, binary),
    {ok, Bytes} = ftp:recv_bin(Ftp, uri_string:percent_decode(Path)),
    io:put_chars(Bytes).
