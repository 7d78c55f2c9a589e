#!/bin/bash
# packaging/kubernetes, built by the real kustomize for Deployments of several kinds. Each container loads the agent,
# keeps its own settings, and finds the agent's. The init container is allowed under the restricted pod security
# standard. Then the test executes the result: the init container's command, and a program with a container's
# environment. Go installs kustomize into a folder of the test, or KUSTOMIZE names one.
. "$(dirname "$0")/../system/agent.inc"
. test/system/guide.inc

have python3
python3 -c 'import yaml' 2>/dev/null || skip "python3 has no yaml"
kustomize=${KUSTOMIZE:-$work/bin/kustomize}
if [ -z "${KUSTOMIZE:-}" ]; then
	have go
	GOBIN=$work/bin GOPATH=$work/go GOFLAGS=-modcacherw go install "sigs.k8s.io/kustomize/kustomize/v5@${KUSTOMIZE_VERSION:-v5.8.0}" \
		>"$work/log" 2>&1 || skip "Go does not bring kustomize: $(tail -n 1 "$work/log")"
fi

cp -r packaging/kubernetes "$work/component"
mkdir "$work/own"
# The guide's own, with settings of this test after it.
guide_block docs/install/containers.md 1 | sed 's|asprof-agent/packaging/kubernetes|../component|; s|deployment[.]yaml|deployments.yaml|' \
	>"$work/own/kustomization.yaml"
cat >>"$work/own/kustomization.yaml" <<'END'
  - patch: |-
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: asprof-agent}
      data: {CPU_INTERVAL: 5ms, PROCESS: "!sh,*"}
END
cat >"$work/own/deployments.yaml" <<'END'
apiVersion: apps/v1
kind: Deployment
metadata: {name: bare}
spec:
  selector: {matchLabels: {app: bare}}
  template:
    metadata: {labels: {app: bare}}
    spec:
      containers:
        - {name: service, image: service}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: full}
