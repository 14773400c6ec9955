import type { ScenarioJson } from '../../../api/shapes/scenario.ts'
import type { TerminateFirst } from '../../../core/disruption/methods/context.ts'
import type { InstanceType } from '../../../core/instance-type.ts'
import { coreWellKnownLabels } from '../../../core/requirements/labels.ts'
import { schedulingSnapshot } from '../../../core/scheduling/cluster.ts'
import type { SchedulingOptions, SchedulingSnapshot } from '../../../core/scheduling/snapshot.ts'
import type { DefaultSpreadConstraint } from '../../../core/scheduling/topology/spread-defaults.ts'
import { entryOf } from '../../../core/values/records.ts'
import { clusterObjects, withMetadata, withoutNulls, withStatus } from './cluster-objects.ts'
import { instanceTypes } from './instance-types.ts'

/** Names of types by pool. */
type TypesOfPools = Readonly<Record<string, readonly string[] | null>>

export interface Scenario {
  readonly snapshot: SchedulingSnapshot
  readonly options: SchedulingOptions
}

/** What the command line says; each replaces what a scenario says of it. */
export interface Overrides {
  readonly now?: string
  readonly preferencePolicy?: 'Respect' | 'Ignore'
  readonly minValuesPolicy?: 'Strict' | 'BestEffort'
  readonly reservedCapacity?: boolean
  readonly spotToSpot?: boolean
  readonly terminateFirst?: TerminateFirst
  /** Whether NodeOverlays among manifests count. */
  readonly nodeOverlay?: boolean
  readonly defaultSpread?: readonly DefaultSpreadConstraint[]
  readonly instanceTypes?: readonly InstanceType[]
  /** Added to those of the scenario. */
  readonly wellKnownLabels?: readonly string[]
}

/** Completes a scenario as an API server would and gathers what the scheduler looks at. */
export function readScenario(json: unknown, overrides: Overrides = {}): Scenario {
  const scenario = (withoutNulls(json) ?? {}) as ScenarioJson
  const typesOfPools = (json as ScenarioJson | null)?.instanceTypesByNodePool ?? {}
  const now = overrides.now ?? scenario.now ?? new Date(0).toISOString()
  const label = scenario.reservationIDLabel ?? 'karpenter.test.sh/reservation-id'
  const wellKnown = new Set([
    ...coreWellKnownLabels,
    ...(scenario.wellKnownLabels ?? []),
    ...(overrides.wellKnownLabels ?? []),
    label,
  ])
  const types = overrides.instanceTypes ?? instanceTypes(scenario.instanceTypes ?? [])
  const objects = clusterObjects((scenario.objects ?? []).map((object) => withStatus(withMetadata(object, now))))
  const offered = typesByPool(
    objects.nodePools.map(({ metadata: { name } }) => name),
    types,
    typesOfPools,
  )
  return {
    snapshot: schedulingSnapshot(
      { ...objects, instanceTypes: offered },
      {
        now: Date.parse(now),
        wellKnownLabels: wellKnown,
        defaultSpread: overrides.defaultSpread ?? defaultSpreadOf(scenario),
      },
    ),
    options: { ...policies(scenario, overrides), reservationIdLabel: label, wellKnownLabels: wellKnown },
  }
}

function defaultSpreadOf({ options }: ScenarioJson): readonly DefaultSpreadConstraint[] {
  return options?.schedulerConfig?.podTopologySpread?.defaultConstraints ?? []
}

type Policies = Pick<SchedulingOptions, 'preferencePolicy' | 'minValuesPolicy' | 'reservedCapacity'>

/** The command line's policies, else the scenario's, else Karpenter's defaults. */
function policies({ options = {} }: ScenarioJson, overrides: Overrides): Policies {
  return {
    preferencePolicy: overrides.preferencePolicy ?? options.preferencePolicy ?? 'Respect',
    minValuesPolicy: overrides.minValuesPolicy ?? options.minValuesPolicy ?? 'Strict',
    reservedCapacity: overrides.reservedCapacity ?? options.featureGates?.ReservedCapacity ?? true,
  }
}

/** A pool that is listed without types has none; one that is not listed has all. */
function typesByPool(pools: readonly string[], types: readonly InstanceType[], typesOfPools: TypesOfPools) {
  return new Map(
    pools.map((name) => {
      const own = entryOf(typesOfPools, name)
      return [name, own === undefined ? types : types.filter((type) => own?.includes(type.name))] as const
    }),
  )
}
