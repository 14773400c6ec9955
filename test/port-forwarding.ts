import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../deploy/local/free-ports.ts'
import type { World } from './world.ts'

interface Forwarded {
  readonly name: string
  readonly namespace: string
  readonly port: number
  /** host:port of what answers. */
  readonly address: string
}

const system = 'system-0'
const stages = fileURLToPath(new URL('../deploy/local/kwok-stages.yaml', import.meta.url))

/**
 * A Service whose one pod runs on a Node of its own, and a kubelet for that Node, kwok's, which leads its port to what answers elsewhere. So kubectl
 * port-forward, and what does the same, goes through the API server and a kubelet.
 */
export async function portForwarding(world: World, { name, namespace, port, address }: Forwarded): Promise<void> {
  const { binaries, adminKubeconfig, pki, stateDir, supervisor } = world.cluster
  const [host = '', targetPort = ''] = address.split(':')
  const [kubelet = 0] = await freePorts(1)
  const config = join(stateDir, 'port-forward.yaml')
  const forward = {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'ClusterPortForward',
    metadata: { name },
    spec: { forwards: [{ ports: [port], target: { port: Number(targetPort), address: host } }] },
  }
  await writeFile(config, JSON.stringify(forward))
  supervisor.start({
    name: 'kubelet-of-system',
    command: binaries.kwok,
    args: [
      `--kubeconfig=${adminKubeconfig}`,
      '--manage-all-nodes=false',
      '--manage-nodes-with-annotation-selector=nobody.example=nobody',
      `--server-address=127.0.0.1:${kubelet}`,
      `--node-port=${kubelet}`,
      `--tls-cert-file=${pki.serverCertFile}`,
      `--tls-private-key-file=${pki.serverKeyFile}`,
      // It does not start without stages.
      `--config=${stages}`,
      `--config=${config}`,
    ],
  })
  const labels = { app: name }
  await world.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'Node', metadata: { name: system, labels: { 'kubernetes.azure.com/mode': 'system' } } },
  )
  await world.operator.api('PATCH', `/api/v1/nodes/${system}/status`, {
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: kubelet } },
    },
  })
  await world.apply(
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels },
      spec: {
        nodeName: system,
        automountServiceAccountToken: false,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name, image: name }],
      },
    },
    { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { ports: [{ name: 'grpc', port }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'grpc', port }],
      endpoints: [
        { addresses: ['10.0.0.9'], conditions: { ready: true }, targetRef: { kind: 'Pod', name, namespace } },
      ],
    },
  )
  await world.operator.api('PATCH', `/api/v1/namespaces/${namespace}/pods/${name}/status`, {
    status: { phase: 'Running' },
  })
}
