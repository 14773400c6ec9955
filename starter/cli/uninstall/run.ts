import { Client } from '@temporalio/client'
import { findClusterUid } from '../../../activities/azure/access/found-facts.ts'
import { decodeMeta } from '../../../activities/kubernetes/cache/decode-meta.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { readConfigMap } from '../../../activities/kubernetes/client/config-map.ts'
import { markedCrd, markerOf, readMarkedCrd } from '../../../activities/kubernetes/client/installation.ts'
import { describeInstallation, ownershipOf } from '../../../core/installation.ts'
import { nameOwner } from '../../bridge/cluster-loops.ts'
import { say } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { counted, present } from '../../document/words.ts'
import { clusterScene, object } from '../../picture/from-cluster.ts'
import { LackingError, whyOf } from '../../picture/missing.ts'
import { readWhole } from '../../picture/picture.ts'
import { type TemporalAccess } from '../../temporal/connect.ts'
import { asAdministrator, exitCodeOf, withCluster } from '../access/cluster.ts'
import { withTemporal } from '../operate/temporal-access.ts'
import { isWanted } from '../shared/confirm.ts'
import { readCrd } from '../shared/crd-release.ts'
import { chartCrds, detachStep, finishStep, freeStep, leftoversStep, migrateStep, stopStep } from './cluster-steps.ts'
import type { Step, Uninstallation, UninstallOptions } from './context.ts'
import { deploymentsOf, ownClaims, type SeenObject } from './objects.ts'
import { closedWorkflows, historyStep, pauseStep, workflowsStep } from './temporal-steps.ts'

/** Takes Joiner out of the cluster, up to what Helm installed. `timeoutMs`: limit of each wait. Returns the exit code. */
export function uninstall(options: UninstallOptions, timeoutMs: number): Promise<number> {
  return exitCodeOf(() =>
    withCluster(options, async (kubernetes) => {
      await kubernetesErrors(() => requireOwnCrds(kubernetes, options))
      const cluster = options.clusterName ?? (await configuredCluster(kubernetes, options.joinerNamespace))
      return withTemporal({ ...options, ...(cluster !== undefined && { clusterName: cluster }) }, async (temporal) => {
        await requireOwnName(kubernetes, temporal)
        return run({ kubernetes, temporal, options, timeoutMs, say })
      })
    }),
  )
}

function stepsOf(uninstallation: Uninstallation): readonly Step[] {
  return [
    pauseStep(uninstallation),
    migrateStep(uninstallation),
    finishStep(uninstallation),
    stopStep(uninstallation),
    // Before anything is written: API servers call the webhook for some writes of NodeClaims, and it has ended.
    detachStep(uninstallation),
    workflowsStep(uninstallation),
    historyStep(uninstallation),
    freeStep(uninstallation),
    leftoversStep(uninstallation),
  ]
}

async function run(uninstallation: Uninstallation): Promise<number> {
  const { options, temporal, say } = uninstallation
  const steps = stepsOf(uninstallation)
  const todo = await todoOf(steps)
  const { release, joinerNamespace: namespace } = options
  if (todo.length === 0) {
    say(`nothing is left to do for release "${release}" in namespace "${namespace}", cluster "${temporal.cluster}"`)
  } else {
    say(
      `uninstall release "${release}" in namespace "${namespace}", cluster "${temporal.cluster}"; ${words[options.nodes]}`,
    )
    for (const text of todo) say(`  ${text}`)
  }
  if (options.dryRun === true || todo.length === 0) {
    await sayRemains(uninstallation)
    return 0
  }
  if (!(await isWanted('Go on?', options.yes))) return 1
  process.once('SIGINT', interrupted)
  for (const step of steps) {
    const next = await kubernetesErrors(step)
    if (next === undefined) continue
    say(next.text)
    await kubernetesErrors(next.run)
  }
  process.off('SIGINT', interrupted)
  await sayRemains(uninstallation)
  return 0
}

const words = {
  keep: 'nodes, pods and VMs stay',
  karpenter: 'nodes stay for Karpenter',
  remove: 'NODES AND VMS ARE REMOVED',
} as const

