// Somebody types docs/install-aks.md, on a cluster whose pods run.
import { parse, stringify } from 'yaml'
import { clusterName } from '../../deploy/local/cluster.ts'
import { serviceAccountIssuer } from '../../deploy/local/kubernetes.ts'
import type { Stage } from '../../deploy/local/real-nodes/stage.ts'
import { until } from '../../deploy/local/real-nodes/until.ts'
import { AksOwner } from '../arm/aks-owner.ts'
import type { Scenario } from '../pages/blocks.ts'
import { Player } from '../pages/player.ts'
import { localValues } from './release.ts'

const taint = 'node.cilium.io/agent-not-ready'
const linesOf = (text: string) => text.split('\n').filter((line) => line !== '')

/**
 * Types all commands of the page that do not need Azure itself, in its order, and prints what they print: from the command line to five pods on nodes that
 * Joiner made, and the nodes gone again. Errors: what failed, or was left out.
 */
export async function followInstallPage(stage: Stage, say: (line: string) => void): Promise<void> {
  const { cluster, operator } = stage
  const owner = await AksOwner.arrive({
    endpoint: cluster.azureEndpoint,
    issuer: serviceAccountIssuer,
    admin: (method, path, body) => operator.simulator(method, path, body),
  })
  const player = await Player.open({ cluster, env: { NODE_EXTRA_CA_CERTS: cluster.pki.caFile } })
  const beganAtMs = Date.now()
  let commands = 0
  const types = async (scenario: Scenario, beginning: string) => {
    const printed = await player.next(scenario, beginning, { cluster: clusterName, registry: 'joinerdemo1' })
    commands += 1
    say(`${beginning} ...\n${printed.trimEnd().replaceAll(/^/gm, '           | ')}`)
  }
  try {
    const oidcIssuerProfile = { enabled: true, issuerUrl: serviceAccountIssuer }
    await owner.clusters({ name: clusterName, resourceGroup: 'joiner-demo', properties: { oidcIssuerProfile } })
    await owner.logIn('Owner')
    await player.logIn(owner.az.folder)
    await types('install', 'npm run pack-cli')
    await types('install', 'joiner admin aks setup')
    const values = parse(await player.run('cat values.yaml'))
    await player.write('values.yaml', stringify(localValues(values, cluster)))
    await types('install', 'helm install joiner')
    await types('install-pods', 'kubectl wait --namespace joiner')
    await types('install', 'kubectl apply -f examples/cilium.yaml')
    await until('5 pods run on nodes of Joiner', 60_000, async () => {
      const [nodes, pods] = await Promise.all([
        operator.kubectl(['get', 'nodes', '--selector', 'karpenter.sh/nodepool', '--output', 'name']),
        operator.kubectl([
          'get',
          'pods',
          '--selector',
          'app=inflate',
          '--field-selector',
          'status.phase=Running',
          '--output',
          'name',
        ]),
      ])
      // As Cilium's agents do, once they run on their nodes. One without it has had it removed before.
      for (const name of linesOf(nodes))
        await operator.kubectl(['taint', 'node', name.replace('node/', ''), `${taint}-`]).catch(() => '')
      return linesOf(pods).length === 5
    })
    await types('install', 'kubectl get nodeclaims')
    await types('install', 'kubectl scale deployment inflate --replicas 0')
    const left = [...player.left('install'), ...player.left('install-pods')]
    if (left.length > 0) throw new Error(`nobody typed ${left.map(({ page, line }) => `${page}:${line}`).join(', ')}`)
    await until(
      'the nodes are gone',
      240_000,
      async () => (await operator.kubectl(['get', 'nodeclaims', '--output', 'name'])) === '',
    )
    say(
      `docs/install-aks.md is typed: ${commands} blocks in ${((Date.now() - beganAtMs) / 60_000).toFixed(1)} minutes, until its nodes were gone`,
    )
    await operator.kubectl(['delete', 'deployment/inflate', 'nodepool/cilium'])
  } finally {
    await player.close()
    await owner.leave()
  }
}
