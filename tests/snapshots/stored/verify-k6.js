// Written by shutdownlint verify: Deployment shop/frontend, examples/shop/frontend.yaml:12
// The pod has to be deleted 10s after the start:
//   pod=$(kubectl get pods --namespace shop --selector app=frontend --output 'go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{$name := .metadata.name}}{{range .status.conditions}}{{if and (eq .type "Ready") (eq .status "True")}}{{$name}}{{"\n"}}{{end}}{{end}}{{end}}{{end}}' | head -n 1)
//   (sleep 10; kubectl delete pod --namespace shop "$pod" --wait=false) &
//   k6 run --env ADDRESS=HOST:PORT --env REQUEST_PATH='/delay/%s' verify.js
// With --env EXPECT=after once the suggested settings are in place.
// suggested: EXIT_ON_ZERO_ACTIVE_CONNECTIONS false -> true
// suggested: MINIMUM_DRAIN_DURATION 5s -> 15s
// assumption: the program of image frontend is assumed to be graceful: at its stop signal it stops accepting and finishes what it has (if it is not, set 'app' in the configuration)
// restart it under load: kubectl rollout restart deployment/frontend --namespace shop
// a rollout under load: of requests that take 1s, about as many are lost as arrive in 1s; with the suggested settings none are lost
// a rollout under load: of requests that take 10s, about as many are lost as arrive in 10s; with the suggested settings none are lost
// watch: kubectl get events --namespace shop --field-selector involvedObject.name="$pod" --watch: Killing: the kubelet has begun. FailedPreStopHook: a hook failed, so that the stop signal came at once. A container with exit code 137 was killed at the end of the grace period.
// watch: kubectl get endpointslices --namespace shop --selector kubernetes.io/service-name=frontend --watch --output yaml: the pod's conditions become ready: false and terminating: true; from then on kube-proxy and others take it out.
// watch: kubectl logs --namespace shop "$pod" -c istio-proxy --follow: 'Agent draining Proxy' at the stop signal; then 'Graceful termination period is 5s, starting...', at the end 'Graceful termination period complete, terminating remaining proxies.'
// watch: kubectl logs CLIENT -c istio-proxy --follow (the access log of a client or gateway): response flags: UC: the connection was cut. UF: none could be opened. UH: no healthy pod. NR: no route. URX: retries are used up. DC: the client went away.
const plan = [
  {
    "name": "1s request at 0s",
    "start": 9.0,
    "seconds": 2.0,
    "limit": 17.0,
    "before": {
      "seen": "served",
      "text": "served, done at 1s"
    },
    "after": {
      "seen": "served",
      "text": "served, done at 1s"
    }
  },
  {
    "name": "4s request at 0s",
    "start": 9.0,
    "seconds": 5.0,
    "limit": 20.0,
    "before": {
      "seen": "served",
      "text": "served, done at 4s"
    },
    "after": {
      "seen": "served",
      "text": "served, done at 4s"
    }
  },
  {
    "name": "10s request at 0s",
    "start": 9.0,
    "seconds": 11.0,
    "limit": 26.0,
    "before": {
      "seen": "lost",
      "text": "cut at 5s"
    },
    "after": {
      "seen": "served",
      "text": "served, done at 10s"
    }
  },
  {
    "name": "14s request at 0s",
    "start": 9.0,
    "seconds": 15.0,
    "limit": 30.0,
    "before": {
      "seen": "lost",
      "text": "cut at 5s"
    },
    "after": {
      "seen": "served",
      "text": "served, done at 14s"
    }
  },
  {
    "name": "29s request at 0s",
    "start": 9.0,
    "seconds": 30.0,
    "limit": 45.0,
    "before": {
      "seen": "lost",
      "text": "cut at 5s"
    },
    "after": {
      "seen": "served",
      "text": "served, done at 29s"
    }
  },
  {
    "name": "31s request at 0s",
    "start": 9.0,
    "seconds": 32.0,
    "limit": 47.0,
    "before": {
      "seen": "lost",
      "text": "cut at 5s"
    },
    "after": {
      "seen": "lost",
      "text": "cut at 30s"
    }
  },
  {
    "name": "1s request at 1s",
    "start": 11.0,
    "seconds": 1.0,
    "limit": 16.0,
    "before": {
      "seen": "served",
      "text": "served, done at 2s"
    },
    "after": {
      "seen": "served",
      "text": "served, done at 2s"
    }
  },
  {
    "name": "1s request at 6s",
    "start": 16.0,
    "seconds": 1.0,
    "limit": 16.0,
    "before": {
      "seen": "lost",
      "text": "refused at 6s"
    },
    "after": {
      "seen": "served",
      "text": "served, done at 7s"
    }
  },
  {
    "name": "1s request at 14s",
    "start": 24.0,
    "seconds": 1.0,
    "limit": 16.0,
    "before": {
      "seen": "lost",
      "text": "refused at 14s"
    },
    "after": {
      "seen": "served",
      "text": "served, done at 15s"
    }
  },
  {
    "name": "1s request at 16s",
    "start": 26.0,
    "seconds": 1.0,
    "limit": 16.0,
    "before": {
      "seen": "lost",
      "text": "refused at 16s"
    },
    "after": {
      "seen": "lost",
      "text": "answered 503 at 16s"
    }
  },
  {
    "name": "14s request at 14s",
    "start": 24.0,
    "seconds": 14.0,
    "limit": 29.0,
    "before": {
      "seen": "lost",
      "text": "refused at 14s"
    },
    "after": {
      "seen": "served",
      "text": "served, done at 28s"
    }
  }
];

