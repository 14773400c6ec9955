import { flag, optionalText } from './setting-types.ts'

/** Which workflow code a process runs, and what Temporal is told of it. The two TEMPORAL_ names are set by Temporal's Worker Controller. */
export const versionSettings = {
  JOINER_WORKER_VERSIONING: flag(false),
  TEMPORAL_DEPLOYMENT_NAME: optionalText,
  TEMPORAL_WORKER_BUILD_ID: optionalText,
  /** A kept bundle (`test/bundles/`) instead of the one that belongs to this version. */
  JOINER_WORKFLOW_BUNDLE: optionalText,
}

/** Names that Temporal's Worker Controller sets go together. */
export function versionConflicts(
  env: Readonly<Record<string, string | undefined>>,
): readonly { readonly name: string; readonly message: string }[] {
  const names = ['TEMPORAL_DEPLOYMENT_NAME', 'TEMPORAL_WORKER_BUILD_ID'] as const
  const missing = names.filter((name) => (env[name] ?? '') === '')
  return missing.length === 1
    ? missing.map((name) => ({ name, message: `is missing: set it as well, or neither of ${names.join(' and ')}` }))
    : []
}
