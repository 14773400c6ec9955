import { readFileSync } from 'node:fs'
import type { Overrides } from './scenario.ts'
import { InputError } from './shape.ts'

/** Options of the command line that are about the scheduler. */
export interface SchedulerFlags {
  readonly now?: string
  readonly preferencePolicy?: 'Respect' | 'Ignore'
  readonly minValuesPolicy?: 'Strict' | 'BestEffort'
  readonly featureGates?: string
  readonly schedulerConfig?: string
}

/** What Joiner itself would make of these settings, with what to warn of. Errors: InputError. */
export async function readSettings(
  flags: SchedulerFlags,
): Promise<{ readonly overrides: Overrides; readonly warnings: readonly string[] }> {
  const { now, preferencePolicy, minValuesPolicy } = flags
  const plain: Overrides = {
    ...(now === undefined ? {} : { now }),
    ...(preferencePolicy === undefined ? {} : { preferencePolicy }),
    ...(minValuesPolicy === undefined ? {} : { minValuesPolicy }),
  }
  if (flags.featureGates === undefined && flags.schedulerConfig === undefined) return { overrides: plain, warnings: [] }
  // Schemas take a while to load, and most simulations need none.
  const { featureGates, gateWarnings, schedulerConfig } = await import('../../api/scheduler-settings.ts')
  const gates = featureGates.safeParse(flags.featureGates)
  if (!gates.success)
    throw new InputError(gates.error.issues.map(({ message }) => `--feature-gates ${message}`).join('\n'))
  const file = flags.schedulerConfig
  const config = schedulerConfig.safeParse(file === undefined ? undefined : contentsOf(file))
  if (!config.success) throw new InputError(config.error.issues.map(({ message }) => `${file}: ${message}`).join('\n'))
  return {
    overrides: {
      ...plain,
      ...(flags.featureGates === undefined ? {} : { reservedCapacity: gates.data['ReservedCapacity'] ?? true }),
      ...(file === undefined ? {} : { defaultSpread: config.data }),
    },
    warnings: gateWarnings(gates.data).map((text) =>
      text.replace('environment variable FEATURE_GATES', '--feature-gates'),
    ),
  }
}

function contentsOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new InputError(`${file}: cannot be read: ${(error as Error).message}`)
  }
}
