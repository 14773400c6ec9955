import { parseDurationSetting, parseGoDuration } from '../values/duration.ts'
import { fnv, int64, list, littleEndian, map, struct, text } from '../values/struct-hash.ts'

/** Version of the hash. It changes with the hashed fields; claims are then stamped again instead of drifting. */
export const nodePoolHashVersion = 'v3'

type Optional<T> = T | null | undefined
type Texts = Optional<Readonly<Record<string, string>>>

interface TemplateInput {
  readonly metadata?: Optional<{ readonly labels?: Texts; readonly annotations?: Texts }>
  readonly spec?: Optional<{
    readonly taints?: Optional<readonly TaintInput[]>
    readonly startupTaints?: Optional<readonly TaintInput[]>
    readonly nodeClassRef?: Optional<NodeClassRefInput>
    readonly terminationGracePeriod?: Optional<string>
    readonly expireAfter?: Optional<string>
    readonly requirements?: Optional<readonly unknown[]>
  }>
}

interface NodeClassRefInput {
  readonly kind?: string
  readonly name?: string
  readonly group?: string
}

interface TaintInput {
  readonly key?: string
  readonly value?: string
  readonly effect?: string
  readonly timeAdded?: Optional<string>
}

/**
 * Returns the drift hash of a NodePool's template: everything static, without the requirements (reference/karpenter-core.md 1.1). Unset fields are
 * left out, so an empty list counts when it is there and null does not. The value equals Karpenter's, so that a migration drifts no node.
 */
export function nodePoolHash(template: TemplateInput | undefined): string {
  const spec = template?.spec ?? {}
  return struct('NodeClaimTemplate', [
    ['ObjectMeta', metadataHash(template?.metadata)],
    ['Spec', specHash(spec)],
  ]).toString()
}

function metadataHash(metadata: TemplateInput['metadata']): bigint | undefined {
  const { labels, annotations } = metadata ?? {}
  if (!labels && !annotations) return undefined
  return struct('ObjectMeta', [
    ['Labels', labels ? map(labels) : undefined],
    ['Annotations', annotations ? map(annotations) : undefined],
  ])
}

function specHash(spec: NonNullable<TemplateInput['spec']>): bigint | undefined {
  const { taints, startupTaints, terminationGracePeriod, requirements } = spec
  const expireAfter = nillable(spec.expireAfter)
  const isSet = [taints, startupTaints, spec.nodeClassRef, terminationGracePeriod, requirements, expireAfter]
  if (isSet.every((field) => field === undefined || field === null)) return undefined
  return struct('NodeClaimTemplateSpec', [
    ['Taints', taints ? list(taints.map(taint)) : undefined],
    ['StartupTaints', startupTaints ? list(startupTaints.map(taint)) : undefined],
    ['NodeClassRef', spec.nodeClassRef ? nodeClassRef(spec.nodeClassRef) : undefined],
    ['TerminationGracePeriod', terminationGracePeriod ? duration(terminationGracePeriod) : undefined],
    ['ExpireAfter', expireAfter],
  ])
}

function duration(text: string): bigint {
  const nanoseconds = parseGoDuration(text) ?? 0n
  return struct('Duration', [['Duration', nanoseconds === 0n ? undefined : int64(nanoseconds)]])
}

/** `Never` equals unset. */
function nillable(text: Optional<string>): bigint | undefined {
  const setting = text ? parseDurationSetting(text) : undefined
  if (setting?.kind !== 'duration') return undefined
  return struct('NillableDuration', [['Duration', int64(setting.nanoseconds)]])
}

function nodeClassRef(ref: NodeClassRefInput): bigint {
  return struct('NodeClassReference', [
    ['Kind', ref.kind ? text(ref.kind) : undefined],
    ['Name', ref.name ? text(ref.name) : undefined],
    ['Group', ref.group ? text(ref.group) : undefined],
  ])
}

function taint({ key, value, effect, timeAdded }: TaintInput): bigint {
  return struct('Taint', [
    ['Key', key ? text(key) : undefined],
    ['Value', value ? text(value) : undefined],
    ['Effect', effect ? text(effect) : undefined],
    ['TimeAdded', timeAdded ? struct('Time', [['Time', fnv(timeBytes(timeAdded))]]) : undefined],
  ])
}

const secondsToUnixEpoch = 62_135_596_800n

/** Returns Go's binary form of a time in local time UTC: version, seconds since the year 1, nanoseconds, offset in minutes; big-endian. */
function timeBytes(timestamp: string): number[] {
  const seconds = BigInt(Math.floor(Date.parse(timestamp) / 1000)) + secondsToUnixEpoch
  return [1, ...littleEndian(seconds).reverse(), 0, 0, 0, 0, 0, 0]
}
