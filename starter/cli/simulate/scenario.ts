import type { ScenarioJson } from '../../../api/shapes/scenario.ts'
import type { InstanceType } from '../../../core/instance-type.ts'
import { coreWellKnownLabels } from '../../../core/requirements/labels.ts'
import { schedulingSnapshot } from '../../../core/scheduling/cluster.ts'
import type { SchedulingOptions } from '../../../core/scheduling/snapshot.ts'
import type { DefaultSpreadConstraint } from '../../../core/scheduling/topology/spread-defaults.ts'
import { defined } from '../../../core/values/defined.ts'
import { entryOf } from '../../../core/values/records.ts'
import { InputError } from '../../document/reported-error.ts'
import { instanceTypes } from '../../files/catalog.ts'
import { clusterObjects, withMetadata, withoutNulls, withStatus } from '../../files/cluster-objects.ts'
import { type InputFile, inputName, takeText } from '../../files/input-file.ts'
import type { Overrides, Scenario } from '../../files/taking-part.ts'

/** Names of types by pool. */
type TypesOfPools = Readonly<Record<string, readonly string[] | null>>

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

/** Options of the command line that are about the scheduler. */
export interface SchedulerFlags {
  readonly now?: string
  readonly preferencePolicy?: 'Respect' | 'Ignore'
  readonly minValuesPolicy?: 'Strict' | 'BestEffort'
  readonly featureGates?: string
}

/** What Joiner itself would make of these settings and of a file of default spread constraints, with what to warn of. Errors: InputError. */
export async function readSettings(
  flags: SchedulerFlags,
  configFile: InputFile | undefined,
): Promise<{ readonly overrides: Overrides; readonly warnings: readonly string[] }> {
  const { now, preferencePolicy, minValuesPolicy } = flags
  const plain: Overrides = { ...defined({ now, preferencePolicy, minValuesPolicy }) }
  if (flags.featureGates === undefined && configFile === undefined) return { overrides: plain, warnings: [] }
  // Schemas take a while to load, and most simulations need none.
  const { featureGates, gateWarnings, schedulerConfig } = await import('../../../api/settings/scheduler-settings.ts')
  const gates = featureGates.safeParse(flags.featureGates)
  if (!gates.success) throw new InputError(...gates.error.issues.map(({ message }) => `--feature-gates ${message}`))
  const config = schedulerConfig.safeParse(configFile && textOf(configFile))
  if (!config.success) {
    const name = inputName(configFile?.file ?? '')
    throw new InputError(...config.error.issues.map(({ message }) => `${name}: ${message}`))
  }
  return {
    overrides: {
      ...plain,
      ...(flags.featureGates === undefined ? {} : gateOverrides(gates.data)),
      ...(configFile === undefined ? {} : { defaultSpread: config.data }),
    },
    warnings: gateWarnings(gates.data).map((text) =>
      text.replace('environment variable FEATURE_GATES', '--feature-gates'),
    ),
  }
}

function gateOverrides(gates: Readonly<Record<string, boolean | undefined>>): Overrides {
  const {
    ReservedCapacity: reservedCapacity = true,
    SpotToSpotConsolidation: spotToSpot = false,
    NodeOverlay: nodeOverlay = false,
    TerminateFirstDrift: drift = false,
    TerminateFirstRepair: repair = false,
  } = gates
  return { reservedCapacity, spotToSpot, nodeOverlay, terminateFirst: { drift, repair } }
}

function textOf(file: InputFile): string {
  const taken = takeText(file)
  if (taken.kind === 'text') return taken.text
  throw new InputError(`${inputName(file.file)}: ${taken.message}`)
}
