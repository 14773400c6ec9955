import { flag, optionalText } from './setting-types.ts'

/** The workflow code that a process runs, and the version that it reports to Temporal. Temporal's Worker Controller sets the two TEMPORAL_ names. */
export const versionSettings = {
  JOINER_WORKER_VERSIONING: flag(false),
  TEMPORAL_DEPLOYMENT_NAME: optionalText,
  TEMPORAL_WORKER_BUILD_ID: optionalText,
  /** A kept bundle (`test/bundles/`) instead of this version's own. */
  JOINER_WORKFLOW_BUNDLE: optionalText,
}

/** Returns conflicts: names that Temporal's Worker Controller sets go together. */
export function versionConflicts(
  env: Readonly<Record<string, string | undefined>>,
): readonly { readonly name: string; readonly message: string }[] {
  const names = ['TEMPORAL_DEPLOYMENT_NAME', 'TEMPORAL_WORKER_BUILD_ID'] as const
  const missing = names.filter((name) => (env[name] ?? '') === '')
  return missing.length === 1
    ? missing.map((name) => ({ name, message: `is missing: set it as well, or neither of ${names.join(' and ')}` }))
    : []
}
