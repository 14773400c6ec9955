import { createHash } from 'node:crypto'
import type { OwnerReference, Pod } from '../../../../core/objects.ts'
import { workloadOf } from '../../../../core/pods/pod-rules.ts'
import { InputError } from '../../../document/reported-error.ts'
import type { Json } from '../../../files/cluster-objects.ts'
import { subjectOf } from '../../../files/source.ts'

interface Template {
  readonly metadata?: { readonly labels?: Texts; readonly annotations?: Texts }
  readonly spec: Json & { readonly volumes?: readonly { readonly name: string }[] }
}

interface JobSpec {
  readonly parallelism?: number
  readonly completions?: number
  readonly suspend?: boolean
  readonly template: Template
}

interface WorkloadSpec {
  readonly replicas?: number
  readonly selector?: { readonly matchLabels?: Texts }
  readonly template?: Template
}

type StatefulSetSpec = WorkloadSpec & {
  readonly ordinals?: { readonly start?: number }
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string }; readonly spec?: object }[]
}

/** Equal pods of one workload that are not there yet. */
interface Batch {
  readonly source: Named
  readonly owner: Owner
  readonly template: Template
  /** Beside those of the template. */
  readonly labels: Texts
  readonly count: number
}

/** Pods, with their claims: as many pods as Kubernetes supports in a cluster. */
export const mostObjects = 150_000
/** Of all pods together, written out. */
const mostBytes = 256 * 1024 * 1024

/** Returns the spec that a workload's pods with these labels have once they are created. */
type Creation = (source: Named, spec: Template['spec'], labels: Texts) => Template['spec']

/**
 * Returns the pods that controllers would make for workloads among the objects and that are not there, with the claims of StatefulSets and the
 * ReplicaSets of Deployments. A CronJob counts with one run. Errors: InputError when the pods are too many.
 */
export function podsOfWorkloads(objects: readonly Named[], create: Creation): readonly Named[] {
  const taken = new Set(objects.map(keyOf))
  const running = new Map<string, number>()
  for (const pod of objects.filter(isActivePod)) {
    const workload = workloadOf(asPod(pod.metadata))
    running.set(workload, (running.get(workload) ?? 0) + 1)
  }
  const batches = objects.flatMap((object) => batchOf(object, objects)).map((batch) => lacking(batch, running))
  refuseTooMany(batches)
  // The names of StatefulSets' pods are certain, and no other gets them.
  const order = (batch: Batch) => (batch.owner.kind === 'StatefulSet' ? 0 : 1)
  return [...batches]
    .sort((a, b) => order(a) - order(b))
    .flatMap((batch) => {
      const { template, source, count } = batch
      if (count === 0) return []
      const spec = create(source, template.spec, labelsOf(batch))
      return made({ ...batch, template: { ...template, spec } }, taken)
    })
}

/** A few bytes may ask for any number of pods of any size. */
function refuseTooMany(batches: readonly Batch[]): void {
  let [total, bytes] = [0, 0]
  for (const { source, count, template } of batches) {
    const { volumeClaimTemplates = [] } = source['spec'] as StatefulSetSpec
    total += count * (1 + volumeClaimTemplates.length)
    bytes += count === 0 ? 0 : count * JSON.stringify(template).length
    const most =
      total > mostObjects
        ? `${mostObjects}, as many as Kubernetes supports in a cluster`
        : bytes > mostBytes
          ? `${mostBytes / 1024 / 1024} MiB of pods`
          : undefined
    if (most === undefined) continue
    throw new InputError(
      `${subjectOf(source)}: with its ${count} pods the manifests ask for more than ${most}; lower their number`,
    )
  }
}

const labelsOf = ({ template: { metadata = {} }, labels }: Batch): Texts => ({ ...metadata.labels, ...labels })

function isActivePod({ kind, metadata, status }: Named): boolean {
  const { phase } = (status ?? {}) as { readonly phase?: string }
  return kind === 'Pod' && metadata.deletionTimestamp === undefined && phase !== 'Succeeded' && phase !== 'Failed'
}

function asPod(metadata: Partial<Named['metadata']>): Pick<Pod, 'metadata'> {
  return { metadata: { labels: {}, ownerReferences: [], ...metadata } as unknown as Pod['metadata'] }
}

/** The batch without the pods that are there. Those of a StatefulSet are known by name. */
function lacking(batch: Batch, running: ReadonlyMap<string, number>): Batch {
  const { owner, labels, source, count } = batch
  if (owner.kind === 'StatefulSet') return batch
  const { namespace } = source.metadata
  const workload = workloadOf(
    asPod({ name: '', namespace: namespace ?? '', labels, ownerReferences: [controlledBy(owner)] }),
  )
  return { ...batch, count: Math.max(0, count - (running.get(workload) ?? 0)) }
}

const controlledBy = (owner: Owner) => ({ ...owner, controller: true })

function batchOf(source: Named, objects: readonly Named[]): readonly Batch[] {
  const { kind, metadata, apiVersion } = source
  const { name, uid } = metadata
  const owner = { apiVersion: String(apiVersion), kind, name, uid }
  switch (kind) {
    case 'Deployment':
      return deploymentBatch(source)
    case 'ReplicaSet':
    case 'ReplicationController':
    case 'StatefulSet': {
      const { template, replicas = 1 } = (source['spec'] ?? {}) as WorkloadSpec
      // The Deployment of a ReplicaSet says how many pods there are to be.
      const isControlled = metadata.ownerReferences?.some(({ controller }) => controller === true) === true
      return template === undefined || isControlled ? [] : [{ source, owner, template, labels: {}, count: replicas }]
    }
    case 'Job':
      return jobBatch(source, source['spec'] as JobSpec, owner)
    case 'CronJob': {
      const { jobTemplate, suspend } = source['spec'] as { jobTemplate: { spec: JobSpec }; suspend?: boolean }
      const isOwn = ({ kind: of, name: its }: Owner) => of === kind && its === name
      const runs = objects.some((one) => one.kind === 'Job' && one.metadata.ownerReferences?.some(isOwn) === true)
      if (suspend === true || runs) return []
      return jobBatch(source, jobTemplate.spec, { ...owner, kind: 'Job', name: `${name}-00000000` })
    }
    default:
      return []
  }
}

