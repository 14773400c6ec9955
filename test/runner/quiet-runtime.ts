import { DefaultLogger, IllegalStateError, makeTelemetryFilterString, Runtime } from '@temporalio/worker'

/** Keeps Temporal's SDK from filling the output of a suite whose workers fail on purpose. Suites share a process, and a process has one runtime. */
export function quietRuntime(): void {
  const logging = { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) }
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR', () => {}), telemetryOptions: { logging } })
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error
  }
}
