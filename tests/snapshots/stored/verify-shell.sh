#!/bin/sh
# Written by shutdownlint verify. For each workload below it deletes one pod while requests run, and
# compares what becomes of them with what the timeline says. Read it before you run it.
#
#   REQUEST_PATH='/delay/%s' sh verify.sh                the settings as they are
#   REQUEST_PATH='/delay/%s' EXPECT=after sh verify.sh   once the suggested settings are in place
#
# REQUEST_PATH is the path of a request that takes as many seconds as %s says. The script has to run
# where it reaches the pods' addresses: in a pod of the cluster (of its mesh, if there is one), with
#   CURL='kubectl exec deploy/client -- curl'
# KUBECTL, POD, ADDRESS (host:port) and SCHEME (http) can be set too.
# Exit codes: 0: all as predicted. 1: something is not. 2: it could not be tested.
set -u
KUBECTL=${KUBECTL:-kubectl}
CURL=${CURL:-curl}
EXPECT=${EXPECT:-before}
SCHEME=${SCHEME:-http}
: "${REQUEST_PATH:?the path of a request that takes as many seconds as %s says}"
results=$(mktemp -d) || exit 2
trap 'rm -rf "$results"' EXIT
unlike=0

fail() {
  printf '%s\n' "$1" >&2
  exit 2
}

case "$EXPECT" in before | after) ;; *) fail "EXPECT is before or after" ;; esac
case "$REQUEST_PATH" in *%s*) ;; *) fail "REQUEST_PATH has no %s for the seconds" ;; esac

# send NUMBER WAIT SECONDS LIMIT: one request, after a while; what became of it goes into a file.
send() {
  sleep "$2"
  path=$(printf "$REQUEST_PATH" "$3")
  answer=$($CURL --silent --output /dev/null --max-time "$4" \
    --write-out '%{http_code} %{time_total}' "$SCHEME://$address$path")
  echo "$? $answer" > "$results/$1"
}

# try: a request of a second has to be answered after a second, or nothing else means anything.
try() {
  send 0 0 1 16
  read -r code status took < "$results/0" || fail "the first request has no result"
  case "$code/$status/${took%%.*}" in
    0/[23]??/[1-9]*) ;;
    *) fail "a request of 1s should be answered after 1s: HTTP $status, curl $code, ${took}s" ;;
  esac
}

