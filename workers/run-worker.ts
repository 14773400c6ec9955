import { readConfig } from '../api/config.ts'
import { readTemporalSettings } from '../starter/temporal/settings.ts'
import { runJoiner } from './joiner-process.ts'
import { createLogger, installRuntime } from './telemetry.ts'
import { startTracing } from './tracing.ts'

/** Runs a worker process from the environment. Returns the exit code. SIGINT and SIGTERM end it in order; a second one at once. */
export async function runWorker(env: NodeJS.ProcessEnv): Promise<number> {
  const parsed = readConfig(env)
  const reached = readTemporalSettings(env)
  if (parsed.kind === 'errors' || reached.kind === 'errors') {
    for (const result of [parsed, reached])
      if (result.kind === 'errors') for (const error of result.errors) console.error(error)
    return 2
  }
  const log = createLogger(parsed.config.LOG_LEVEL)
  const temporal = await installRuntime(log)
  const tracing = await startTracing(env, log)
  for (const note of parsed.notes) log.info(note)
  for (const warning of reached.warnings) log.warn(warning)
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1)
      log.info({ signal }, 'stopping')
      stop.abort()
    })
  }
  try {
    await runJoiner({ config: parsed.config, settings: reached.settings, log, signal: stop.signal, temporal, tracing })
    return 0
  } catch (error) {
    log.fatal({ err: error }, 'joiner ends because a part of it failed')
    return 1
  } finally {
    await tracing.stop()
  }
}
