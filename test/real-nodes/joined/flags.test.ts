import { expect, test } from 'vitest'
import { otherFlags } from './flags.ts'

/** What a kubelet says of itself, as far as these flags go. */
const configuration = {
  maxPods: 42,
  cgroupsPerQOS: true,
  clusterDNS: ['10.0.0.10'],
  authentication: { anonymous: { enabled: false } },
  authorization: { mode: 'Webhook' },
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
  kubeReserved: { cpu: '100m', memory: '1638Mi' },
  registerWithTaints: [
    { key: 'example.com/dedicated', value: 'startup', effect: 'NoExecute' },
    { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
  ],
}

test.each([
  '--max-pods=42',
  '--cgroups-per-qos=true --cluster-dns=10.0.0.10 --anonymous-auth=false --authorization-mode=Webhook',
  // In any order.
  '--eviction-hard=nodefs.available<10%,memory.available<100Mi',
  '--kube-reserved=cpu=100m,memory=1638Mi',
  '--register-with-taints=karpenter.sh/unregistered:NoExecute,example.com/dedicated=startup:NoExecute',
  // No field has it.
  '--cloud-provider=external --kubeconfig=/var/lib/kubelet/kubeconfig',
  // A zero is left out.
  '--event-qps=0',
])('is what the kubelet says of itself: %s', (flags) => {
  expect(otherFlags(flags, configuration)).toEqual([])
})

test.each([
  ['--max-pods=43', '--max-pods is 42, not 43'],
  [
    '--eviction-hard=memory.available<750Mi',
    '--eviction-hard is memory.available<100Mi,nodefs.available<10%, not memory.available<750Mi',
  ],
  ['--kube-reserved=cpu=100m', '--kube-reserved is cpu=100m,memory=1638Mi, not cpu=100m'],
  ['--pod-max-pids=100', '--pod-max-pids is undefined, not 100'],
  [
    '--register-with-taints=example.com/dedicated=other:NoExecute',
    '--register-with-taints is example.com/dedicated=startup:NoExecute,karpenter.sh/unregistered:NoExecute, not example.com/dedicated=other:NoExecute',
  ],
])('is another than the kubelet says: %s', (flag, difference) => {
  expect(otherFlags(`--cluster-dns=10.0.0.10 ${flag}`, configuration)).toEqual([difference])
})