# compare NUMBER SECONDS BEFORE AFTER TEXT-BEFORE TEXT-AFTER: whether it is as predicted.
compare() {
  expected=$3 text=$5
  if [ "$EXPECT" = after ]; then expected=$4 text=$6; fi
  read -r code status took < "$results/$1" || fail "request $1 has no result"
  case "$code/$status" in
    [1-6]/* | 126/* | 127/*) fail "curl cannot send request $1: exit code $code" ;;
    0/[23]??) seen=served ;;
    *) seen=lost ;;
  esac
  if [ "$seen" = served ] && [ "${took%%.*}" -lt "$2" ]; then
    fail "request $1 was answered after ${took}s: it takes less time than it was asked to"
  fi
  verdict='as predicted'
  case "$expected" in
    either) verdict='open        ' ;;
    "$seen") ;;
    *) verdict='UNLIKE      ' unlike=$((unlike + 1)) ;;
  esac
  printf '%s\n' "$verdict  $text; seen: $seen, HTTP $status, curl $code, ${took}s"
}

# Deployment shop/frontend, examples/shop/frontend.yaml:12
# suggested: EXIT_ON_ZERO_ACTIVE_CONNECTIONS false -> true
# suggested: MINIMUM_DRAIN_DURATION 5s -> 15s
# assumption: the program of image frontend is assumed to be graceful: at its stop signal it stops accepting and finishes what it has (if it is not, set 'app' in the configuration)
# restart it under load: kubectl rollout restart deployment/frontend --namespace shop
# a rollout under load: of requests that take 1s, about as many are lost as arrive in 1s; with the suggested settings none are lost
# a rollout under load: of requests that take 10s, about as many are lost as arrive in 10s; with the suggested settings none are lost
# watch: kubectl get events --namespace shop --field-selector involvedObject.name="$pod" --watch
#   Killing: the kubelet has begun. FailedPreStopHook: a hook failed, so that the stop signal came at once. A container with exit code 137 was killed at the end of the grace period.
# watch: kubectl get endpointslices --namespace shop --selector kubernetes.io/service-name=frontend --watch --output yaml
#   the pod's conditions become ready: false and terminating: true; from then on kube-proxy and others take it out.
# watch: kubectl logs --namespace shop "$pod" -c istio-proxy --follow
#   'Agent draining Proxy' at the stop signal; then 'Graceful termination period is 5s, starting...', at the end 'Graceful termination period complete, terminating remaining proxies.'
# watch: kubectl logs CLIENT -c istio-proxy --follow (the access log of a client or gateway)
#   response flags: UC: the connection was cut. UF: none could be opened. UH: no healthy pod. NR: no route. URX: retries are used up. DC: the client went away.
printf '%s\n' 'Deployment shop/frontend'
pod=${POD:-$($KUBECTL get pods --namespace shop --selector app=frontend --output 'go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{$name := .metadata.name}}{{range .status.conditions}}{{if and (eq .type "Ready") (eq .status "True")}}{{$name}}{{"\n"}}{{end}}{{end}}{{end}}{{end}}' | head -n 1)}
[ -n "$pod" ] || fail "no pod of it is ready"
ip=$($KUBECTL get pod --namespace shop "$pod" --output 'jsonpath={.status.podIP}')
case "$ip" in *:*) ip="[$ip]" ;; esac
address=${ADDRESS:-$ip:8080}
try
send 1 0 2 17 &
send 2 0 5 20 &
send 3 0 11 26 &
send 4 0 15 30 &
send 5 0 30 45 &
send 6 0 32 47 &
sleep 1
$KUBECTL delete pod --namespace shop "$pod" --wait=false || fail "the pod cannot be deleted"
send 7 1 1 16 &
send 8 6 1 16 &
send 9 14 1 16 &
send 10 16 1 16 &
send 11 14 14 29 &
wait
compare 1 0 served served '1s request at 0s: served, done at 1s' '1s request at 0s: served, done at 1s'
compare 2 3 served served '4s request at 0s: served, done at 4s' '4s request at 0s: served, done at 4s'
compare 3 9 lost served '10s request at 0s: cut at 5s (terminationDrainDuration 5s (Istio'"'"'s default))' '10s request at 0s: served, done at 10s'
compare 4 13 lost served '14s request at 0s: cut at 5s (terminationDrainDuration 5s (Istio'"'"'s default))' '14s request at 0s: served, done at 14s'
compare 5 28 lost served '29s request at 0s: cut at 5s (terminationDrainDuration 5s (Istio'"'"'s default))' '29s request at 0s: served, done at 29s'
compare 6 30 lost lost '31s request at 0s: cut at 5s (terminationDrainDuration 5s (Istio'"'"'s default))' '31s request at 0s: cut at 30s (terminationGracePeriodSeconds 30s (the Kubernetes default))'
compare 7 0 served served '1s request at 1s: served, done at 2s' '1s request at 1s: served, done at 2s'
compare 8 0 lost served '1s request at 6s: refused at 6s (terminationDrainDuration 5s (Istio'"'"'s default))' '1s request at 6s: served, done at 7s'
compare 9 0 lost served '1s request at 14s: refused at 14s (terminationDrainDuration 5s (Istio'"'"'s default))' '1s request at 14s: served, done at 15s'
compare 10 0 lost lost '1s request at 16s: refused at 16s (terminationDrainDuration 5s (Istio'"'"'s default))' '1s request at 16s: answered 503 at 16s (frontend preStop 15s (line 25))'
compare 11 13 lost served '14s request at 14s: refused at 14s (terminationDrainDuration 5s (Istio'"'"'s default))' '14s request at 14s: served, done at 28s'

if [ "$unlike" -gt 0 ]; then
  printf '%s\n' "$unlike not as predicted"
  exit 1
fi
[exit code 0]
