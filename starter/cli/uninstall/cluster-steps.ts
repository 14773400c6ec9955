import { inParallel } from '../../../activities/concurrency.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { isNotFound, isTooManyRequests } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { writeOptimistically } from '../../../activities/kubernetes/client/optimistic-write.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { ownedNames } from '../../../api/rights/rights.ts'
import { runningCommands } from '../../../core/workflow-queries.ts'
import { CommandError } from '../../document/reported-error.ts'
import { counted, few, present } from '../../document/words.ts'
import {
  converted,
  convertedNames,
  holdsOld,
  oldVersion,
  patched,
  readCrd,
  releaseOf,
  storeAsNew,
} from '../shared/crd-release.ts'
import { type Step, type Uninstallation, waitFor } from './context.ts'
import {
  deploymentsOf,
  type FreedResource,
  type Freeing,
  freeClaim,
  freeNode,
  freeNodeClass,
  isJoinerRunning,
  listObjects,
  ofRelease,
  ownClaims,
  type SeenObject,
  startAgain,
} from './objects.ts'

/** How many writes are under way at a time. */
const width = 8
const mostNamed = 5
const namesOf = (objects: readonly SeenObject[]) =>
  few(
    objects.map(({ metadata }) => metadata.name),
    mostNamed,
  )

/** Has Joiner finish what only it can: what has begun, and with `--nodes remove` the end of all nodes. */
export function finishStep(uninstallation: Uninstallation): Step {
  return uninstallation.options.nodes === 'remove' ? removeStep(uninstallation) : settleStep(uninstallation)
}

/** Waits until what has begun is over: a launch or a deletion that nobody finishes would leave a VM without a node, or a node without a VM. */
function settleStep(uninstallation: Uninstallation): Step {
  const { kubernetes, temporal } = uninstallation
  const unsettled = async () => {
    const claims = (await ownClaims(kubernetes)).filter((claim) => !isSettled(claim))
    const commands = (await temporal.client.workflow.count(runningCommands(temporal.cluster))).count
    if (claims.length === 0 && commands === 0) return undefined
    const parts = present(
      claims.length !== 0 && `${counted(claims.length, 'NodeClaim')} being launched or deleted (${namesOf(claims)})`,
      commands !== 0 && counted(commands, 'disruption command'),
    )
    return parts.join(' and ')
  }
  const run = async () => {
    await requireRunning(uninstallation)
    await waitFor(uninstallation, { missing: unsettled, remedy: waiting })
  }
  return async () => {
    const left = await unsettled()
    return left === undefined ? undefined : { text: `wait for ${left}`, run }
  }
}

const waiting = 'joiner node shows what they wait for, and joiner node force-finish ends a deletion that hangs'

function isSettled({ metadata, status }: SeenObject): boolean {
  const isRegistered =
    status?.conditions?.some(({ type, status }) => type === 'Registered' && status === 'True') ?? false
  return metadata.deletionTimestamp === undefined && isRegistered
}

/** Deletes every NodeClaim of Joiner and waits until their nodes and VMs are gone. */
function removeStep(uninstallation: Uninstallation): Step {
  const { kubernetes } = uninstallation
  return async () => {
    const claims = await ownClaims(kubernetes)
    if (claims.length === 0) return undefined
    const total = counted(claims.length, 'NodeClaim')
    const missing = async () => {
      const left = await ownClaims(kubernetes)
      return left.length === 0 ? undefined : `${left.length} of ${total} left (${namesOf(left)})`
    }
    return {
      text: `delete ${total} with their nodes and VMs: ${namesOf(claims)}`,
      run: async () => {
        await requireRunning(uninstallation)
        await inParallel(await ownClaims(kubernetes), width, ({ metadata }) =>
          deleteObject(kubernetes, resourcePath('nodeclaims', metadata.name)),
        )
        await waitFor(uninstallation, { missing, remedy: waiting })
      },
    }
  }
}

async function requireRunning(uninstallation: Uninstallation): Promise<void> {
  if (!(await isJoinerRunning(uninstallation))) throw await notRunning(uninstallation, '')
}

/** Errors: what a node that expired, or that somebody deleted, made to be done while Joiner was stopped. */
async function requireFinished(uninstallation: Uninstallation): Promise<void> {
  const left = await finishStep(uninstallation)()
  if (left !== undefined) throw await notRunning(uninstallation, `left to do: ${left.text}; `)
}

