import { isForbidden, isNotFound } from '../../activities/kubernetes/client/api-error.ts'
import type { ResourceName } from '../../activities/kubernetes/client/resources.ts'
import { printableStart } from '../../core/values/printable.ts'
import { timeText } from '../../core/values/time.ts'

const longestReason = 200

/** Returns why a kind is not shown, or not shown as it is now, with the remedy. `sinceMs`: when it failed first. */
export function missingText(
  resource: ResourceName,
  error: unknown,
  { sinceMs, isListed }: { readonly sinceMs: number; readonly isListed: boolean },
): string {
  if (isForbidden(error)) {
    const [verb, shown] = isListed ? ['watch', `, so they are shown as of ${timeText(sinceMs)}`] : ['list', '']
    return `${resource}: you may not ${verb} them${shown}; ask for a role that lists and watches them (kubectl auth can-i watch ${resource} --all-namespaces)`
  }
  if (isNotFound(error))
    return `${resource}: the cluster does not know the kind; install the CRDs where Joiner runs (joiner admin crds apply)`
  const reason = printableStart(error instanceof Error ? error.message || error.name : String(error), longestReason)
  const shown = isListed ? 'shown as of then' : 'not shown yet'
  return `${resource}: the API server is not reached since ${timeText(sinceMs)} (${reason}); ${shown}, trying again`
}
