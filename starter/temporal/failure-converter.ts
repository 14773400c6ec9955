import { DefaultFailureConverter } from '@temporalio/common'

/** Moves messages and stack traces of failures into a payload, so that the codec encrypts them. Loaded by its path, in workers and in the sandbox of workflows. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true })
