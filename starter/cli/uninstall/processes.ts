import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { type Chosen, clusterScene, object } from '../../picture/from-cluster.ts'
import { leaderLeases } from '../../picture/joiners-client.ts'
import { readWhole } from '../../picture/picture.ts'
import type { Uninstallation } from './context.ts'
import { listObjects, type SeenObject } from './node-objects.ts'

type Context = Pick<Uninstallation, 'kubernetes' | 'options'>

/** A leader renews its Lease several times in its duration; a Lease that does not change for longer is nobody's. */
const silenceMs = 12_000
const lookEveryMs = 500

/** A process of Joiner that leads. */
export interface Leader {
  readonly lease: string
  readonly identity: string
}

/** Returns a process of Joiner that leads now; false when none does. A Lease is judged by its changes, not by clocks, so this takes some seconds. */
export async function isJoinerRunning(context: Context): Promise<Leader | false> {
  const first = await leases(context)
  if (first.length === 0) return false
  const deadline = performance.now() + silenceMs
  while (performance.now() < deadline) {
    const now = await leases(context)
    if (now.length === 0) return false
    const renewed = now.find(({ metadata }) =>
      first.some(
        (before) =>
          before.metadata.name === metadata.name && before.metadata.resourceVersion !== metadata.resourceVersion,
      ),
    )
    if (renewed !== undefined) return { lease: renewed.metadata.name, identity: renewed.spec?.holderIdentity ?? '' }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
  }
  return false
}

/** Returns the leader Leases that name a holder. Errors: `LackingError`. */
async function leases({
  kubernetes,
  options: { joinerNamespace: namespace },
}: Context): Promise<readonly SeenObject[]> {
  const seen = (json: Json) => json as unknown as SeenObject
  const parts = Object.fromEntries(leaderLeases.map((name) => [name, object('leases', seen, { name, namespace })]))
  const { missing: _, damaged: __, ...found } = await readWhole(clusterScene(kubernetes), parts)
  return Object.values(found)
    .flat()
    .filter(({ spec }) => (spec?.holderIdentity ?? '') !== '')
}

/** What the chart made for a release. */
export const ofRelease = ({ joinerNamespace: namespace, release }: Context['options']): Chosen => ({
  namespace,
  labelSelector: `app.kubernetes.io/name=joiner,app.kubernetes.io/instance=${release}`,
})

/** Returns the Deployments of the release. Errors: `LackingError`. */
export function deploymentsOf({ kubernetes, options }: Context): Promise<readonly SeenObject[]> {
  return listObjects(kubernetes, 'deployments', ofRelease(options))
}

/** Returns what to run so that Joiner's processes run again. */
export async function startAgain(context: Context): Promise<string> {
  const { joinerNamespace: namespace, release } = context.options
  const found = await deploymentsOf(context)
  if (found.length === 0) return `install the chart again as release "${release}" in namespace "${namespace}"`
  // Not kubectl scale: with Helm 4 the next upgrade would fail, since kubectl then owns the number of replicas.
  return `start it: helm upgrade ${release} deploy/chart --namespace ${namespace} --reset-then-reuse-values --force-conflicts (Helm 3 has no --force-conflicts, and needs none)`
}
