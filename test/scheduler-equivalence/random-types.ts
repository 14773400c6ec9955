import type { Draw } from './draw.ts'
import {
  archKey,
  capacityTypeKey,
  disk,
  file,
  type Json,
  type RequirementJson,
  reservationKey,
  type Subjects,
  sizeKey,
  tierKey,
  tiers,
  typeKey,
  zoneKey,
  zones,
} from './vocabulary.ts'

export type Amounts = Readonly<Record<string, string>>

export interface TypeJson {
  readonly name: string
  readonly requirements: readonly RequirementJson[]
  readonly offerings: readonly Json[]
  readonly capacity: Amounts
  readonly overhead: Json
  readonly volumeAttachmentLimits?: Readonly<Record<string, number>>
}

const isOneOf = (key: string, ...values: readonly string[]): RequirementJson => ({ key, operator: 'In', values })

/** 1 to 25 instance types, a few sizes of each so that prices and amounts tie. */
export function randomTypes(draw: Draw, about: Subjects): readonly TypeJson[] {
  const count = draw.chance(0.7) ? draw.between(2, 8) : draw.between(1, 25)
  return Array.from({ length: count }, (_, index) => randomType(draw, about, index))
}

function randomType(draw: Draw, about: Subjects, index: number): TypeJson {
  const cpu = draw.pick([1, 2, 2, 4, 4, 8])
  const name = `type-${String.fromCharCode(97 + draw.below(3))}${index}`
  const arches = draw.chance(0.05) ? ['amd64', 'arm64'] : [draw.pick(['amd64', 'amd64', 'arm64'])]
  return {
    name,
    requirements: [
      isOneOf(typeKey, name),
      isOneOf('kubernetes.io/os', 'linux'),
      ...draw.maybe(0.95, () => isOneOf(archKey, ...arches)),
      ...draw.maybe(0.8, () => isOneOf(zoneKey, ...(draw.chance(0.8) ? zones : draw.someOf(zones)))),
      ...draw.maybe(0.8, () => isOneOf(capacityTypeKey, 'on-demand', 'spot', ...draw.some(['reserved']))),
      ...(about.numbers || about.minValues ? [isOneOf(sizeKey, String(cpu))] : []),
      ...(about.customLabels ? draw.maybe(0.4, () => isOneOf(tierKey, ...draw.someOf(tiers, 0.4))) : []),
    ],
    offerings: offerings(draw, about, cpu),
    capacity: capacity(draw, about, cpu),
    overhead: overhead(draw, about),
    ...(about.volumes ? draw.fields(0.5, () => attachmentLimits(draw)) : {}),
  }
}

function capacity(draw: Draw, about: Subjects, cpu: number): Amounts {
  return {
    cpu: draw.chance(0.9) ? String(cpu) : `${cpu * 1000 - 1}m`,
    memory: draw.pick([`${cpu}Gi`, `${cpu * 2}Gi`, `${cpu * 2}Gi`, `${cpu * 2000}M`, `${cpu * 4096}Mi`]),
    pods: draw.pick(['2', '4', '10', '110']),
    ...draw.fields(0.5, () => ({ 'ephemeral-storage': draw.pick(['20Gi', '100G']) })),
    ...(about.extended ? draw.fields(0.5, () => ({ 'example.com/gpu': draw.pick(['0', '1', '2']) })) : {}),
    ...(about.extended ? draw.fields(0.4, () => ({ 'hugepages-2Mi': draw.pick(['256Mi', '1Gi']) })) : {}),
  }
}

function overhead(draw: Draw, about: Subjects): Json {
  if (draw.chance(0.2)) return {}
  return {
    kubeReserved: { cpu: draw.pick(['100m', '80m', '0']), ...draw.fields(0.4, () => ({ memory: '300Mi' })) },
    ...draw.fields(0.3, () => ({ systemReserved: { memory: draw.pick(['100m', '100Mi']) } })),
    ...draw.fields(0.5, () => ({ evictionThreshold: { memory: '100Mi' } })),
    // More than there is: nothing fits.
    ...(about.overrides ? draw.fields(0.1, () => ({ systemReserved: { cpu: '3' } })) : {}),
  }
}

function attachmentLimits(draw: Draw) {
  return {
    volumeAttachmentLimits: {
      ...draw.fields(0.8, () => ({ [disk]: draw.below(4) })),
      ...draw.fields(0.3, () => ({ [file]: draw.below(3) })),
    },
  }
}

function offerings(draw: Draw, about: Subjects, cpu: number): readonly Json[] {
  const inZones = draw.chance(0.75) ? zones : draw.someOf(zones)
  const spot = draw.chance(0.8)
  const found = inZones.flatMap((zone) => [
    ...(spot ? draw.maybe(0.9, () => offering(draw, about, { cpu, capacityType: 'spot', zone })) : []),
    ...draw.maybe(0.95, () => offering(draw, about, { cpu, capacityType: 'on-demand', zone })),
    ...draw.maybe(about.overrides ? 0.15 : 0.03, () => offering(draw, about, { cpu, capacityType: 'on-demand', zone })),
    ...(about.reserved ? draw.maybe(0.5, () => reserved(draw, about, { cpu, zone })) : []),
  ])
  return draw.chance(0.02) ? [] : found
}

interface Place {
  readonly cpu: number
  readonly zone: string
}

function offering(
  draw: Draw,
  about: Subjects,
  { cpu, capacityType, zone }: Place & { readonly capacityType: string },
): Json {
  const price = (capacityType === 'on-demand' ? 0.1 : 0.03) * cpu * draw.pick([1, 1, 1.1, 0.9])
  return {
    requirements: [
      isOneOf(capacityTypeKey, capacityType),
      isOneOf(zoneKey, zone),
      ...(about.customLabels ? draw.maybe(0.05, () => isOneOf(tierKey, draw.pick(tiers))) : []),
    ],
    price: Number(price.toFixed(4)),
    available: draw.chance(0.88),
    ...(about.overrides ? draw.fields(0.2, () => ({ capacityOverride: capacityOverride(draw, cpu) })) : {}),
    ...(about.overrides ? draw.fields(0.15, () => ({ overheadOverride: overhead(draw, about) })) : {}),
  }
}

function capacityOverride(draw: Draw, cpu: number): Amounts {
  return draw.pick([
    { memory: `${cpu * 3}Gi` },
    { cpu: String(cpu * 2) },
    { 'example.com/gpu': '1' },
    { pods: '3' },
    { memory: '100Mi' },
    {},
  ] as readonly Amounts[])
}

function reserved(draw: Draw, about: Subjects, { cpu, zone }: Place): Json {
  const base = offering(draw, about, { cpu, capacityType: 'reserved', zone })
  const id = draw.pick(['r-1', 'r-2', 'r-3'])
  return {
    ...base,
    requirements: [...(base['requirements'] as readonly RequirementJson[]), isOneOf(reservationKey, id)],
    price: Number((cpu * 0.0001).toFixed(6)),
    reservationCapacity: draw.below(3),
  }
}