function interrupted(): void {
  console.error('interrupted; what was begun stays as it is: run the command again to go on')
  process.exit(130)
}

async function todoOf(steps: readonly Step[]): Promise<readonly string[]> {
  const texts: string[] = []
  for (const step of steps) {
    const todo = await kubernetesErrors(step)
    if (todo !== undefined) texts.push(todo.text)
  }
  return texts
}

/** An error of the API server must not be explained as one of Temporal's. */
async function kubernetesErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // What an operator of Joiner may do does not suffice.
    if (error instanceof LackingError)
      throw new LackingError(error.lost.map((one) => (one.isForbidden ? { ...one, remedy: asAdministrator } : one)))
    if (error instanceof Error && error.name === 'ApiError')
      throw new CommandError(`the API server: ${whyOf(error)}; ${asAdministrator}`)
    throw error
  }
}

async function sayRemains(uninstallation: Uninstallation): Promise<void> {
  for (const line of await kubernetesErrors(() => remains(uninstallation))) uninstallation.say(line)
}

/** Errors: the CRDs belong to another installation. */
async function requireOwnCrds(
  client: KubernetesClient,
  { release, joinerNamespace: namespace }: UninstallOptions,
): Promise<void> {
  const crd = await readMarkedCrd(client)
  const uid = await namespaceUid(client, namespace)
  const owner = crd === undefined ? undefined : ownershipOf(markerOf(crd), { release, namespace, uid: uid ?? '' })
  if (owner?.kind === 'foreign')
    throw new CommandError(
      `CustomResourceDefinition ${markedCrd} belongs to ${describeInstallation(owner.owner)}, and --release "${release}" --joiner-namespace "${namespace}" is another one; name the installation that is to go`,
    )
}

async function namespaceUid(client: KubernetesClient, name: string): Promise<string | undefined> {
  const found = object('namespaces', (json) => decodeMeta(json).uid, { name })
  return (await readWhole(clusterScene(client), { found })).found[0]
}

/** Returns the cluster's name from the settings of the chart; undefined where there are none. */
async function configuredCluster(client: KubernetesClient, namespace: string): Promise<string | undefined> {
  const settings = await readConfigMap(client, { name: 'joiner-settings', namespace })
  return settings?.['CLUSTER_NAME']
}

/** Errors: the name in Temporal is another cluster's, whose workflows must stay. */
async function requireOwnName(kubernetes: KubernetesClient, temporal: TemporalAccess): Promise<void> {
  const { client: withCodec, connection, namespace, cluster } = temporal
  const client = new Client({ connection, namespace, identity: withCodec.options.identity })
  const clusterUid = await kubernetesErrors(() => findClusterUid(kubernetes))
  const owner = await nameOwner({ client, cluster, clusterUid })
  if (owner.kind === 'foreign')
    throw new CommandError(
      `workflow ${owner.workflowId} in Temporal's namespace "${namespace}" is of the cluster with the UID ${owner.uid ?? '(none was left)'}, and this one has the UID ${clusterUid}; check --cluster-name and KUBECONFIG`,
    )
}

const mostVms = 10

/** Returns what stays after an uninstallation, with the next command for each. */
async function remains(uninstallation: Uninstallation): Promise<readonly string[]> {
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
  const lines = present(
    isReleased && `what Helm installed: helm uninstall ${release} --namespace ${namespace}`,
    ...(options.nodes === 'remove' ? [] : nodeLines(claims, options.nodes === 'karpenter')),
    installed.length > 0 &&
      options.nodes !== 'karpenter' &&
      `${counted(installed.length, 'CRD')}; with them go all NodePools, AKSNodeClasses and NodeClaims: kubectl delete crd ${installed.join(' ')}`,
    closed > 0 &&
      `${counted(closed, 'closed workflow')} in Temporal's namespace "${temporal.namespace}", until its retention ends them: joiner admin uninstall --cluster-name ${temporal.cluster} --delete-history`,
  )
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