import http from 'k6/http';
import exec from 'k6/execution';
import { check } from 'k6';

const expect = __ENV.EXPECT || 'before';
const base = `${__ENV.SCHEME || 'http'}://${__ENV.ADDRESS}`;
const path = __ENV.REQUEST_PATH;
if (!__ENV.ADDRESS || !path) {
  throw new Error('set ADDRESS (host:port of the pod) and REQUEST_PATH (with %s for the seconds)');
}

// A steady load on top, for the error rate of a whole rollout: RATE is requests a second.
const load = __ENV.RATE
  ? {
      load: {
        executor: 'constant-arrival-rate',
        rate: Number(__ENV.RATE),
        timeUnit: '1s',
        duration: __ENV.LOAD_FOR || '2m',
        preAllocatedVUs: 50,
        exec: 'short',
      },
    }
  : {};

const scenarios = {};
plan.forEach((request, number) => {
  scenarios[`request_${number + 1}`] = {
    executor: 'per-vu-iterations',
    vus: 1,
    iterations: 1,
    startTime: `${request.start}s`,
    maxDuration: `${request.limit}s`,
    gracefulStop: '0s',
    exec: 'planned',
    env: { NUMBER: String(number) },
  };
});

export const options = {
  scenarios: { ...scenarios, ...load },
  thresholds: { checks: ['rate==1'] },
};

export function planned() {
  const request = plan[Number(__ENV.NUMBER)];
  const wanted = request[expect];
  const url = base + path.replace('%s', String(request.seconds));
  const answer = http.get(url, { timeout: `${request.limit}s`, tags: { request: request.name } });
  const answered = answer.status >= 200 && answer.status < 400;
  const early = answer.timings.duration < (request.seconds - 1.5) * 1000;
  const seen = !answered ? 'lost' : early ? 'answered too early' : 'served';
  const text = `${request.name}: ${wanted.text}`;
  console.log(`${text}; seen: ${seen}, HTTP ${answer.status} ${answer.error}`);
  check(answer, { [text]: () => wanted.seen === 'either' || wanted.seen === seen });
}

export function short() {
  http.get(base + path.replace('%s', '1'), { tags: { request: `load ${exec.scenario.name}` } });
}
[exit code 0]
