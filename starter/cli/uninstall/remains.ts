import { readConfigMap } from '../../../activities/kubernetes/client/config-map.ts'
import { counted } from '../../document/words.ts'
import { readCrd } from '../crds/release.ts'
import type { Uninstallation } from './context.ts'
import { chartCrds } from './crd-steps.ts'
import { ownClaims, type SeenObject } from './node-objects.ts'
import { deploymentsOf } from './processes.ts'
import { closedWorkflows } from './temporal-steps.ts'

const mostVms = 10

/** Returns what stays after an uninstallation, with the next command for each. */
export async function remains(uninstallation: Uninstallation): Promise<readonly string[]> {
  const { kubernetes, temporal, options } = uninstallation
  const { joinerNamespace: namespace, release } = options
  const [deployments, claims, crds, closed, settings] = await Promise.all([
    deploymentsOf(uninstallation),
    ownClaims(kubernetes),
    Promise.all(chartCrds.map(async (name) => ((await readCrd(kubernetes, name)) === undefined ? [] : [name]))),
    closedWorkflows(temporal),
    readConfigMap(kubernetes, { name: 'joiner-settings', namespace }),
  ])
  const installed = crds.flat()
  const isReleased = deployments.length > 0 || settings !== undefined
  const lines = [
    ...(isReleased ? [`what Helm installed: helm uninstall ${release} --namespace ${namespace}`] : []),
    ...(options.nodes === 'remove' ? [] : nodeLines(claims, options.nodes === 'karpenter')),
    ...(installed.length > 0 && options.nodes !== 'karpenter'
      ? [
          `${counted(installed.length, 'CRD')}; with them go all NodePools, AKSNodeClasses and NodeClaims: kubectl delete crd ${installed.join(' ')}`,
        ]
      : []),
    ...(closed > 0
      ? [
          `${counted(closed, 'closed workflow')} in Temporal's namespace "${temporal.namespace}", until its retention ends them: joiner admin uninstall --cluster-name ${temporal.cluster} --delete-history`,
        ]
      : []),
  ]
  return lines.length === 0 ? [] : ['what stays:', ...lines.map((line) => `  ${line}`)]
}

function nodeLines(claims: readonly SeenObject[], isForKarpenter: boolean): readonly string[] {
  if (claims.length === 0) return []
  if (isForKarpenter)
    return [`${counted(claims.length, 'NodeClaim')} with their nodes; start Karpenter (docs/rollback.md)`]
  const ids = claims.flatMap(({ status }) =>
    status?.providerID === undefined ? [] : [status.providerID.replace(/^azure:\/\//, '')],
  )
  const shown = ids.slice(0, mostVms)
  const more =
    ids.length > shown.length
      ? [`  and ${ids.length - shown.length} more: kubectl get nodeclaims -o custom-columns=VM:.status.providerID`]
      : []
  return [
    `${counted(claims.length, 'node')} that nobody scales any more; after kubectl drain, delete each VM:`,
    ...shown.map((id) => `  az vm delete --yes --ids ${id}`),
    ...more,
  ]
}
