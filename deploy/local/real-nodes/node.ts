import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { kubeconfig } from '../kubernetes.ts'
import type { LocalCluster, Place } from '../local-cluster.ts'
import { addresses, cable, nodeName, podsOf } from './addresses.ts'
import { BareNode, type NodeParts } from './bare-node.ts'
import { serverCgroups } from './cgroups.ts'
import { kubeletConfig, podNetwork, proxyConfig } from './node-config.ts'

const run = promisify(execFile)

/** What the API server needs for a node that is not on the loopback interface. */
export const place: Place = {
  host: addresses.host,
  serverNames: [
    addresses.host,
    addresses.apiService,
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc.cluster.local',
  ],
  certificates: {
    kubelet: { subject: `O=system:nodes, CN=system:node:${nodeName}`, usages: ['clientAuth'] },
    'kubelet-serving': {
      subject: `O=system:nodes, CN=system:node:${nodeName}`,
      usages: ['serverAuth'],
      names: [nodeName, addresses.node],
    },
    'apiserver-kubelet': { subject: 'O=system:masters, CN=kube-apiserver', usages: ['clientAuth'] },
    'kube-proxy': { subject: 'CN=system:kube-proxy', usages: ['clientAuth'] },
  },
  // Without an authority of kubelets' serving certificates: each VM signs its own.
  apiserverArgs: (pki) => [
    `--advertise-address=${addresses.host}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-client-certificate=${join(pki, 'apiserver-kubelet.crt')}`,
    `--kubelet-client-key=${join(pki, 'apiserver-kubelet.key')}`,
  ],
}

/** The node of the cluster's own pods. Its kubelet is configured here. */
export class RealNode {
  readonly bare: BareNode

  constructor(parts: NodeParts) {
    this.bare = new BareNode({
      ...parts,
      name: nodeName,
      cgroups: serverCgroups,
      cable,
      address: addresses.node,
      pods: podsOf(0),
    })
  }

  /** Makes its namespaces, and the cable to this machine, which reaches Services by it. */
  async plugIn(): Promise<void> {
    await this.bare.plugIn()
    await run('ip', ['route', 'add', addresses.services, 'via', addresses.node])
  }

  /** Starts containerd, and takes these archives of images in. */
  async startContainerd(archives: readonly string[]): Promise<void> {
    await writeFile(join(this.bare.configFolder, '10-pods.conflist'), JSON.stringify(podNetwork(podsOf(0))))
    await this.bare.startContainerd(archives, this.bare.configFolder)
  }

  /** Starts the kubelet and kube-proxy, which join this cluster. */
  async join({ server, pki }: LocalCluster): Promise<void> {
    const keys = dirname(pki.caFile)
    const file = (name: string) => join(this.bare.configFolder, name)
    const user = { 'client-certificate': join(keys, 'kubelet.crt'), 'client-key': join(keys, 'kubelet.key') }
    await writeFile(file('kubelet.kubeconfig'), kubeconfig({ server, caFile: pki.caFile, user }))
    await writeFile(file('resolv.conf'), '')
    await writeFile(file('kubelet.yaml'), stringify(kubeletConfig(keys, file('resolv.conf'))))
    const labels = ['kubernetes.azure.com/mode=system', 'topology.kubernetes.io/zone=westus2-1']
    this.bare.start('kubelet', [
      '--config',
      file('kubelet.yaml'),
      '--kubeconfig',
      file('kubelet.kubeconfig'),
      '--hostname-override',
      nodeName,
      '--node-ip',
      addresses.node,
      '--node-labels',
      labels.join(','),
    ])
    await startProxy(this.bare, { server, pki })
  }
}

/** Starts kube-proxy in a node. */
export async function startProxy(node: BareNode, { server, pki }: Pick<LocalCluster, 'server' | 'pki'>): Promise<void> {
  const keys = dirname(pki.caFile)
  const config = join(node.configFolder, 'kube-proxy.yaml')
  const access = join(node.configFolder, 'kube-proxy.kubeconfig')
  const user = { 'client-certificate': join(keys, 'kube-proxy.crt'), 'client-key': join(keys, 'kube-proxy.key') }
  await writeFile(access, kubeconfig({ server, caFile: pki.caFile, user }))
  await writeFile(config, stringify(proxyConfig(access, node.name)))
  node.start('kube-proxy', ['--config', config])
}
