import { Client } from '@temporalio/client'
import { findClusterUid } from '../../../activities/azure/access/found-facts.ts'
import { decodeMeta } from '../../../activities/kubernetes/cache/decode-meta.ts'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { markedCrd, markerOf, readMarkedCrd, writeMarker } from '../../../activities/kubernetes/client/installation.ts'
import { describeInstallation, installationText, ownershipOf } from '../../../core/installation.ts'
import { freeName, nameOwner } from '../../bridge/cluster-loops.ts'
import { say } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { few } from '../../document/words.ts'
import { clusterScene, listed } from '../../picture/from-cluster.ts'
import { allPollers, pollerMs } from '../../picture/from-temporal.ts'
import { missingLines } from '../../picture/gaps.ts'
import { whyOf } from '../../picture/missing.ts'
import { readPicture } from '../../picture/picture.ts'
import type { TemporalAccess } from '../../temporal/connect.ts'
import { asAdministrator, exitCodeOf, withCluster } from '../access/cluster.ts'
import { withTemporal } from '../operate/temporal-access.ts'
import { type TemporalOptions } from '../operate/temporal-options.ts'
import { isWanted } from '../shared/confirm.ts'
import { installationOf } from '../shared/crd-release.ts'
import type { ClusterOptions } from '../shared/options.ts'

interface CrdOptions extends ClusterOptions {
  readonly release: string
  readonly dryRun?: true
  readonly yes?: true
}

/** Writes the marker of an installation into the CRDs. Returns the exit code. */
export function takeOverCrds(options: CrdOptions): Promise<number> {
  return exitCodeOf(() => withCluster(options, (client) => crds(client, options)), asAdministrator)
}

async function crds(client: KubernetesClient, options: CrdOptions): Promise<number> {
  const own = await installationOf(client, options)
  const crd = await readMarkedCrd(client)
  if (crd === undefined)
    throw new CommandError(`CustomResourceDefinition ${markedCrd} is not installed; nothing to take over`)
  const marker = markerOf(crd)
  if (ownershipOf(marker, own).kind === 'ours') {
    say(`the CRDs are those of ${describeInstallation(installationText(own))} already`)
    return 0
  }
  say(`CustomResourceDefinition ${markedCrd}`)
  say(`  now:   ${marker === undefined ? 'nobody' : describeInstallation(marker)}`)
  say(`  then:  ${describeInstallation(installationText(own))}`)
  if (marker !== undefined) await sayRunning(client, marker)
  if (options.dryRun === true) return 0
  if (!(await isWanted('Give the CRDs to that installation?', options.yes))) return 1
  if (!(await writeMarker(client, crd, own)))
    throw new CommandError(`CustomResourceDefinition ${markedCrd} changed meanwhile; run the command again`)
  say('done; its processes begin within 30 s')
  return 0
}

const components = ['joiner', 'joiner-azure', 'joiner-planner', 'joiner-conversion']

/** Says which processes of the installation that a marker names still run, or that this is not known. */
async function sayRunning(client: KubernetesClient, marker: string): Promise<void> {
  const { namespace, release = '' } = installationIn(marker)
  if (namespace === undefined) return
  // The name of the application is a value of the chart; components are not.
  const labelSelector = `app.kubernetes.io/instance=${release},app.kubernetes.io/component in (${components.join(',')})`
  const pods = listed('pods', (json) => decodeMeta(json).name, { namespace, labelSelector })
  const found = await readPicture(clusterScene(client), { pods })
  for (const line of missingLines(found.missing)) say(`  whether it still runs is not known: ${line}`)
  if (found.pods !== undefined && found.pods.length > 0)
    say(`  still running: ${found.pods.join(', ')}; these end by themselves at their next resync, 5 minutes at most`)
}

function installationIn(marker: string): { readonly namespace?: string; readonly release?: string } {
  try {
    return JSON.parse(marker) as ReturnType<typeof installationIn>
  } catch {
    // Somebody wrote something else there; it names no pods.
    return {}
  }
}

interface NameOptions extends TemporalOptions {
  readonly yes?: true
}

/** Ends the loops that another cluster left under a name. Returns the exit code. */
export function takeOverName(options: NameOptions): Promise<number> {
  return withTemporal(options, async (access) => {
    const { client: withCodec, connection, cluster, namespace } = access
    const client = new Client({ connection, namespace, identity: withCodec.options.identity })
    const input = { client, cluster, clusterUid: await clusterUid(options) }
    const owner = await nameOwner(input)
    if (owner.kind !== 'foreign') {
      say(
        `the name "${cluster}" in Temporal's namespace "${namespace}" is ${owner.kind === 'ours' ? "this cluster's already" : 'free'}`,
      )
      return 0
    }
    say(`The name "${cluster}" in Temporal's namespace "${namespace}"`)
    say(`  now:   a cluster with the UID ${owner.uid ?? '(none was left)'}`)
    say(`  then:  this cluster, with the UID ${input.clusterUid}`)
    await requireStopped(access)
    if (options.dryRun === true) return 0
    if (!(await isWanted('End the loops of the other cluster?', options.yes))) return 1
    // An answer may take its time.
    await requireStopped(access)
    for (const id of await freeName(input)) say(`terminated ${id}`)
    say('done; the processes of this cluster begin within 30 s')
    return 0
  })
}

/** Errors: a process of the other cluster, of whatever role, asks for work: it would get this cluster's. */
async function requireStopped(access: TemporalAccess): Promise<void> {
  const pollers = (await allPollers(access, Date.now())).map((identity) => JSON.stringify(identity))
  if (pollers.length > 0)
    throw new CommandError(
      `${few(pollers, 5)} polled for "${access.cluster}" in the last ${pollerMs / 1000} s, so the other cluster's Joiner runs; stop it first, or give this cluster another name`,
    )
}

async function clusterUid(options: ClusterOptions): Promise<string> {
  try {
    return await withCluster(options, findClusterUid)
  } catch (error) {
    throw new CommandError(
      `the UID of the Namespace kube-system cannot be read: ${whyOf(error)}; check --kubeconfig and --context`,
    )
  }
}