async function notRunning(uninstallation: Uninstallation, left: string): Promise<CommandError> {
  const { joinerNamespace } = uninstallation.options
  return new CommandError(
    `${left}no process of Joiner runs in namespace "${joinerNamespace}", and only Joiner finishes launches and deletions; ${await startAgain(uninstallation)}. Then run the command again`,
  )
}

/** Removes finalizers, and the owners of Nodes, so that each object can be deleted without Joiner. */
export function freeStep({ kubernetes, options }: Uninstallation): Step {
  const held = async () => {
    const claims = await ownClaims(kubernetes)
    const [nodes, nodeClasses] = await Promise.all([
      listObjects(kubernetes, 'nodes'),
      listObjects(kubernetes, 'aksnodeclasses'),
    ])
    const free = freeNode(claims)
    const pick = (resource: FreedResource, objects: readonly SeenObject[], change: Freeing) =>
      objects.filter((object) => change(object) !== undefined).map((object) => ({ resource, object, change }))
    return [
      // A Node first: its owner must not take it along.
      ...pick('nodes', nodes, free),
      ...pick('nodeclaims', claims, freeClaim),
      ...pick('aksnodeclasses', nodeClasses, freeNodeClass),
    ]
  }
  const write = async ({ resource, object, change }: Awaited<ReturnType<typeof held>>[number]) => {
    const path = resourcePath(resource, object.metadata.name)
    await writeOptimistically<SeenObject>({
      cached: () => object,
      live: async () => (await kubernetes.get(path)) as unknown as SeenObject,
      write: (each) => {
        const patch = change(each)
        return patch === undefined ? undefined : (kubernetes.mergePatch(path, patch) as unknown as Promise<SeenObject>)
      },
    })
  }
  return async () => {
    const found = options.nodes === 'karpenter' ? [] : await held()
    const of = (resource: FreedResource) => found.filter((each) => each.resource === resource)
    const [nodes, claims, classes] = [of('nodes'), of('nodeclaims'), of('aksnodeclasses')]
    const parts = [
      ...(nodes.length === 0 ? [] : [`${counted(nodes.length, 'Node')} (with the owner)`]),
      ...(claims.length === 0 ? [] : [counted(claims.length, 'NodeClaim')]),
      ...(classes.length === 0 ? [] : [counted(classes.length, 'AKSNodeClass', 'AKSNodeClasses')]),
    ]
    if (parts.length === 0) return undefined
    const run = async () => {
      await inParallel(nodes, width, write)
      await inParallel([...claims, ...classes], width, write)
    }
    return { text: `remove Joiner's finalizers from ${parts.join(', ')}`, run }
  }
}

/** Deletes what Joiner's processes wrote for themselves: ConfigMaps, Leases and bootstrap tokens. What the chart made is Helm's. */
export function leftoversStep({ kubernetes, options }: Uninstallation): Step {
  return async () => {
    const paths = await leftovers(kubernetes, options.joinerNamespace)
    if (paths.length === 0) return undefined
    const names = paths.map((path) => path.split('/').slice(-2).join('/'))
    return {
      text: `delete ${counted(paths.length, 'object')} that Joiner wrote: ${few(names, mostNamed)}`,
      run: () => inParallel(paths, width, (path) => deleteObject(kubernetes, path)),
    }
  }
}

async function leftovers(kubernetes: KubernetesClient, namespace: string): Promise<readonly string[]> {
  const named = async (resource: 'configmaps' | 'leases') => {
    const names = ownedNames(resource)
    const objects = await listObjects(kubernetes, resource, { namespace })
    const own = objects.filter(({ metadata }) => names.has(metadata.name) && !isOfHelm(metadata.annotations))
    return own.map(({ metadata }) => resourcePath(resource, metadata.name, namespace))
  }
  const tokens = async () => {
    const chosen = { namespace: 'kube-system', labelSelector: 'joiner.sh/nodeclaim-uid' }
    const secrets = await listObjects(kubernetes, 'secrets', chosen)
    return secrets.map(({ metadata }) => resourcePath('secrets', metadata.name, 'kube-system'))
  }
  return (await Promise.all([named('configmaps'), named('leases'), tokens()])).flat()
}

const isOfHelm = (annotations: Readonly<Record<string, string>> | undefined) =>
  annotations?.['meta.helm.sh/release-name'] !== undefined