spec:
  selector: {matchLabels: {app: full}}
  template:
    metadata: {labels: {app: full}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 10001}
      initContainers:
        - {name: migrate, image: migrate}
      containers:
        - name: service
          image: service
          env:
            - {name: LD_PRELOAD, value: /usr/lib/libjemalloc.so.2}
            - {name: OTHER, value: kept}
          envFrom:
            - configMapRef: {name: own}
          securityContext: {readOnlyRootFilesystem: true}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
        - name: proxy
          image: proxy
          env:
            - {name: PORT, value: "80"}
      volumes:
        - {name: tmp, emptyDir: {}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - {name: job, image: job}
END
"$kustomize" build "$work/own" >"$work/result.yaml" 2>"$work/log" || fail "kustomize: $(cat "$work/log")"
[ ! -s "$work/log" ] || fail "kustomize: $(cat "$work/log")"

python3 - "$work/result.yaml" >"$work/container" <<'P' || fail "$(cat "$work/result.yaml")"
import sys, yaml

resources = list(yaml.safe_load_all(open(sys.argv[1])))
found = {(r['kind'], r['metadata']['name']): r for r in resources}
settings = [r for r in resources if r['kind'] == 'ConfigMap']
assert len(resources) == 4 and len(settings) == 1, list(found)
settings = settings[0]
assert settings['data']['CPU_INTERVAL'] == '5ms' and settings['data']['TAGS'] == 'team=web' and 'LOCAL_MAX_BYTES' in settings['data'], settings
name = settings['metadata']['name']
assert name != 'asprof-agent', 'a change of settings restarts nothing'
library = '/asprof-agent/libasprof_preload.so'


def named(list, name):
    one = [entry for entry in list if entry.get('name') == name]
    assert len(one) == 1, (name, list)
    return one[0]


def check_pod(pod):
    volumes = {v['name'] for v in pod['volumes']}
    assert all('emptyDir' in named(pod['volumes'], v) for v in ('asprof-agent', 'asprof-profiles'))
    init = named(pod['initContainers'], 'asprof-agent')
    assert init['image'] == 'registry.example.com/asprof-agent:0.1.0' and init['args'] == ['--copy-to', '/asprof-agent']
    limits = init['securityContext'] # of the Pod Security Standard "restricted"
    assert limits['runAsNonRoot'] and limits['readOnlyRootFilesystem'] and not limits['allowPrivilegeEscalation']
    assert limits['capabilities'] == {'drop': ['ALL']} and limits['seccompProfile'] == {'type': 'RuntimeDefault'}
    assert 'runAsUser' not in limits, 'the image has one, and a cluster may have its own'
    for container in pod['containers']:
        preload = named(container['env'], 'LD_PRELOAD')['value'].split(':')
        assert preload[0] == library, preload
        assert {'prefix': 'ASPROF_AGENT_', 'configMapRef': {'name': name}} in container['envFrom'], container
        mounts = {m['mountPath']: m for m in container['volumeMounts']}
        assert mounts['/asprof-agent']['readOnly'] and '/var/lib/asprof-agent' in mounts, mounts
    for container in pod['containers'] + pod['initContainers']:
        mounts = [m['mountPath'] for m in container.get('volumeMounts', [])]
        assert len(set(mounts)) == len(mounts)
        assert {m['name'] for m in container.get('volumeMounts', [])} <= volumes, container


bare = found['Deployment', 'bare']['spec']['template']['spec']
full = found['Deployment', 'full']['spec']['template']['spec']
check_pod(bare)
check_pod(full)
assert len(bare['containers']) == 1 and [c['name'] for c in full['containers']] == ['service', 'proxy']
service, proxy = full['containers']
assert named(service['env'], 'LD_PRELOAD')['value'] == library + ':/usr/lib/libjemalloc.so.2'
assert named(service['env'], 'OTHER')['value'] == 'kept' and named(proxy['env'], 'PORT')['value'] == '80'
assert {'configMapRef': {'name': 'own'}} in service['envFrom']
assert service['securityContext'] == {'readOnlyRootFilesystem': True}
assert named(service['volumeMounts'], 'tmp')['mountPath'] == '/tmp' and named(full['volumes'], 'tmp')
assert named(full['initContainers'], 'migrate') and full['securityContext']['runAsUser'] == 10001
assert 'env' not in found['Job', 'job']['spec']['template']['spec']['containers'][0], 'no Deployment'
print(named(bare['containers'][0]['env'], 'LD_PRELOAD')['value'])
for key, value in settings['data'].items():
    print('ASPROF_AGENT_%s=%s' % (key, value))
P

# Kyverno's policy in the guide adds the same. (Kyverno itself is not run.)
guide_block docs/install/containers.md 2 >"$work/kyverno.yaml"
python3 - "$work/kyverno.yaml" "$work/result.yaml" <<'P' || fail "the policy differs from the component"
import sys, yaml

policy = yaml.safe_load(open(sys.argv[1]))
spec = policy['spec']['rules'][0]['mutate']['patchStrategicMerge']['spec']
pod = next(r for r in yaml.safe_load_all(open(sys.argv[2])) if r['metadata']['name'] == 'bare')['spec']['template']['spec']
init = dict(pod['initContainers'][0])
del init['resources']
assert spec['initContainers'] == [init], (spec['initContainers'], init)
assert spec['volumes'] == pod['volumes'], (spec['volumes'], pod['volumes'])
container, = spec['containers']
assert container['(name)'] == '*' and container['volumeMounts'] == pod['containers'][0]['volumeMounts'], container
assert container['env'][0]['value'] + ':' == pod['containers'][0]['env'][0]['value'], container
P

# Like the kubelet: the init container's command, then a container's environment; paths are below $work here.
mkdir "$work/asprof-agent" "$work/profiles" "$work/image"
cp "$B/libasprof_preload.so" "$B/asprof-agent-launch" "$work/image/"
"$work/image/asprof-agent-launch" --copy-to "$work/asprof-agent" || fail "the init container: status $?"
mapfile -t lines <"$work/container"
env LD_PRELOAD="$work${lines[0]}" "${lines[@]:1}" ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_LOCAL_DIR="$work/profiles" \
	sh -c 'exec python3 -c "for i in range(9000000): pass"' >"$work/out" 2>&1 || fail "a container: $(cat "$work/out")"
[ ! -s "$work/out" ] || fail "a container: $(cat "$work/out")"
ls "$work/profiles"/python3*.jfr >/dev/null 2>&1 || fail "a container: no profile: $(ls "$work/profiles")"
"$agent" summary "$work/profiles" | grep -q 'cpu 5 ms' || fail "a container: other settings"
echo ok
