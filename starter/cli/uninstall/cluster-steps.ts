import { inParallel } from '../../../activities/concurrency.ts'
import { isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { writeOptimistically } from '../../../activities/kubernetes/client/optimistic-write.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { ownedNames } from '../../../api/rights/rights.ts'
import { runningCommands } from '../../../core/workflow-queries.ts'
import { CommandError } from '../../document/reported-error.ts'
import { counted, few } from '../../document/words.ts'
import { type Step, type Uninstallation, waitFor } from './context.ts'
import {
  type FreedResource,
  type Freeing,
  freeClaim,
  freeNode,
  freeNodeClass,
  listObjects,
  ownClaims,
  type SeenObject,
} from './node-objects.ts'
import { deploymentsOf, isJoinerRunning, ofRelease, startAgain } from './processes.ts'

/** How many writes are under way at a time. */
const width = 8
const mostNamed = 5
const namesOf = (objects: readonly SeenObject[]) =>
  few(
    objects.map(({ metadata }) => metadata.name),
    mostNamed,
  )

/** Waits until what has begun is over: a launch or a deletion that nobody finishes would leave a VM without a node, or a node without a VM. */
export function settleStep(uninstallation: Uninstallation): Step {
  const { kubernetes, temporal } = uninstallation
  const unsettled = async () => {
    const claims = (await ownClaims(kubernetes)).filter((claim) => !isSettled(claim))
    const commands = (await temporal.client.workflow.count(runningCommands(temporal.cluster))).count
    if (claims.length === 0 && commands === 0) return undefined
    const parts = [
      ...(claims.length === 0
        ? []
        : [`${counted(claims.length, 'NodeClaim')} being launched or deleted (${namesOf(claims)})`]),
      ...(commands === 0 ? [] : [counted(commands, 'disruption command')]),
    ]
    return parts.join(' and ')
  }
  return {
    todo: async () => {
      const left = await unsettled()
      return left === undefined ? undefined : `wait for ${left}`
    },
    run: async () => {
      await requireRunning(uninstallation)
      await waitFor(uninstallation, {
        missing: unsettled,
        remedy: 'joiner node shows what they wait for, and joiner node force-finish ends a deletion that hangs',
      })
    },
  }
}

function isSettled({ metadata, status }: SeenObject): boolean {
  const isRegistered =
    status?.conditions?.some(({ type, status }) => type === 'Registered' && status === 'True') ?? false
  return metadata.deletionTimestamp === undefined && isRegistered
}

/** Deletes every NodeClaim of Joiner and waits until their nodes and VMs are gone. */
export function removeStep(uninstallation: Uninstallation): Step {
  const { kubernetes } = uninstallation
  return {
    todo: async () => {
      const claims = await ownClaims(kubernetes)
      return claims.length === 0
        ? undefined
        : `delete ${counted(claims.length, 'NodeClaim')} with their nodes and VMs: ${namesOf(claims)}`
    },
    run: async () => {
      await requireRunning(uninstallation)
      const claims = await ownClaims(kubernetes)
      await inParallel(claims, width, ({ metadata }) =>
        deleteObject(kubernetes, resourcePath('nodeclaims', metadata.name)),
      )
      await waitFor(uninstallation, {
        missing: async () => {
          const left = await ownClaims(kubernetes)
          return left.length === 0
            ? undefined
            : `${left.length} of ${counted(claims.length, 'NodeClaim')} left (${namesOf(left)})`
        },
        remedy: 'joiner node shows what they wait for, and joiner node force-finish ends a deletion that hangs',
      })
    },
  }
}

async function requireRunning(uninstallation: Uninstallation): Promise<void> {
  if (!(await isJoinerRunning(uninstallation)))
    throw new CommandError(
      `no process of Joiner runs in namespace "${uninstallation.options.joinerNamespace}", and only Joiner finishes launches and deletions; ${await startAgain(uninstallation)}. Then run the command again`,
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
  return {
    todo: async () => {
      if (options.nodes === 'karpenter') return undefined
      const found = await held()
      const count = (resource: FreedResource) => found.filter((each) => each.resource === resource).length
      const parts = [
        ...(count('nodes') === 0 ? [] : [`${counted(count('nodes'), 'Node')} (with the owner)`]),
        ...(count('nodeclaims') === 0 ? [] : [counted(count('nodeclaims'), 'NodeClaim')]),
        ...(count('aksnodeclasses') === 0
          ? []
          : [count('aksnodeclasses') === 1 ? '1 AKSNodeClass' : `${count('aksnodeclasses')} AKSNodeClasses`]),
      ]
      return parts.length === 0 ? undefined : `remove Joiner's finalizers from ${parts.join(', ')}`
    },
    run: async () => {
      const found = await held()
      const write = async ({ resource, object, change }: (typeof found)[number]) => {
        const path = resourcePath(resource, object.metadata.name)
        await writeOptimistically<SeenObject>({
          cached: () => object,
          live: async () => (await kubernetes.get(path)) as unknown as SeenObject,
          write: (each) => {
            const patch = change(each)
            return patch === undefined
              ? undefined
              : (kubernetes.mergePatch(path, patch) as unknown as Promise<SeenObject>)
          },
        })
      }
      await inParallel(
        found.filter(({ resource }) => resource === 'nodes'),
        width,
        write,
      )
      await inParallel(
        found.filter(({ resource }) => resource !== 'nodes'),
        width,
        write,
      )
    },
  }
}

/** Deletes what Joiner's processes wrote for themselves: ConfigMaps, Leases and bootstrap tokens. What the chart made is Helm's. */
export function leftoversStep({ kubernetes, options }: Uninstallation): Step {
  const found = () => leftovers(kubernetes, options.joinerNamespace)
  return {
    todo: async () => {
      const paths = await found()
      return paths.length === 0
        ? undefined
        : `delete ${counted(paths.length, 'object')} that Joiner wrote: ${few(
            paths.map((path) => path.split('/').slice(-2).join('/')),
            mostNamed,
          )}`
    },
    run: async () => inParallel(await found(), width, (path) => deleteObject(kubernetes, path)),
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

/** Scales Joiner's Deployments to 0 and waits until no process of Joiner leads. */
export function stopStep(uninstallation: Uninstallation): Step {
  const { kubernetes, options } = uninstallation
  const scaled = async () => (await deploymentsOf(uninstallation)).filter(({ spec }) => (spec?.replicas ?? 1) > 0)
  return {
    todo: async () => {
      const deployments = await scaled()
      if (deployments.length > 0)
        return `scale to 0: ${deployments.map(({ metadata }) => `deployment/${metadata.name}`).join(', ')}`
      return (await isJoinerRunning(uninstallation)) ? 'wait until no process of Joiner runs' : undefined
    },
    run: async () => {
      const deployments = await scaled()
      await inParallel(deployments, width, async ({ metadata }) => {
        const path = resourcePath('deployments', metadata.name, options.joinerNamespace)
        await kubernetes.mergePatch(path, { spec: { replicas: 0 } })
      })
      await untilStopped(uninstallation)
    },
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
