# A Rack app: /?3 answers after three seconds.
run(lambda do |env|
  sleep(env["QUERY_STRING"].to_f)
  [200, { "content-length" => "2" }, ["ok"]]
end)