async function deleteObject(kubernetes: KubernetesClient, path: string): Promise<void> {
  try {
    await kubernetes.delete(path)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** Scales Joiner's Deployments to 0 and waits until no process of Joiner leads. Errors: something began meanwhile that only Joiner finishes. */
export function stopStep(uninstallation: Uninstallation): Step {
  const { kubernetes, options } = uninstallation
  return async () => {
    const scaled = (await deploymentsOf(uninstallation)).filter(({ spec }) => (spec?.replicas ?? 1) > 0)
    if (scaled.length === 0 && !(await isJoinerRunning(uninstallation))) return undefined
    const names = scaled.map(({ metadata }) => `deployment/${metadata.name}`)
    return {
      text: scaled.length > 0 ? `scale to 0: ${names.join(', ')}` : 'wait until no process of Joiner runs',
      run: async () => {
        await inParallel(scaled, width, async ({ metadata }) => {
          const path = resourcePath('deployments', metadata.name, options.joinerNamespace)
          await kubernetes.mergePatch(path, { spec: { replicas: 0 } })
        })
        await untilStopped(uninstallation)
        await requireFinished(uninstallation)
      },
    }
  }
}

async function untilStopped(uninstallation: Uninstallation): Promise<void> {
  const { kubernetes, options } = uninstallation
  await waitFor(uninstallation, {
    missing: async () => {
      const left = await listObjects(kubernetes, 'pods', ofRelease(options))
      return left.length === 0 ? undefined : `${counted(left.length, 'pod')} of Joiner (${namesOf(left)})`
    },
    remedy: `look at: kubectl get pods --namespace ${options.joinerNamespace}`,
  })
  await waitFor(uninstallation, {
    missing: async () => {
      const leader = await isJoinerRunning(uninstallation)
      return leader === false
        ? undefined
        : `Lease ${options.joinerNamespace}/${leader.lease}: process "${leader.identity}" renews it, outside of the Deployments of release "${options.release}"`
    },
    remedy: 'stop that process, which would start its workflows again',
  })
}

/** The CRDs of the chart. */
export const chartCrds = [
  'nodepools.karpenter.sh',
  'nodeclaims.karpenter.sh',
  'nodeoverlays.karpenter.sh',
  'aksnodeclasses.karpenter.azure.com',
  'capacitybuffers.autoscaling.x-k8s.io',
] as const

/** Stores objects of old versions as v1, while the webhook still converts them. */
export function migrateStep({ kubernetes }: Uninstallation): Step {
  return async () => {
    const found = await crdsThat(kubernetes, holdsOld)
    if (found.length === 0) return undefined
    return {
      text: `store as v1 what is stored as ${found.map(({ name }) => `${oldVersion} (${converted[name]})`).join(' and ')}`,
      run: async () => {
        for (const { name, crd } of found) await storeAsNew(kubernetes, name, crd)
      },
    }
  }
}

/** Sets the conversion of the CRDs to None and removes the marker of the installation, so that no CRD names a Service that goes. */
export function detachStep({ kubernetes }: Uninstallation): Step {
  return async () => {
    const found = await crdsThat(kubernetes, (crd) => releaseOf(crd).length > 0)
    if (found.length === 0) return undefined
    return {
      text: `set the conversion of ${counted(found.length, 'CRD')} to None, which stops serving v1beta1: ${found.map(({ name }) => name).join(', ')}`,
      run: async () => {
        for (const { name } of found) await patched(kubernetes, name, releaseOf)
        for (const { name } of found) await untilServed(kubernetes, resourcePath(converted[name]))
      },
    }
  }
}

/** Returns the CRDs with old versions that are installed and meet a condition. */
async function crdsThat(client: KubernetesClient, isMeant: (crd: Json) => boolean) {
  const found = await Promise.all(convertedNames.map(async (name) => ({ name, crd: await readCrd(client, name) })))
  return found.flatMap(({ name, crd }) => (crd !== undefined && isMeant(crd) ? [{ name, crd }] : []))
}

const mostLooks = 60

/** Waits until the API server serves a resource again: for a second after its CRD changed it refuses requests. Errors: the API server's. */
async function untilServed(client: KubernetesClient, path: string): Promise<void> {
  for (let look = 1; ; look++) {
    try {
      await client.list(path, { limit: 1 })
      return
    } catch (error) {
      if (!isTooManyRequests(error) || look >= mostLooks) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
