import type { ConnectionLike } from '@temporalio/client'
import type { Logger } from 'pino'

/** The version that a process runs workflows with. */
export interface OwnVersion {
  readonly deploymentName: string
  /** Absent: its workers are not versioned. */
  readonly buildId?: string
}

export interface CurrentVersionInput {
  readonly connection: Pick<ConnectionLike, 'workflowService'>
  readonly namespace: string
  readonly identity: string
  readonly log: Logger
}

/** The deployment's name where no controller gives one. Temporal's delimiters may not be in it. */
export function ownDeployment(cluster: string): string {
  return `joiner-${cluster}`.replaceAll(/[.:]/g, '-')
}

const grpcNotFound = 5
const grpcUnimplemented = 12

/**
 * Makes the version the one that Temporal gives workflow tasks to. Without a build id that is "unversioned", so that turning versioning off
 * does not leave all tasks with workers that are gone. Done already is success. Errors: no worker of the version has polled yet.
 */
export async function makeCurrent(
  { deploymentName, buildId = '' }: OwnVersion,
  { connection, namespace, identity, log }: CurrentVersionInput,
): Promise<void> {
  const current = await currentBuild(connection, namespace, deploymentName)
  if (current.kind === 'build' ? current.buildId === buildId : buildId === '') return
  await connection.workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId, identity })
  log.info(
    { deploymentName, buildId: buildId === '' ? 'unversioned' : buildId, before: current },
    'workflow tasks go to this version now',
  )
}

/** What Temporal says of a deployment. An empty build id: workers without a version are current. */
export type CurrentBuild =
  | { readonly kind: 'build'; readonly buildId: string }
  /** No worker with a version has come yet. */
  | { readonly kind: 'none' }
  /** The server is too old to know of versions. */
  | { readonly kind: 'unsupported' }

/** Asks which build of a deployment gets the workflow tasks. */
export async function currentBuild(
  connection: CurrentVersionInput['connection'],
  namespace: string,
  deploymentName: string,
): Promise<CurrentBuild> {
  try {
    const described = await connection.workflowService.describeWorkerDeployment({ namespace, deploymentName })
    const current = described.workerDeploymentInfo?.routingConfig?.currentDeploymentVersion
    return { kind: 'build', buildId: current?.buildId ?? '' }
  } catch (error) {
    const { code } = error as { readonly code?: number }
    if (code === grpcNotFound) return { kind: 'none' }
    if (code === grpcUnimplemented) return { kind: 'unsupported' }
    throw error
  }
}
