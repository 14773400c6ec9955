import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../../activities/kubernetes/client/api-error.ts'
import type { LabelSelector } from '../../../../core/objects.ts'
import { selects } from '../../../../core/scheduling/topology/label-selector.ts'
import { isMap } from '../../../fakes/patches.ts'
import { metaOf, type ObjectStore } from './objects.ts'
import { pathOf } from './paths.ts'
import { schemaErrors, schemaOf, structured } from './schema.ts'

interface Admitted {
  readonly resource: string
  readonly path: string
  readonly objects: ObjectStore
}

/**
 * Returns an object as an API server stores it: with the defaults that Joiner and controllers read. `before`: it is changed, not created.
 * Errors: 422 where it is invalid.
 */
export function admitted(target: Admitted, object: Json, before?: Json): Json {
  const schema = schemaOf(target.resource)
  if (schema !== undefined) {
    const { metadata } = object
    const complete = { ...(structured(schema, { ...object, metadata: {} }) as Json), metadata }
    refuse(target, [...schemaErrors(schema, complete, target.resource), ...transitionErrors(target, complete, before)])
    return complete
  }
  switch (target.resource) {
    case 'pods':
      return before === undefined ? newPod(target, object) : object
    case 'persistentvolumeclaims':
    case 'persistentvolumes':
      return before === undefined ? { status: { phase: 'Pending' }, ...object } : object
    case 'nodes':
      return before === undefined ? newNode(object) : withoutEmptyTaints(object)
    case 'deployments':
    case 'replicasets':
    case 'statefulsets':
    case 'daemonsets':
      return workload(target, object)
    default:
      return object
  }
}

/** The one rule in CEL that compares with what was. */
function transitionErrors({ resource }: Admitted, after: Json, before: Json | undefined): readonly string[] {
  const isStatic = (object: Json) => ((object['spec'] ?? {}) as Json)['replicas'] !== undefined
  return resource !== 'nodepools' || before === undefined || isStatic(after) === isStatic(before)
    ? []
    : ['spec: Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes']
}

function refuse({ path }: Admitted, errors: readonly string[]): void {
  if (errors.length > 0) throw new ApiError(422, 'Invalid', `${path}: 422 is invalid: ${errors.join(', ')}`)
}

type Resources = Readonly<Record<string, string>>
type Container = Json & { readonly resources?: { readonly requests?: Resources; readonly limits?: Resources } }
type PodSpec = Json & {
  readonly priorityClassName?: string
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
}

/** What is limited is requested. */
const withRequests = (containers: readonly Container[] = []) =>
  containers.map(({ resources = {}, ...container }) => {
    const requests = { ...resources.limits, ...resources.requests }
    return { ...container, resources: { ...resources, ...(Object.keys(requests).length > 0 && { requests }) } }
  })

const graceSeconds = 30

function podSpec(spec: PodSpec): PodSpec {
  const { containers, initContainers } = spec
  return {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: graceSeconds,
    schedulerName: 'default-scheduler',
    ...spec,
    containers: withRequests(containers),
    ...(initContainers === undefined ? {} : { initContainers: withRequests(initContainers) }),
  }
}

/** How long pods stay on a node whose kubelet is not ready, or silent. */
const notReadySeconds = 300
const silentTaints = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']

const priorities: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
}

interface Toleration {
  readonly key?: string
  readonly effect?: string
}

function newPod(target: Admitted, pod: Json): Json {
  const spec = (pod['spec'] ?? {}) as PodSpec & { readonly tolerations?: readonly Toleration[] }
  refuse(target, (spec.containers ?? []).length > 0 ? [] : ['spec.containers: Required value'])
  const { tolerations = [] } = spec
  const added = silentTaints
    .filter(
      (taint) =>
        !tolerations.some(
          ({ key, effect }) => (key === undefined || key === taint) && (effect === undefined || effect === 'NoExecute'),
        ),
    )
    .map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: notReadySeconds }))
  return {
    ...pod,
    spec: { ...podSpec(spec), tolerations: [...tolerations, ...added], priority: priorityOf(target, spec) },
    status: { phase: 'Pending' },
  }
}

/** Errors: 403 for a class that does not exist. */
function priorityOf({ path, objects }: Admitted, { priority, priorityClassName }: PodSpec): unknown {
  const classes = objects.of('priorityclasses')
  if (priorityClassName === undefined)
    return priority ?? classes.find(({ globalDefault }) => globalDefault === true)?.['value'] ?? 0
  const found = classes.find((one) => metaOf(one).name === priorityClassName)?.['value']
  const value = found ?? priorities[priorityClassName]
  if (value === undefined)
    throw new ApiError(403, 'Forbidden', `${path}: 403 no PriorityClass with name ${priorityClassName} was found`)
  return value
}

interface TaintJson {
  readonly key: string
  readonly effect: string
}

/** A new Node takes no pods until its kubelet is ready. */
function newNode(node: Json): Json {
  const { taints = [], ...spec } = (node['spec'] ?? {}) as Json & { readonly taints?: readonly TaintJson[] }
  const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
  const isThere = taints.some(({ key, effect }) => key === notReady.key && effect === notReady.effect)
  return { ...node, spec: { ...spec, taints: isThere ? taints : [...taints, notReady] } }
}

/** A list without entries is not stored, and a patch that tests for it fails. */
function withoutEmptyTaints(node: Json): Json {
  const { taints, ...spec } = (node['spec'] ?? {}) as Json & { readonly taints?: readonly TaintJson[] }
  return taints?.length === 0 ? { ...node, spec } : node
}

function workload(target: Admitted, object: Json): Json {
  const spec = (object['spec'] ?? {}) as Json & {
    readonly selector?: LabelSelector
    readonly template?: { readonly metadata?: { readonly labels?: Resources }; readonly spec?: PodSpec }
  }
  const { selector, template = {} } = spec
  if (selector === undefined) refuse(target, ['spec.selector: Required value'])
  if (!selects(selector, template.metadata?.labels ?? {}))
    refuse(target, ['spec.template.metadata.labels: `selector` does not match template `labels`'])
  const scaled = target.resource === 'daemonsets' ? {} : { replicas: 1 }
  return {
    ...object,
    spec: {
      ...scaled,
      ...spec,
      ...(target.resource === 'deployments' && { strategy: rollingUpdate(spec['strategy']) }),
      template: { ...template, spec: podSpec(template.spec ?? {}) },
    },
  }
}

function rollingUpdate(strategy: unknown): Json {
  const given = isMap(strategy) ? strategy : {}
  if (given['type'] === 'Recreate') return given
  const own = isMap(given['rollingUpdate']) ? given['rollingUpdate'] : {}
  return { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%', ...own } }
}

/** The namespaces that every cluster has. */
export const ownNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'].map((name) => ({
  path: pathOf('namespaces', name),
  object: {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    status: { phase: 'Active' },
  },
}))
