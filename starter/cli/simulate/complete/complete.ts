import { InputError } from '../../../document/reported-error.ts'
import { few } from '../../../document/words.ts'
import { type Json, withMetadata, withStatus } from '../../../files/cluster-objects.ts'
import { subjectOf } from '../../../files/source.ts'
import type { ClusterManifests } from '../manifests.ts'
import { createdSpec, type PodClasses, type PodSpec, type PriorityClass, type RuntimeClass } from './created-pod.ts'
import { claimOf, keyOf, mostObjects, type Named, podsOfWorkloads } from './workload-pods.ts'

const mostNames = 6

/**
 * Returns hand-written objects as an API server and its controllers would hold them: with the defaults of creation, the pods of workloads and their
 * claims. Errors: InputError for what the API server would refuse.
 */
export function completed({ objects, remarks }: ClusterManifests, now: string): ClusterManifests {
  const given = objects.map((object) => withMetadata(object, now) as Named)
  const classes = classesOf(given)
  const made = podsOfWorkloads(given, (source, spec, labels) =>
    createdSpec({ subject: subjectOf(source), labels, spec }, classes),
  )
  const before = [...given.map((object) => createdObject(object, classes)), ...made]
  const claims = [...before, ...ephemeralClaims(before)].map((object) => withDefaultClass(object, classes))
  return {
    objects: claims.map((object) => withStatus(withMetadata(object, now))),
    remarks: [...remarks, ...madeRemarks(made), ...gatedRemarks(before), ...classRemarks(before, classes)],
  }
}

const workloads: ReadonlySet<unknown> = new Set(['Deployment', 'ReplicaSet', 'StatefulSet', 'Job', 'CronJob'])

/** What to say of objects that are left as they are. */
export function workloadRemarks(objects: readonly Json[]): readonly string[] {
  const count = objects.filter(({ kind }) => workloads.has(kind)).length
  if (count === 0 || objects.some(({ kind }) => kind === 'Pod')) return []
  return [`workloads whose pods are not among the manifests: ${count}; --complete takes the pods that they would have`]
}

interface Classes extends PodClasses {
  readonly storageClass: string | undefined
}

function classesOf(objects: readonly Named[]): Classes {
  const byName = <T>(kind: string) =>
    new Map(objects.filter((one) => one.kind === kind).map((one) => [one.metadata.name, one as unknown as T]))
  return {
    runtimeClasses: byName<RuntimeClass>('RuntimeClass'),
    priorityClasses: byName<PriorityClass>('PriorityClass'),
    storageClass: defaultStorageClass(objects.filter(({ kind }) => kind === 'StorageClass')),
  }
}

const defaultMarks = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class']

/** The newest of the classes that are marked as the default. */
function defaultStorageClass(all: readonly Named[]): string | undefined {
  const marked = all.filter(({ metadata: { annotations = {} } }) =>
    defaultMarks.some((mark) => annotations[mark] === 'true'),
  )
  const age = ({ metadata: { creationTimestamp = '' } }: Named) => Date.parse(creationTimestamp)
  return marked.sort((a, b) => age(b) - age(a) || (a.metadata.name < b.metadata.name ? -1 : 1))[0]?.metadata.name
}

function createdObject(object: Named, classes: Classes): Named {
  const { kind, metadata } = object
  const subject = subjectOf(object)
  if (kind === 'Pod') {
    const spec = (object['spec'] ?? {}) as PodSpec
    return { ...object, spec: createdSpec({ subject, labels: metadata.labels ?? {}, spec }, classes) }
  }
  if (kind === 'DaemonSet') {
    const spec = object['spec'] as {
      readonly template: { readonly metadata?: Named['metadata']; readonly spec: PodSpec }
    }
    const { template } = spec
    const pod = { subject, labels: template.metadata?.labels ?? {}, spec: template.spec }
    return { ...object, spec: { ...spec, template: { ...template, spec: createdSpec(pod, classes) } } }
  }
  return object
}

function withDefaultClass(object: Named, { storageClass }: Classes): Json {
  if (object.kind !== 'PersistentVolumeClaim' || storageClass === undefined) return object
  const spec = (object['spec'] ?? {}) as { readonly storageClassName?: string; readonly volumeName?: string }
  const hasClass = spec.storageClassName !== undefined || Boolean(spec.volumeName)
  return hasClass ? object : { ...object, spec: { ...spec, storageClassName: storageClass } }
}

interface Volume {
  readonly name: string
  readonly ephemeral?: { readonly volumeClaimTemplate?: { readonly spec?: object } }
}

/** The claims that a controller makes for volumes that live as long as their pod. Errors: InputError when they are too many. */
function ephemeralClaims(objects: readonly Named[]): readonly Named[] {
  const there = new Set(objects.map(keyOf))
  const claims: Named[] = []
  for (const pod of podsOf(objects)) {
    const { volumes = [] } = (pod['spec'] ?? {}) as { readonly volumes?: readonly Volume[] }
    for (const { name, ephemeral } of volumes) {
      if (ephemeral === undefined) continue
      const claim = claimOf(pod, `${pod.metadata.name}-${name}`, ephemeral.volumeClaimTemplate?.spec)
      if (there.has(keyOf(claim))) continue
      claims.push(claim)
      if (claims.length > mostObjects)
        throw new InputError(
          `${subjectOf(pod)}: the pods have more than ${mostObjects} ephemeral volumes; give fewer pods`,
        )
    }
  }
  return claims
}

const podsOf = (objects: readonly Named[]) => objects.filter(({ kind }) => kind === 'Pod')
const namesOf = (pods: readonly Named[]) =>
  few(pods.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort(), mostNames)

function madeRemarks(made: readonly Named[]): readonly string[] {
  const pods = podsOf(made)
  return pods.length === 0 ? [] : [`pods that controllers would make for the workloads were added: ${namesOf(pods)}`]
}

function gatedRemarks(objects: readonly Named[]): readonly string[] {
  const gated = podsOf(objects).filter((pod) => {
    const { schedulingGates = [], nodeName } = (pod['spec'] ?? {}) as { schedulingGates?: unknown[]; nodeName?: string }
    return schedulingGates.length > 0 && !nodeName
  })
  return gated.length === 0
    ? []
    : [`pods that take no part, as their scheduling gates hold them back: ${namesOf(gated)}`]
}

/** Classes that pods name and that may well be in the cluster. */
function classRemarks(objects: readonly Named[], { runtimeClasses }: Classes): readonly string[] {
  const missing = new Set<string>()
  for (const pod of podsOf(objects)) {
    const { runtimeClassName } = (pod['spec'] ?? {}) as PodSpec
    if (runtimeClassName && !runtimeClasses.has(runtimeClassName)) missing.add(runtimeClassName)
  }
  return [...missing]
    .sort()
    .map(
      (name) =>
        `RuntimeClass "${name}" is not among the manifests, so its overhead, nodeSelector and tolerations do not count`,
    )
}
