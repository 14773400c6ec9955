import type { ArmDeps } from '../server/arm-deps.ts'
import { Throttling } from '../throttling/throttling.ts'
import type { LiveSettings } from './settings.ts'

/** Sets settings again while the simulator runs: what is given replaces what was. The input has the shape of `settingsShape`. */
export function changeSettings(deps: ArmDeps, settings: LiveSettings): void {
  Object.assign(deps.config, settings)
  if (settings.throttling !== undefined) deps.throttling = new Throttling(settings.throttling)
  if (settings.graphLagMs !== undefined) deps.graph.reset()
  if (settings.evictions !== undefined) deps.lifecycle.rescheduleEvictions()
}