function deploymentBatch(source: Named): readonly Batch[] {
  const { name, uid } = source.metadata
  const { template, replicas = 1, paused } = source['spec'] as WorkloadSpec & { readonly paused?: boolean }
  if (template === undefined || paused === true) return []
  const hash = createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 10)
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${name}-${hash}`, uid: `${uid}-${hash}` }
  return [{ source, owner, template, labels: { 'pod-template-hash': hash }, count: replicas }]
}

/** The pods that run at once. */
function jobBatch(source: Named, spec: JobSpec, owner: Owner): readonly Batch[] {
  const { succeeded = 0, conditions = [] } = (source['status'] ?? {}) as {
    readonly succeeded?: number
    readonly conditions?: readonly { readonly type: string; readonly status?: string }[]
  }
  const hasEnded = conditions.some(({ type, status }) => /^(Complete|Failed)$/.test(type) && status === 'True')
  if (hasEnded || spec.suspend === true) return []
  const { template, parallelism = 1, completions = parallelism } = spec
  const labels = { 'batch.kubernetes.io/job-name': owner.name, 'job-name': owner.name }
  return [{ source, owner, template, labels, count: Math.max(0, Math.min(parallelism, completions - succeeded)) }]
}

/** The pods of a batch, and what goes with them. */
function made(batch: Batch, taken: Set<string>): readonly Named[] {
  if (batch.owner.kind === 'StatefulSet') return members(batch, taken)
  const { source, count, owner, labels } = batch
  const pods: Named[] = []
  for (let number = 1; pods.length < count; number++) {
    const pod = podOf(batch, `${source.metadata.name}-${number}`)
    if (taken.has(keyOf(pod))) continue
    taken.add(keyOf(pod))
    pods.push(pod)
  }
  if (source.kind !== 'Deployment') return pods
  const { selector } = source['spec'] as WorkloadSpec
  const own = { ...selector, matchLabels: { ...selector?.matchLabels, ...labels } }
  const metadata = { ...placed(source), name: owner.name, uid: owner.uid }
  return [...pods, { apiVersion: owner.apiVersion, kind: owner.kind, metadata, spec: { selector: own } }]
}

function podOf(batch: Batch, name: string): Named {
  const { source, template, owner } = batch
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...placed(source),
      name,
      uid: `Pod/${source.metadata.namespace}/${name}`,
      labels: labelsOf(batch),
      annotations: template.metadata?.annotations ?? {},
      ownerReferences: [controlledBy(owner)],
    },
    spec: template.spec,
  }
}

/** The missing pods of a StatefulSet by their numbers, with their claims. */
function members(batch: Batch, taken: Set<string>): readonly Named[] {
  const { source, count, template } = batch
  const { ordinals, volumeClaimTemplates = [] } = source['spec'] as StatefulSetSpec
  const found: Named[] = []
  for (let number = 0; number < count; number++) {
    const ordinal = (ordinals?.start ?? 0) + number
    const name = `${source.metadata.name}-${ordinal}`
    const labels = { 'statefulset.kubernetes.io/pod-name': name, 'apps.kubernetes.io/pod-index': String(ordinal) }
    const claims = volumeClaimTemplates.map(({ metadata, spec }) => claimOf(source, `${metadata.name}-${name}`, spec))
    const volumes = [
      ...(template.spec.volumes ?? []).filter(
        (one) => !volumeClaimTemplates.some((of) => of.metadata.name === one.name),
      ),
      ...volumeClaimTemplates.map(({ metadata }, at) => ({
        name: metadata.name,
        persistentVolumeClaim: { claimName: claims[at]?.metadata.name },
      })),
    ]
    const pod = podOf({ ...batch, labels, template: { ...template, spec: { ...template.spec, volumes } } }, name)
    found.push(...[pod, ...claims].filter((one) => !taken.has(keyOf(one))))
    taken.add(keyOf(pod))
  }
  return found
}

type Texts = Readonly<Record<string, string>>
type Owner = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>

/** An object of a file, checked, with the metadata that every object of an API server has. */
export interface Named extends Json {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly labels?: Texts
    readonly annotations?: Texts
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    readonly ownerReferences?: readonly (Owner & { readonly controller?: boolean })[]
  }
}

export function keyOf({ kind, metadata: { namespace = '', name } }: Pick<Named, 'kind' | 'metadata'>): string {
  return `${kind}/${namespace}/${name}`
}

/** What an object that is made for another has in common with it. */
function placed({
  metadata: { namespace, creationTimestamp },
}: Named): Pick<Named['metadata'], 'namespace' | 'creationTimestamp'> {
  return { ...(namespace && { namespace }), ...(creationTimestamp && { creationTimestamp }) }
}

/** A claim as a controller makes it for a pod, in the namespace of `source`. */
export function claimOf(source: Named, name: string, spec: object = {}): Named {
  const uid = `PersistentVolumeClaim/${source.metadata.namespace}/${name}`
  const metadata = { ...placed(source), name, uid }
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec, status: { phase: 'Pending' } }
}
