import { withHeartbeats } from '../activity-context.ts'
import { translatingFailures } from '../failure.ts'
import type { AzureActivities } from './contract.ts'
import type { AzureDeps } from './dependencies.ts'
import { collectGarbage } from './garbage.ts'
import { updateInPlace } from './in-place-update.ts'
import { awaitInstance, deleteInstance } from './instance.ts'
import { launch } from './launch.ts'
import { refreshNodeClasses } from './node-class-status.ts'

/** The activities of the azure queue. */
export function createAzureActivities(deps: AzureDeps): AzureActivities {
  return translatingFailures<AzureActivities>({
    launch: ({ claim, attempt }) => withHeartbeats((signal) => launch(deps, claim, attempt, signal)),
    awaitInstance: ({ claim }) => withHeartbeats((signal) => awaitInstance(deps, claim, signal)),
    deleteInstance: ({ claim }) => withHeartbeats((signal) => deleteInstance(deps, claim, signal)),
    collectGarbage: () => withHeartbeats(() => collectGarbage(deps)),
    refreshNodeClasses: () => withHeartbeats(() => refreshNodeClasses(deps)),
    updateInPlace: () => withHeartbeats((signal) => updateInPlace(deps, signal)),
    refreshCatalogue: () => withHeartbeats(() => deps.catalogue.refresh()),
  })
}
