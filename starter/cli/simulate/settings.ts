import { defined } from '../../../core/values/defined.ts'
import { type InputFile, inputName } from '../bounded/input.ts'
import { takeText } from '../bounded/text.ts'
import { InputError } from './input-error.ts'
import type { Overrides } from './scenario.ts'

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
  const plain: Overrides = {
    ...defined({ now, preferencePolicy, minValuesPolicy }),
  }
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
