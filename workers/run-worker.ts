import { type DestinationStream, type Logger, pino } from 'pino'
import { type Config, type ConfigResult, readConfig, readConversionConfig } from '../api/config.ts'
import { printableLines } from '../core/values/printable.ts'
import type { TemporalSettings, TemporalSettingsResult } from '../starter/temporal/settings.ts'

/** What a process loads for its roles: one that converts needs neither Temporal's nor Azure's library. */
const modules = {
  conversion: () => import('./conversion-process.ts'),
  settings: () => import('../starter/temporal/settings.ts'),
  telemetry: () => import('./telemetry/telemetry.ts'),
  tracing: () => import('./telemetry/telemetry.ts'),
  joiner: () => import('./joiner-process.ts'),
}

/** Loads all that a worker process loads at its start, whatever its roles are. */
export async function loadWorker(): Promise<void> {
  await Promise.all(Object.values(modules).map((load) => load()))
}

/**
 * Runs a worker process from the environment. `note`: what to log at its start. Returns the exit code. SIGINT and SIGTERM end it in order; a second one
 * at once.
 */
export async function runWorker(env: NodeJS.ProcessEnv, note?: string): Promise<number> {
  const conversion = readConversionConfig(env)
  if (conversion !== undefined)
    return run(conversion, note, async ({ config, ...process }) => {
      const { runConversion } = await modules.conversion()
      await runConversion({ config, ...process })
    })
  const { readTemporalSettings } = await modules.settings()
  return run(bothOf(readConfig(env), readTemporalSettings(env)), note, async ({ config, notes, log, signal }) => {
    const { installRuntime } = await modules.telemetry()
    const { startTracing } = await modules.tracing()
    const { runJoiner } = await modules.joiner()
    const temporal = await installRuntime(log)
    const tracing = await startTracing(env, log)
    for (const one of notes) log.info(one)
    for (const warning of config.warnings) log.warn(warning)
    try {
      await runJoiner({ ...config, log, signal, temporal, tracing })
    } finally {
      await tracing.stop()
    }
  })
}

/** Settings of a process that uses Temporal, or all that is wrong with them. */
function bothOf(own: ConfigResult, reached: TemporalSettingsResult): Read<Both> {
  if (own.kind === 'config' && reached.kind === 'settings') {
    const { settings, warnings } = reached
    const config = { config: own.config, LOG_LEVEL: own.config.LOG_LEVEL, settings, warnings }
    return { kind: 'config', config, notes: own.notes }
  }
  return { kind: 'errors', errors: [own, reached].flatMap((read) => (read.kind === 'errors' ? read.errors : [])) }
}

interface Both {
  readonly config: Config
  readonly LOG_LEVEL: string
  readonly settings: TemporalSettings
  readonly warnings: readonly string[]
}

type Read<C> =
  | { readonly kind: 'config'; readonly config: C; readonly notes?: readonly string[] }
  | { readonly kind: 'errors'; readonly errors: readonly string[] }

interface Running<C> {
  readonly config: C
  readonly notes: readonly string[]
  readonly log: Logger
  readonly signal: AbortSignal
}

async function run<C extends { readonly LOG_LEVEL: string }>(
  read: Read<C>,
  note: string | undefined,
  work: (running: Running<C>) => Promise<void>,
): Promise<number> {
  if (read.kind === 'errors') {
    for (const error of read.errors) console.error(error)
    return 2
  }
  const { config, notes = [] } = read
  const log = createLogger(config.LOG_LEVEL)
  if (note !== undefined) log.info(note)
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1)
      log.info({ signal }, 'stopping')
      stop.abort()
    })
  }
  try {
    await work({ config, notes, log, signal: stop.signal })
    return 0
  } catch (error) {
    log.fatal({ err: error }, 'stopping, a component failed')
    return 1
  }
}

/** The process's logger: one JSON object per line, with the field names that Karpenter's logs use. What a terminal would obey is escaped. */
export function createLogger(level: string, destination: DestinationStream = pino.destination(1)): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: printableLines },
    },
    destination,
  )
}
